/* Types with `pipeline`: the next turn begins on what the one before made, and nobody else sees it
 * before it is on disk. */
#include "proto/job_options.h"
#include "server/jobs/effects.h"
#include "tests/support/jobs_actors.h"

#define PIPE_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static const struct actor_policy piped = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                          .durable = ACTOR_DURABLE_FSYNC, .pipeline = 1};

static void offer_all(struct jobs_world *w)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    static const char *const others[] = {"box.put", NULL};
    offer(w, "cart", &piped, methods);
    offer(w, "box", &usual, others); /* in memory alone */
    w->room[POOL_OF_WORKERS] = 8;
}

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(3));
}

static uint64_t tell(struct jobs_world *w, const char *to)
{
    uint64_t id = post(w, &TELL(to, "cart.add", .retries = 0,
                                .said = 1u << JOB_OPTION_retries | 1u << JOB_OPTION_keep,
                                .keep = AO_S(1000)));
    commit(w);
    return id;
}

static struct operation *call_of(struct jobs_world *w, uint64_t caller, const char *to,
                                 const char *method)
{
    static struct job_spec specs[32];
    static unsigned next;
    struct job_spec *spec = &specs[next++ % 32];
    struct operation *op = world_operation(w, &operation_actor_call);
    *spec = TELL(to, method, .calls = true);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = caller;
    op->submission.caller_attempt = caller ? world_run_of(w, caller)->run.turn->attempt : 0;
    world_give(w, op);
    jobs_world_settle(w);
    return op;
}

static struct operation *call(struct jobs_world *w, const char *to)
{
    return call_of(w, 0, to, "cart.add");
}

static uint64_t last(const struct jobs_world *w)
{
    return w->jobs->table.last->id;
}

static struct operation *stop(struct jobs_world *w, const char *name)
{
    struct operation *op = world_operation(w, &operation_actor_stop);
    op->actor.name = span_text(name);
    world_give(w, op);
    return op;
}

static void is_on_disk(struct jobs_world *w, const char *name, const char *state, uint64_t version)
{
    const struct store_actor *row =
        memory_rows_actor(&w->store->rows, span_text(""), span_text("cart"), span_text(name + 5));
    if (version == 0) {
        assert_null(row);
        return;
    }
    assert_non_null(row);
    assert_int_equal(row->version, version);
    assert_true(span_is(row->state, state));
    has_state(w, name, state, version);
}

static void began_with(struct jobs_world *w, uint64_t id, const char *state)
{
    assert_true(is_out(w, id));
    const struct attempt_turn *turn = world_run_of(w, id)->run.turn;
    assert_true(state ? span_is(turn->state, state) : turn->state.len == 0);
}

static void said(struct jobs_world *w, struct operation *op, enum ergon_error error)
{
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, error);
}

static void at_rest(struct jobs_world *w)
{
    jobs_world_pass(w, AO_S(5));
    stage_balances(w);
}

/* --- The disk is slow --- */

PIPE_TEST(the_next_turn_begins_before_the_disk_has_the_last)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    answer(w, a, "\x01");
    began_with(w, b, "\x01");
    answer(w, b, "\x02");
    began_with(w, c, "\x02");
    assert_false(job_state_open(JOB_DONE) || world_state(w, a) == JOB_DONE);
    has_state(w, "cart/1", NULL, 0);
    is_on_disk(w, "cart/1", NULL, 0);
    struct operation *op = call_of(w, 0, "cart/1", "cart.read");
    uint64_t read = last(w);
    began_with(w, read, NULL); /* what others see is on disk */
    commit(w);
    is_on_disk(w, "cart/1", "\x02", 2);
    assert_int_equal(world_state(w, a), JOB_DONE);
    answer(w, c, "\x03");
    commit(w);
    is_on_disk(w, "cart/1", "\x03", 3);
    answer(w, read, NULL);
    stage_says(op, "42");
    at_rest(w);
}

