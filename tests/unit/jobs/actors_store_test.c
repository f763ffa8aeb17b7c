/* Durable actors: nothing is seen that is not on disk; loads by name; failures and crashes. */
#include <stdio.h>
#include <string.h>

#include "proto/job_options.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/effects.h"
#include "server/jobs/sched/board.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

#define KEPT_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static const struct actor_policy usual = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                          .durable = DURABLE_FSYNC};

/* Of workers, of which four attempts may be out. */
static void offer(struct jobs_world *w, const char *type, const struct actor_policy *policy)
{
    static const char *const shorts[] = {"add", "read", "step"};
    struct method *found[3];
    struct actor_offer offer = {.type = span_text(type), .policy = *policy, .methods = found};
    char name[64];
    uint32_t count = strcmp(type, "tick") == 0 ? 3 : 2;
    for (; offer.count < count; offer.count++) {
        snprintf(name, sizeof name, "%s.%s", type, shorts[offer.count]);
        assert_int_equal(registry_intern(w->registry, span_text(name), &found[offer.count]),
                         ERGON_OK);
        static const unsigned is[] = {0, ACTOR_READS, ACTOR_STEP};
        method_set_actor(found[offer.count], ACTOR_METHOD | is[offer.count]);
    }
    assert_true(w->source.typed(w->source.arg, &offer));
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.%s", type, shorts[i]);
        world_offer(w, name, true, "");
    }
    w->room[POOL_OF_WORKERS] = 4;
}

static void offer_usual(struct jobs_world *w)
{
    offer(w, "cart", &usual);
}

#define TELL(to, name, ...)                                                                        \
    ((struct job_spec){JOB_SPEC_DEFAULTS, .method = span_text(name), .params = span_text("\x90"),  \
                       .durable = DURABLE_NONE, .actor = span_text(to), __VA_ARGS__})

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(3));
}

static uint64_t post(struct jobs_world *w, const struct job_spec *spec)
{
    uint64_t id = jobs_world_submit(w, spec);
    commit(w);
    return id;
}

static uint64_t tell(struct jobs_world *w, const char *to)
{
    return post(w, &TELL(to, "cart.add"));
}

static struct operation *call(struct jobs_world *w, const char *to, const char *method)
{
    struct operation *op = world_operation(w, &operation_actor_call);
    static struct job_spec specs[16];
    static unsigned next;
    struct job_spec *spec = &specs[next++ % 16];
    *spec = TELL(to, method, .calls = true);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    world_give(w, op);
    return op;
}

static struct operation *act(struct jobs_world *w, const struct operation_class *cls,
                             const char *name)
{
    struct operation *op = world_operation(w, cls);
    op->actor.name = span_text(name);
    op->actor.with_state = true;
    world_give(w, op);
    return op;
}

static void failed(struct jobs_world *w, struct operation *op, enum ergon_error error)
{
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, error);
}

static struct actor *actor_of(struct jobs_world *w, const char *name)
{
    return actor_find(w->jobs->actors, span_text(""), span_text(name));
}

static const struct store_actor *row_of(struct jobs_world *w, const char *name)
{
    struct span all = span_text(name), type = actor_type_of_name(all);
    return memory_rows_actor(&w->store->rows, span_text(""), type, span_behind(all, type.len + 1));
}

static void is_waiting(struct jobs_world *w, uint64_t id, enum job_reason reason)
{
    assert_int_equal(world_state(w, id), JOB_WAITING);
    assert_int_equal(world_reason(w, id), reason);
}

static bool is_out(struct jobs_world *w, uint64_t id)
{
    return world_run_of(w, id) != NULL;
}

/* The one that is out of this method. */
static uint64_t out_of(struct jobs_world *w, const char *method)
{
    for (struct job *job = w->jobs->table.first; job; job = job->all_next)
        if (is_out(w, job->id) && span_is(job->queue->name, method))
            return job->id;
    fail_msg("no %s is out", method);
    return 0;
}