PIPE_TEST(callers_are_answered_when_it_is_on_disk)
{
    offer_all(w);
    struct operation *first = call(w, "cart/1");
    uint64_t a = last(w);
    commit(w);
    struct operation *second = call(w, "cart/1"), *third = call(w, "cart/1");
    answer(w, a, "\x01");
    answer(w, a + 1, "\x02");
    answer(w, a + 2, NULL); /* it changes nothing, and has seen what is not on disk */
    assert_false(world_answered(w, first) || world_answered(w, second));
    assert_false(world_answered(w, third));
    commit(w);
    stage_says(first, "42");
    stage_says(second, "42");
    stage_says(third, "42");
    is_on_disk(w, "cart/1", "\x02", 2);
    at_rest(w);
}

PIPE_TEST(an_actor_is_stopped_between_turns_that_follow_each_other)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1"),
             d = tell(w, "cart/1");
    answer(w, a, "\x01");
    struct operation *op = stop(w, "cart/1");
    jobs_world_settle(w);
    answer(w, b, "\x02"); /* it was out */
    assert_false(is_out(w, c));
    commit(w);
    commit(w);
    said(w, op, ERGON_OK);
    is_on_disk(w, "cart/1", "\x02", 2);
    answer(w, c, "\x03"); /* it began while the stop was written */
    is_waiting(w, d, JOB_WHY_STOPPED);
}

PIPE_TEST(a_turn_that_stops_its_actor_is_the_last)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_null(turn_stop(world_run_of(w, a)->run.turn, span_text("enough")));
    answer(w, a, "\x01");
    is_waiting(w, b, JOB_WHY_COMMIT);
    commit(w);
    is_waiting(w, b, JOB_WHY_STOPPED);
    is_on_disk(w, "cart/1", "\x01", 1);
}

PIPE_TEST(a_failure_counts_when_what_it_saw_is_on_disk)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    answer(w, a, "\x01");
    fail_it(w, b, "ODD");
    is_waiting(w, b, JOB_WHY_COMMIT);
    commit(w);
    commit(w); /* the next attempt has a row first */
    began_with(w, b, "\x01");
    fail_it(w, b, "ODD");
    commit(w);
    assert_int_equal(world_state(w, b), JOB_FAILED);
    at_rest(w);
}

/* It waits for the turn before it, and gets a row meanwhile. */
PIPE_TEST(a_message_that_changes_nothing_is_joined_while_it_waits)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1");
    struct job_spec spec = TELL("cart/1", "cart.add", .key = span_text("k"), .keep = AO_S(600),
                                .said = 1u << JOB_OPTION_durable | 1u << JOB_OPTION_keep);
    uint64_t b = post(w, &spec);
    answer(w, a, "\x01");
    answer(w, b, NULL);
    struct operation *op = world_operation(w, &operation_actor_tell);
    spec.durable = DURABLE_FSYNC;
    op->submission.specs = &spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    world_give(w, op);
    commit(w);
    commit(w);
    said(w, op, ERGON_OK);
    assert_int_equal(world_state(w, b), JOB_DONE);
    assert_non_null(memory_store_row(w->store, b));
    is_on_disk(w, "cart/1", "\x01", 1);
    at_rest(w);
}

/* --- The disk fails --- */

PIPE_TEST(after_a_failed_commit_all_is_as_it_was_and_in_order)
{
    offer_all(w);
    answer(w, tell(w, "cart/1"), "\x09");
    commit(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1"),
             d = tell(w, "cart/1");
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    began_with(w, c, "\x02");
    commit(w);
    is_on_disk(w, "cart/1", "\x09", 1);
    struct world_run *fenced = world_run_of(w, c);
    assert_true(fenced->run.turn->fenced);
    answer(w, c, "\x03");
    is_waiting(w, a, JOB_WHY_STORE);
    is_waiting(w, c, JOB_WHY_ACTOR);
    jobs_world_pass(w, AO_S(5));
    is_on_disk(w, "cart/1", "\x09", 1);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, "\x09");
    answer(w, a, "\x11");
    commit(w);
    began_with(w, b, "\x11");
    answer(w, b, "\x12");
    commit(w);
    began_with(w, c, "\x12");
    answer(w, c, "\x13");
    began_with(w, d, "\x13");
    answer(w, d, "\x14");
    commit(w);
    is_on_disk(w, "cart/1", "\x14", 5);
    assert_int_equal(world_job(w, c)->failures, 0);
    assert_int_equal(counter_read(&actor_of(w, "cart/1")->type->messages), 0);
    at_rest(w);
}

PIPE_TEST(calls_without_a_row_learn_of_a_failed_commit)
{
    offer_all(w);
    struct operation *first = call(w, "cart/1");
    uint64_t a = last(w);
    commit(w);
    struct operation *second = call(w, "cart/1"), *third = call(w, "cart/1");
    w->store->error = STORE_IO;
    answer(w, a, "\x01");
    answer(w, a + 1, NULL);
    began_with(w, a + 2, "\x01");
    commit(w);
    said(w, first, ERGON_E_STORE);
    assert_false(world_answered(w, third));
    w->store->error = STORE_OK;
    answer(w, a + 2, "\x03");
    said(w, second, ERGON_E_STORE);
    began_with(w, a + 2, NULL); /* it runs again, on what is on disk */
    answer(w, a + 2, "\x04");
    commit(w);
    stage_says(third, "42");
    is_on_disk(w, "cart/1", "\x04", 1);
    at_rest(w);
}

PIPE_TEST(a_refused_turn_fails_and_those_behind_it_run_again)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    w->store->refuses_one = true;
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    answer(w, c, "\x03");
    commit(w);
    is_on_disk(w, "cart/1", NULL, 0);
    assert_true(job_is(world_job(w, b), JOB_ENDING)); /* until the end of `a` is on disk */
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, a), JOB_FAILED);
    began_with(w, b, NULL);
    answer(w, b, "\x12");
    commit(w);
    began_with(w, c, "\x12");
    answer(w, c, "\x13");
    commit(w);
    is_on_disk(w, "cart/1", "\x13", 2);
    at_rest(w);
}

/* Nor does an actor stall whose type has no `pipeline` any more when its chain fails. */
PIPE_TEST(a_chain_ends_as_one_when_its_type_leaves_pipeline)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    struct actor_policy plain = piped;
    plain.pipeline = 0;
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    began_with(w, b, "\x01");
    offer(w, "cart", &plain, methods);
    answer(w, b, "\x02");
    commit(w);
    is_on_disk(w, "cart/1", NULL, 0);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, NULL);
    answer(w, a, "\x11");
    commit(w);
    began_with(w, b, "\x11");
    answer(w, b, "\x12");
    commit(w);
    is_on_disk(w, "cart/1", "\x12", 2);
    at_rest(w);
}

PIPE_TEST(a_message_lets_a_step_sleep_that_waits_for_its_commit)
{
    static const char *const methods[] = {"tick.run", "tick.step", NULL};
    offer(w, "tick", &piped, methods);
    uint64_t a = post(w, &TELL("tick/1", "tick.run"));
    commit(w);
    assert_null(turn_sleep(world_run_of(w, a)->run.turn, AO_S(60)));
    answer(w, a, "\x01");
    commit(w);
    uint64_t step = actor_of(w, "tick/1")->more->step->id;
    assert_int_equal(world_state(w, step), JOB_DELAYED);
    jobs_world_pass(w, AO_S(50));
    assert_false(is_out(w, step));
    jobs_world_pass(w, AO_S(11));
    began_with(w, step, "\x01");
    answer(w, step, NULL);
}

PIPE_TEST(no_turn_begins_on_what_is_being_undone)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->most = 1;
    w->store->error = STORE_IO;
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    jobs_world_pass(w, AO_MS(1)); /* the one of `b` is still under way */
    call(w, "cart/1");
    uint64_t c = last(w);
    is_waiting(w, c, JOB_WHY_STORE);
    w->store->most = 0;
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, NULL);
    answer(w, a, "\x11");
    commit(w);
    answer(w, b, "\x12");
    began_with(w, c, "\x12");
    answer(w, c, NULL);
    at_rest(w);
}