/* It answers, with a new state of one byte; nothing is written yet. */
static void answer_only(struct jobs_world *w, uint64_t id, const char *state)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    if (state)
        assert_null(turn_set_state(r->run.turn, span_text(state), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_settle(w);
}

static void answer(struct jobs_world *w, uint64_t id, const char *state)
{
    answer_only(w, id, state);
    commit(w);
}

static void has_state(struct jobs_world *w, const char *name, const char *state, uint64_t version)
{
    const struct actor *a = actor_of(w, name);
    assert_non_null(a);
    assert_int_equal(a->version, version);
    if (state)
        assert_true(span_is(actor_state(a).raw, state));
    else
        assert_int_equal(actor_state(a).raw.len, 0);
}

static void has_row(struct jobs_world *w, const char *name, const char *state, uint64_t version)
{
    const struct store_actor *row = row_of(w, name);
    assert_non_null(row);
    assert_int_equal(row->version, version);
    assert_true(span_is(row->state, state));
}

/* --- Turns --- */

KEPT_TEST(a_turn_is_seen_when_it_is_on_disk)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_int_equal(world_job(w, a)->durable, DURABLE_FSYNC);
    answer_only(w, a, "\x01");
    assert_int_equal(world_reason(w, a), JOB_WHY_COMMIT);
    has_state(w, "cart/1", NULL, 0);
    is_waiting(w, b, JOB_WHY_ACTOR);
    assert_null(row_of(w, "cart/1"));
    commit(w);
    has_state(w, "cart/1", "\x01", 1);
    has_row(w, "cart/1", "\x01", 1);
    assert_true(is_out(w, b));
    assert_true(span_is(world_run_of(w, b)->run.turn->state, "\x01"));
    answer(w, b, "\x02");
    has_row(w, "cart/1", "\x02", 2);
    jobs_world_pass(w, AO_S(1));
    stage_balances(w);
}

KEPT_TEST(a_call_is_answered_when_its_effect_is_on_disk)
{
    offer_usual(w);
    struct operation *op = call(w, "cart/1", "cart.add");
    commit(w);
    answer_only(w, out_of(w, "cart.add"), "\x01");
    assert_false(world_answered(w, op));
    has_state(w, "cart/1", NULL, 0);
    commit(w);
    stage_says(op, "42");
    has_row(w, "cart/1", "\x01", 1);
    assert_int_equal(w->store->rows.row_count, 0); /* it had no row of its own */
    stage_balances(w);
}

KEPT_TEST(a_turn_that_changes_nothing_writes_no_state)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), NULL);
    assert_null(row_of(w, "cart/1"));
    struct operation *op = call(w, "cart/1", "cart.add");
    commit(w);
    uint32_t commits = w->store->commits;
    answer_only(w, out_of(w, "cart.add"), NULL);
    assert_true(world_answered(w, op));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(w->store->commits, commits);
}

KEPT_TEST(a_turn_that_drops_its_state_removes_the_row)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    uint64_t a = tell(w, "cart/1");
    assert_null(turn_drop_state(world_run_of(w, a)->run.turn));
    answer(w, a, NULL);
    has_state(w, "cart/1", NULL, 2);
    assert_null(row_of(w, "cart/1"));
}

/* --- Failures --- */

KEPT_TEST(a_full_disk_leaves_the_state_and_keeps_the_message)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->error = STORE_FULL;
    answer(w, a, "\x02");
    jobs_world_pass(w, AO_S(5));
    has_state(w, "cart/1", "\x01", 1);
    assert_int_equal(world_reason(w, a), JOB_WHY_STORE);
    assert_false(world_cancel(w, world_job(w, a))); /* it has ended, but for the disk */
    failed(w, act(w, &operation_actor_stop, "cart/1"), ERGON_E_STORE);
    is_waiting(w, b, JOB_WHY_ACTOR);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    has_row(w, "cart/1", "\x02", 2);
    has_state(w, "cart/1", "\x02", 2);
    assert_true(is_out(w, b)); /* and `a` did not run again */
    answer(w, b, NULL);
    jobs_world_pass(w, AO_S(1));
    stage_balances(w);
}

KEPT_TEST(a_full_disk_fails_a_call_and_its_changes)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    struct operation *op = call(w, "cart/1", "cart.add"), *next = call(w, "cart/1", "cart.add");
    commit(w);
    w->store->error = STORE_FULL;
    answer(w, out_of(w, "cart.add"), "\x02");
    failed(w, op, ERGON_E_STORE);
    has_state(w, "cart/1", "\x01", 1);
    w->store->error = STORE_OK;
    uint64_t b = out_of(w, "cart.add");
    assert_true(span_is(world_run_of(w, b)->run.turn->state, "\x01"));
    answer(w, b, "\x03");
    stage_says(next, "42");
    has_row(w, "cart/1", "\x03", 2);
    jobs_world_pass(w, AO_S(5));
    stage_balances(w);
}

KEPT_TEST(what_the_store_refuses_fails_the_message)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->refuses_groups = true;
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_S(3));
    w->store->refuses_groups = false;
    assert_int_equal(world_state(w, a), JOB_FAILED);
    assert_string_equal(world_job(w, a)->end->code, "STORE");
    assert_int_equal(memory_store_row(w->store, a)->task.state, JOB_FAILED);
    has_state(w, "cart/1", NULL, 0);
    assert_true(is_out(w, b));
    answer(w, b, "\x02");
    has_row(w, "cart/1", "\x02", 1);
    stage_balances(w);
}

KEPT_TEST(a_late_attempt_is_not_written)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("cart/1", "cart.add", .timeout = AO_S(1), .retries = 0,
                               .said = 1u << JOB_OPTION_timeout | 1u << JOB_OPTION_retries));
    struct world_run *late = world_run_of(w, a);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, a), JOB_FAILED);
    uint64_t b = tell(w, "cart/1");
    is_waiting(w, b, JOB_WHY_OVERRUN);
    assert_null(turn_set_state(late->run.turn, span_text("\x09"), 1));
    world_finish(late, "\xc0");
    commit(w);
    assert_null(row_of(w, "cart/1"));
    answer(w, b, "\x01");
    has_row(w, "cart/1", "\x01", 1);
}

/* --- Loads --- */

static void crash(struct jobs_world *w)
{
    jobs_world_crash(w);
    offer_usual(w);
}

KEPT_TEST(an_actor_is_loaded_by_its_name)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    crash(w);
    assert_null(actor_of(w, "cart/1"));
    uint64_t a = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_settle(w);
    is_waiting(w, a, JOB_WHY_LOADING);
    commit(w);
    assert_true(is_out(w, a));
    const struct attempt_turn *turn = world_run_of(w, a)->run.turn;
    assert_true(span_is(turn->state, "\x01"));
    assert_int_equal(turn->version, 1);
    answer(w, a, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

KEPT_TEST(readers_and_operations_wait_for_a_load)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    crash(w);
    struct operation *get = act(w, &operation_actor_get, "cart/1"),
                     *none = act(w, &operation_actor_get, "cart/none"),
                     *read = call(w, "cart/1", "cart.read");
    assert_false(world_answered(w, get));
    commit(w);
    stage_says(get, "'version': 1");
    failed(w, none, ERGON_E_NOT_FOUND);
    assert_null(actor_of(w, "cart/none"));
    uint64_t reads = out_of(w, "cart.read");
    assert_true(span_is(world_run_of(w, reads)->run.turn->state, "\x01"));
    answer(w, reads, NULL);
    stage_says(read, "42");
}