PIPE_TEST(an_operation_is_refused_while_turns_are_undone)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    began_with(w, b, "\x01");
    commit(w);
    said(w, stop(w, "cart/1"), ERGON_E_STORE);
    world_lose(world_run_of(w, b), LOSS_IN_COMPANY, "gone");
    jobs_world_settle(w);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, NULL);
    answer(w, a, NULL);
    commit(w);
    answer(w, b, NULL);
    at_rest(w);
}

/* --- What leaves a turn --- */

PIPE_TEST(a_call_waits_for_the_state_that_its_turn_began_with)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    answer(w, a, "\x01");
    began_with(w, b, "\x01");
    uint64_t before = last(w);
    struct operation *op = call_of(w, b, "cart/2", "cart.add");
    assert_int_equal(last(w), before);
    commit(w);
    assert_int_equal(last(w), before + 1);
    commit(w);
    answer(w, before + 1, NULL);
    stage_says(op, "42");
    answer(w, b, NULL);
    at_rest(w);
}

PIPE_TEST(a_call_of_a_turn_that_is_undone_is_fenced)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    w->store->error = STORE_IO;
    answer(w, a, "\x01");
    struct operation *op = call_of(w, b, "cart/2", "cart.add");
    assert_false(world_answered(w, op));
    commit(w);
    said(w, op, ERGON_E_FENCED);
    said(w, call_of(w, b, "cart/2", "cart.add"), ERGON_E_FENCED);
    w->store->error = STORE_OK;
    answer(w, b, NULL);
    jobs_world_pass(w, AO_S(3));
    answer(w, a, NULL);
    commit(w);
    answer(w, b, NULL);
    at_rest(w);
}

static void sends(struct jobs_world *w, uint64_t id, const char *to, const char *method)
{
    struct turn_message_parts parts = {.to = span_text(to), .method = span_text(method)};
    assert_null(turn_send(world_run_of(w, id)->run.turn, &parts));
}

PIPE_TEST(what_an_undone_turn_sent_is_taken_back)
{
    offer_all(w);
    uint64_t a = tell(w, "cart/1");
    w->store->error = STORE_IO;
    sends(w, a, "cart/2", "add");
    sends(w, a, "box/1", "put"); /* is in memory alone, and waits for the turn, too */
    answer(w, a, "\x01");
    commit(w);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, NULL);
    assert_int_equal(w->jobs->table.count, 1);
    sends(w, a, "cart/2", "add");
    sends(w, a, "box/1", "put");
    answer(w, a, "\x01");
    commit(w);
    assert_int_equal(w->jobs->table.count, 3);
    uint64_t put = last(w), add = put - 1;
    answer(w, put, NULL);
    answer(w, add, NULL);
    at_rest(w);
}

PIPE_TEST(a_stop_gives_nothing_back_while_a_turn_has_not_returned)
{
    offer_all(w);
    w->stubborn = true;
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    answer(w, a, "\x01");
    assert_true(is_out(w, b));
    w->store->error = STORE_FULL;
    jobs_world_restart(w);
    w->store->error = STORE_OK;
    w->stubborn = false;
    offer_all(w);
    jobs_world_pass(w, AO_S(3));
    began_with(w, a, NULL);
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    answer(w, c, "\x03");
    commit(w);
    is_on_disk(w, "cart/1", "\x03", 3);
    at_rest(w);
}

PIPE_TEST(one_that_is_stopped_as_the_server_ends_lets_go_of_no_turn_that_is_out)
{
    offer_all(w);
    w->stubborn = true;
    uint64_t a = tell(w, "cart/1");
    assert_true(is_out(w, a));
    stop(w, "cart/1"); /* it is on disk as the server has ended */
    jobs_world_restart(w);
    w->stubborn = false;
    offer_all(w);
    commit(w);
    is_waiting(w, a, JOB_WHY_STOPPED);
}