KEPT_TEST(a_load_that_fails_is_tried_again)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    crash(w);
    uint64_t a = tell(w, "cart/2");
    answer(w, a, NULL);
    a = jobs_world_submit(
        w, &TELL("cart/1", "cart.add", .durable = DURABLE_NONE, .said = 1u << JOB_OPTION_durable));
    struct operation *op = call(w, "cart/1", "cart.add"),
                     *get = act(w, &operation_actor_get, "cart/1");
    w->store->error = STORE_IO;
    commit(w);
    failed(w, op, ERGON_E_STORE);
    failed(w, get, ERGON_E_STORE);
    is_waiting(w, a, JOB_WHY_LOADING);
    op = call(w, "cart/1", "cart.add");
    commit(w);
    failed(w, op, ERGON_E_STORE);
    jobs_world_pass(w, AO_S(3));
    is_waiting(w, a, JOB_WHY_LOADING);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    assert_true(is_out(w, a));
    answer(w, a, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

KEPT_TEST(one_that_is_cancelled_during_a_load_leaves_its_place)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    crash(w);
    w->store->latency = AO_MS(50);
    uint64_t a = jobs_world_submit(
        w, &TELL("cart/1", "cart.add", .durable = DURABLE_NONE, .said = 1u << JOB_OPTION_durable));
    uint64_t b = jobs_world_submit(
        w, &TELL("cart/1", "cart.add", .durable = DURABLE_NONE, .said = 1u << JOB_OPTION_durable));
    uint64_t c = jobs_world_submit(
        w, &TELL("cart/2", "cart.add", .durable = DURABLE_NONE, .said = 1u << JOB_OPTION_durable));
    jobs_world_settle(w);
    assert_true(world_cancel(w, world_job(w, a)) && world_cancel(w, world_job(w, c)));
    is_waiting(w, b, JOB_WHY_LOADING);
    jobs_world_pass(w, AO_MS(200));
    w->store->latency = AO_MS(1);
    assert_null(actor_of(w, "cart/2"));
    assert_true(is_out(w, b));
    answer(w, b, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

KEPT_TEST(an_idle_actor_leaves_memory_and_comes_back)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    uint64_t dead = tell(w, "cart/2");
    world_fail(world_run_of(w, dead), "PERMANENT", "no");
    commit(w);
    answer(w, tell(w, "cart/2"), "\x07");
    jobs_world_pass(w, AO_S(400));
    assert_null(actor_of(w, "cart/1"));
    assert_non_null(actor_of(w, "cart/2")); /* its dead letter names it */
    assert_int_equal(actor_state(actor_of(w, "cart/2")).raw.len, 0);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/2");
    assert_true(span_is(world_run_of(w, a)->run.turn->state, "\x01"));
    assert_true(span_is(world_run_of(w, b)->run.turn->state, "\x07"));
    answer(w, a, NULL);
    answer(w, b, NULL);
    has_row(w, "cart/1", "\x01", 1);
}

/* --- Stop, start, drop --- */

KEPT_TEST(a_stop_is_answered_when_it_is_on_disk_and_survives)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    struct operation *op = act(w, &operation_actor_stop, "cart/1");
    assert_false(world_answered(w, op));
    assert_int_equal(actor_stage(actor_of(w, "cart/1")), ACTOR_SLEEPING);
    commit(w);
    stage_says(op, "'stage': 'stopped'");
    uint64_t kept = tell(w, "cart/1");
    is_waiting(w, kept, JOB_WHY_STOPPED);
    crash(w);
    commit(w);
    is_waiting(w, kept, JOB_WHY_STOPPED);
    op = call(w, "cart/1", "cart.add");
    commit(w);
    failed(w, op, ERGON_E_STOPPED);
    op = act(w, &operation_actor_start, "cart/1");
    commit(w);
    assert_true(world_answered(w, op));
    assert_true(is_out(w, kept));
    assert_int_equal(row_of(w, "cart/1")->stopped.len, 0);
    answer(w, kept, NULL);
}

KEPT_TEST(a_call_to_one_that_is_found_stopped_fails)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    act(w, &operation_actor_stop, "cart/1");
    commit(w);
    crash(w);
    struct operation *op = call(w, "cart/1", "cart.add"), *behind = call(w, "cart/1", "cart.add"),
                     *read = call(w, "cart/1", "cart.read");
    commit(w);
    failed(w, op, ERGON_E_STOPPED);
    failed(w, behind, ERGON_E_STOPPED);
    failed(w, read, ERGON_E_STOPPED);
}

KEPT_TEST(a_stop_and_a_turn_are_written_one_after_the_other)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    struct operation *op = act(w, &operation_actor_stop, "cart/1");
    answer_only(w, a, "\x01"); /* the stop is under way */
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(10));
    stage_says(op, "'stage': 'stopped'");
    has_row(w, "cart/1", "\x01", 1);
    assert_true(row_of(w, "cart/1")->stopped.len > 0);
    is_waiting(w, b, JOB_WHY_STOPPED);
    op = act(w, &operation_actor_start, "cart/1");
    commit(w);
    answer_only(w, b, "\x02");
    op = act(w, &operation_actor_stop, "cart/1"); /* the turn is under way */
    jobs_world_pass(w, AO_MS(10));
    stage_says(op, "'stage': 'stopped'");
    has_row(w, "cart/1", "\x02", 2);
    assert_true(row_of(w, "cart/1")->stopped.len > 0);
    stage_balances(w);
}

KEPT_TEST(a_message_keeps_its_place_while_its_end_is_written)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    call(w, "cart/1", "cart.add");
    commit(w);
    uint64_t a = post(w, &TELL("cart/1", "cart.add", .durable = DURABLE_FSYNC, .keep = AO_S(3600)));
    is_waiting(w, a, JOB_WHY_ACTOR);
    assert_true(world_cancel(w, world_job(w, a)));
    answer_only(w, out_of(w, "cart.add"), NULL); /* the mailbox is empty, but for that one */
    assert_true(actor_of(w, "cart/1")->more->bytes > 0);
    commit(w);
    assert_int_equal(world_state(w, a), JOB_CANCELLED);
    assert_true(world_retry(w, world_job(w, a)));
    jobs_world_pass(w, AO_MS(20));
    answer(w, a, "\x02");
    has_row(w, "cart/1", "\x02", 2);
    stage_balances(w);
}
KEPT_TEST(a_drop_waits_for_a_turn_that_is_under_way)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    answer_only(w, a, "\x01");
    struct operation *op = act(w, &operation_actor_drop, "cart/1");
    jobs_world_pass(w, AO_MS(20));
    assert_true(world_answered(w, op));
    assert_null(row_of(w, "cart/1"));
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, a));
    assert_null(world_job(w, b)); /* cancelled, and not kept */
    stage_balances(w);
}

KEPT_TEST(a_drop_throws_away_the_turn_that_waits_for_it)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    struct operation *caller = call(w, "cart/1", "cart.add");
    commit(w);
    struct operation *op = act(w, &operation_actor_drop, "cart/1");
    answer_only(w, out_of(w, "cart.add"), "\x02");
    jobs_world_pass(w, AO_MS(20));
    assert_true(world_answered(w, op));
    failed(w, caller, ERGON_E_CANCELLED);
    assert_null(row_of(w, "cart/1"));
    uint64_t a = tell(w, "cart/1");
    assert_int_equal(world_run_of(w, a)->run.turn->state.len, 0);
    answer(w, a, "\x03");
    has_row(w, "cart/1", "\x03", 1);
    stage_balances(w);
}

KEPT_TEST(a_start_with_reset_forgets_the_state)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    struct operation *op = world_operation(w, &operation_actor_start);
    op->actor.name = span_text("cart/1");
    op->actor.reset = true;
    world_give(w, op);
    has_state(w, "cart/1", "\x01", 1);
    commit(w);
    assert_true(world_answered(w, op));
    has_state(w, "cart/1", NULL, 2);
    assert_null(row_of(w, "cart/1"));
}

/* --- Crashes --- */

KEPT_TEST(what_was_not_committed_runs_again)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    answer_only(w, a, "\x01");
    crash(w);
    commit(w);
    assert_true(is_out(w, a) && !is_out(w, b));
    assert_int_equal(world_run_of(w, a)->run.attempt, 2);
    assert_int_equal(world_run_of(w, a)->run.turn->state.len, 0);
    answer(w, a, "\x01");
    crash(w);
    commit(w);
    assert_null(world_job(w, a));
    assert_true(is_out(w, b));
    assert_true(span_is(world_run_of(w, b)->run.turn->state, "\x01"));
    answer(w, b, "\x02");
    has_row(w, "cart/1", "\x02", 2);
    jobs_world_pass(w, AO_S(1));
    stage_balances(w);
}

KEPT_TEST(a_retry_keeps_its_place_through_a_crash)
{
    offer_usual(w);
    uint64_t first = post(w, &TELL("cart/1", "cart.add", .delay = AO_MS(20)));
    uint64_t a = tell(w, "cart/1"); /* it has the later number, and its turn first */
    jobs_world_pass(w, AO_MS(50));
    is_waiting(w, first, JOB_WHY_ACTOR);
    world_fail(world_run_of(w, a), "ODD", "not now");
    commit(w);
    assert_int_equal(world_state(w, a), JOB_DELAYED);
    crash(w);
    commit(w);
    is_waiting(w, first, JOB_WHY_ACTOR);
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, a) && !is_out(w, first));
    answer(w, a, "\x01");
    assert_true(is_out(w, first));
    answer(w, first, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

KEPT_TEST(messages_wait_for_their_own_rows_in_their_places)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    w->store->latency = AO_MS(20);
    uint64_t a = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    struct operation *op = call(w, "cart/1", "cart.add"); /* needs no row, and came later */
    assert_int_equal(world_reason(w, a), JOB_WHY_COMMIT);
    jobs_world_pass(w, AO_MS(60));
    assert_true(is_out(w, a));
    assert_false(world_answered(w, op));
    w->store->latency = AO_MS(1);
    answer(w, a, "\x02");
    answer(w, out_of(w, "cart.add"), "\x03");
    stage_says(op, "42");
    has_row(w, "cart/1", "\x03", 3);
}

KEPT_TEST(types_are_known_before_their_workers_come_back)
{
    offer_usual(w);
    jobs_world_settle(w);
    commit(w);
    answer(w, tell(w, "cart/1"), "\x01");
    jobs_world_crash(w);
    uint64_t a = tell(w, "cart/1");
    assert_int_equal(world_job(w, a)->durable, DURABLE_FSYNC);
    offer_usual(w);
    commit(w);
    answer(w, a, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

/* --- Steps --- */

static void offer_steps(struct jobs_world *w)
{
    offer(w, "tick", &usual);
}

KEPT_TEST(stepping_goes_on_after_a_crash)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    answer_only(w, step, "\x02");
    has_state(w, "tick/1", "\x01", 1);
    assert_false(is_out(w, step)); /* the next waits for the disk */
    commit(w);
    has_row(w, "tick/1", "\x02", 2);
    assert_int_equal(out_of(w, "tick.step"), step);
    struct attempt_turn *turn = world_run_of(w, step)->run.turn;
    assert_null(turn_sleep(turn, AO_NEVER));
    answer(w, step, "\x03");
    assert_int_equal(world_state(w, step), JOB_DELAYED);
    commit(w);
    jobs_world_crash(w);
    offer_steps(w);
    jobs_world_pass(w, AO_S(3600));
    assert_int_equal(world_state(w, step), JOB_DELAYED); /* until it is woken */
    struct operation *op = act(w, &operation_actor_wake, "tick/1");
    commit(w);
    assert_true(world_answered(w, op));
    assert_true(is_out(w, step));
    assert_true(span_is(world_run_of(w, step)->run.turn->state, "\x03"));
}

/* However long the disk is full: it fails no attempt. */
KEPT_TEST(a_step_that_cannot_be_written_is_written_later)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    w->store->error = STORE_FULL;
    answer(w, step, "\x02");
    has_state(w, "tick/1", "\x01", 1);
    jobs_world_pass(w, AO_S(3600));
    assert_false(is_out(w, step));
    assert_int_equal(world_state(w, step), JOB_QUEUED);
    assert_int_equal(world_reason(w, step), JOB_WHY_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_MS(1100));
    has_row(w, "tick/1", "\x02", 2);
    assert_int_equal(out_of(w, "tick.step"), step);
    assert_true(span_is(world_run_of(w, step)->run.turn->state, "\x02"));
    assert_int_equal(world_job(w, step)->failures, 0);
    answer(w, step, "\x03");
    has_row(w, "tick/1", "\x03", 3);
}

KEPT_TEST(a_step_that_is_cancelled_while_the_disk_is_full_is_written_later)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    w->store->error = STORE_FULL;
    answer(w, step, "\x02");
    world_cancel(w, world_job(w, step));
    jobs_world_pass(w, AO_S(10));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    assert_true(row_of(w, "tick/1")->stopped.len > 0);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_STOPPED);
    assert_null(actor_of(w, "tick/1")->more->turn);
}

KEPT_TEST(a_step_that_the_store_refuses_has_failed)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    w->store->refuses_groups = true;
    answer(w, step, "\x02");
    assert_int_equal(world_job(w, step)->failures, 1);
    w->store->refuses_groups = false;
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, step));
    has_state(w, "tick/1", "\x01", 1);
}

/* Its row says that it goes on, and that is all. */
KEPT_TEST(steps_that_change_nothing_write_nothing)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    answer(w, step, NULL);
    commit(w);
    uint32_t commits = w->store->commits, operations = w->store->operations;
    for (unsigned n = 0; n < 1000; n++) {
        assert_int_equal(out_of(w, "tick.step"), step);
        answer_only(w, step, NULL);
        assert_true(world_job(w, step)->places && !world_job(w, step)->places->next);
    }
    commit(w);
    assert_int_equal(w->store->commits, commits);
    assert_int_equal(w->store->operations, operations);
    jobs_world_crash(w); /* while one is out */
    offer_steps(w);
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, step));
    assert_int_equal(world_job(w, step)->failures, 0);
}

KEPT_TEST(a_step_that_failed_or_sleeps_is_written)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    answer(w, step, NULL);
    commit(w);
    world_fail(world_run_of(w, step), "ODD", "it does not work");
    jobs_world_settle(w);
    commit(w);
    assert_int_equal(memory_store_row(w->store, step)->task.failures, 1);
    jobs_world_pass(w, AO_S(1));
    answer(w, step, NULL);
    commit(w);
    assert_int_equal(memory_store_row(w->store, step)->task.failures, 0);
    assert_null(turn_sleep(world_run_of(w, step)->run.turn, AO_S(60)));
    answer(w, step, NULL);
    commit(w);
    assert_true(memory_store_row(w->store, step)->task.due_at > 0);
    jobs_world_pass(w, AO_S(61));
    assert_true(is_out(w, step));
    answer(w, step, NULL);
    commit(w);
    assert_int_equal(memory_store_row(w->store, step)->task.due_at, 0);
}

KEPT_TEST(a_step_that_is_cancelled_stops_its_actor_on_disk)
{
    offer_steps(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = out_of(w, "tick.step");
    answer_only(w, step, "\x02");
    world_cancel(w, world_job(w, step)); /* while its write is under way */
    jobs_world_pass(w, AO_S(3));
    has_row(w, "tick/1", "\x02", 2);
    assert_true(row_of(w, "tick/1")->stopped.len > 0);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_STOPPED);
}

KEPT_TEST(a_turn_that_stops_its_actor_is_written)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_null(turn_stop(world_run_of(w, a)->run.turn, span_text("sold out")));
    answer_only(w, a, "\x01");
    assert_int_equal(actor_stage(actor_of(w, "cart/1")), ACTOR_ACTIVE);
    commit(w);
    assert_true(span_is(row_of(w, "cart/1")->stopped, "sold out"));
    is_waiting(w, b, JOB_WHY_STOPPED);
}

/* --- What follows a failure --- */

/* Its first message is done, its second one fails. */
static void fail_one(struct jobs_world *w, uint8_t on_failure)
{
    struct actor_policy policy = usual;
    policy.on_failure = on_failure;
    policy.retries = 0;
    offer(w, "cart", &policy);
    answer(w, tell(w, "cart/1"), "\x01");
    world_fail(world_run_of(w, tell(w, "cart/1")), "ODD", "never");
    commit(w);
    commit(w);
}

KEPT_TEST(an_actor_that_its_failure_stops_is_stopped_on_disk)
{
    fail_one(w, ACTOR_STOPS);
    has_row(w, "cart/1", "\x01", 1);
    assert_true(span_is(row_of(w, "cart/1")->stopped, "add failed: ODD: never"));
}

KEPT_TEST(a_state_that_a_failure_resets_is_forgotten_on_disk)
{
    fail_one(w, ACTOR_RESETS);
    assert_null(row_of(w, "cart/1"));
}

/* --- What a turn sends --- */

static void sends(struct jobs_world *w, uint64_t id, const char *to, const char *method)
{
    struct turn_message_parts parts = {.to = span_text(to), .method = span_text(method)};
    assert_null(turn_send(world_run_of(w, id)->run.turn, &parts));
}

static uint32_t rows_of_tasks(struct jobs_world *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->store->rows.row_count; i++)
        count += w->store->rows.rows[i].there;
    return count;
}

KEPT_TEST(what_a_turn_sends_is_in_its_commit)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1");
    sends(w, a, "cart/2", "add");
    sends(w, a, "", "work");
    answer_only(w, a, "\x01");
    assert_int_equal(w->store->first->kind, STORE_ROW_GET); /* of cart/2 */
    assert_int_equal(w->store->last->kind, STORE_GROUP);
    assert_int_equal(w->store->last->group.count, 4);
    assert_false(is_out(w, a + 1) || is_out(w, a + 2));
    crash(w);
    commit(w);
    assert_null(world_job(w, a + 1));
    assert_true(is_out(w, a)); /* it runs again, and sends again */
    sends(w, a, "cart/2", "add");
    answer(w, a, "\x01");
    commit(w);
    has_row(w, "cart/1", "\x01", 1);
    uint64_t sent = out_of(w, "cart.add");
    assert_true(span_is(world_run_of(w, sent)->run.turn->actor, "cart/2"));
    answer(w, sent, NULL);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(rows_of_tasks(w), 0);
    stage_balances(w);
}

KEPT_TEST(what_a_call_sends_is_gone_with_its_changes)
{
    offer_usual(w);
    answer(w, tell(w, "cart/2"), "\x01");
    struct operation *op = call(w, "cart/1", "cart.add");
    commit(w);
    uint64_t called = out_of(w, "cart.add");
    sends(w, called, "cart/2", "add");
    w->store->error = STORE_FULL;
    answer(w, called, NULL);
    failed(w, op, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    assert_null(world_job(w, called + 1));
    assert_null(actor_of(w, "cart/2")->more);
    stage_balances(w);
    op = call(w, "cart/1", "cart.add");
    commit(w);
    called = out_of(w, "cart.add");
    sends(w, called, "cart/2", "add");
    answer(w, called, NULL); /* nothing but what it sends */
    stage_says(op, "42");
    assert_true(is_out(w, called + 1));
    assert_null(row_of(w, "cart/1"));
}

KEPT_TEST(what_a_message_sends_waits_with_it_for_the_disk)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1");
    sends(w, a, "cart/2", "add");
    sends(w, a, "cart/2", "add");
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(rows_of_tasks(w), 1);
    assert_false(is_out(w, a + 1));
    assert_true(world_cancel(w, world_job(w, a + 2))); /* before it is on disk */
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    has_row(w, "cart/1", "\x01", 1);
    assert_true(is_out(w, a + 1));
    assert_null(world_job(w, a + 2));
    answer(w, a + 1, NULL);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(rows_of_tasks(w), 0);
    stage_balances(w);
}

/* --- The end --- */

KEPT_TEST(a_stop_in_order_writes_what_is_pending)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    answer_only(w, a, "\x01");
    jobs_world_restart(w);
    offer_usual(w);
    commit(w);
    assert_null(world_job(w, a));
    has_row(w, "cart/1", "\x01", 1);
    assert_true(is_out(w, b));
    answer(w, b, "\x02");
    has_row(w, "cart/1", "\x02", 2);
}

static uint32_t rows_left(const struct jobs_world *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->store->rows.actor_count; i++)
        count += span_is(w->store->rows.actors[i].actor.type, "cart");
    return count;
}

/* Nor do old states come back when the type is durable again. */
KEPT_TEST(a_type_that_is_not_durable_any_more_leaves_no_rows)
{
    struct actor_policy none = usual;
    none.durable = DURABLE_NONE;
    offer_usual(w);
    offer(w, "other", &usual);
    answer(w, tell(w, "cart/1"), "\x01");
    answer(w, tell(w, "cart/2"), "\x02");
    answer(w, post(w, &TELL("other/1", "other.add")), "\x03");
    offer(w, "cart", &none);
    jobs_world_pass(w, AO_MS(50));
    assert_int_equal(rows_left(w), 0);
    has_row(w, "other/1", "\x03", 1);
    has_state(w, "cart/1", "\x01", 1);
    jobs_world_crash(w);
    offer_usual(w);
    uint64_t a = tell(w, "cart/1");
    assert_int_equal(world_run_of(w, a)->run.turn->state.len, 0);
}

/* The server ended before they were removed. */
KEPT_TEST(rows_of_a_type_that_is_not_durable_go_at_the_next_start)
{
    struct actor_policy none = usual;
    none.durable = DURABLE_NONE;
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    w->store->error = STORE_FULL;
    offer(w, "cart", &none);
    jobs_world_pass(w, AO_MS(50));
    assert_int_equal(rows_left(w), 1);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3)); /* its policy is written */
    assert_int_equal(rows_left(w), 1);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(50));
    assert_int_equal(rows_left(w), 0);
}

KEPT_TEST(a_type_that_becomes_durable_is_written)
{
    struct actor_policy policy = usual;
    policy.durable = DURABLE_NONE;
    offer(w, "cart", &policy);
    uint64_t a = tell(w, "cart/1");
    assert_int_equal(world_job(w, a)->durable, DURABLE_NONE);
    answer(w, a, "\x01");
    assert_null(row_of(w, "cart/1"));
    offer_usual(w);
    commit(w);
    has_row(w, "cart/1", "\x01", 1);
    answer(w, tell(w, "cart/1"), "\x02");
    has_row(w, "cart/1", "\x02", 2);
}
