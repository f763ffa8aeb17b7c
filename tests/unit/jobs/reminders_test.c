/* Reminders: messages with a time and a name, put from outside and by turns; in memory and on disk.
 */
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/effects.h"
#include "server/jobs/life/change.h"
#include "tests/support/jobs_actors.h"

#define KEPT_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static void offer_some(struct jobs_world *w, uint8_t durable)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    struct actor_policy policy = usual;
    policy.durable = durable;
    policy.backoff = policy.backoff_max = AO_S(1);
    policy.retries = 1;
    offer(w, "cart", &policy, methods);
}

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(3));
}

static void crash(struct jobs_world *w)
{
    jobs_world_crash(w);
    offer_some(w, DURABLE_FSYNC);
    commit(w);
}

static struct operation *put_at(struct jobs_world *w, const char *to, const char *name, ao_time in,
                                ao_time every)
{
    static struct job_spec specs[256];
    static unsigned next;
    struct operation *op = world_operation(w, &operation_actor_remind);
    struct job_spec *spec = &specs[next++ % 256];
    *spec = TELL(to, "cart.add", .reminder = span_text(name), .delay = in, .every = every);
    op->submission.specs = spec;
    op->submission.count = 1;
    world_give(w, op);
    return op;
}

static struct job *named(struct jobs_world *w, const char *name)
{
    const struct actor *a = actor_of(w, "cart/1");
    return a ? reminders_find(a, span_text(name)) : NULL;
}

/* Its id. */
static uint64_t put(struct jobs_world *w, const char *name, ao_time in, ao_time every)
{
    struct operation *op = put_at(w, "cart/1", name, in, every);
    commit(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return named(w, name)->id;
}

static bool forget(struct jobs_world *w, const char *name)
{
    struct operation *op = world_operation(w, &operation_actor_forget);
    op->actor.name = span_text("cart/1");
    op->actor.reminder = span_text(name);
    world_give(w, op);
    commit(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return span_is(operation_result(op), "\xc3");
}

static struct attempt_turn *turn_of(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    return r->run.turn;
}

static void reminds(struct jobs_world *w, uint64_t id, const char *name, ao_time in, ao_time every)
{
    struct turn_message_parts parts = {
        .reminder = span_text(name), .method = span_text("add"), .in = in, .every = every};
    assert_null(turn_remind(turn_of(w, id), &parts));
}

static void forgets(struct jobs_world *w, uint64_t id, const char *name)
{
    struct turn_message_parts parts = {.reminder = span_text(name)};
    assert_null(turn_remind(turn_of(w, id), &parts));
}

/* Its turn ends well, and is on disk. */
static void done(struct jobs_world *w, uint64_t id, const char *state)
{
    answer(w, id, state);
    commit(w);
}

static bool is_gone(struct jobs_world *w, uint64_t id)
{
    return world_job(w, id) == NULL;
}

static uint64_t tell(struct jobs_world *w)
{
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    commit(w);
    return id;
}

/* --- From outside --- */

KEPT_TEST(one_takes_the_place_of_another_though_its_client_has_left)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t old = put(w, "tea", AO_S(10), 0);
    struct operation *op = put_at(w, "cart/1", "tea", AO_S(20), 0);
    channel_drop(op->channel, op);
    commit(w);
    assert_true(is_gone(w, old) || world_state(w, old) == JOB_CANCELLED);
    assert_int_equal(world_state(w, named(w, "tea")->id), JOB_DELAYED);
    assert_true(world_answered(w, op));
    stage_balances(w);
}

ACTOR_TEST(one_in_memory_fires_once)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    uint64_t a = put(w, "tea", AO_S(5), 0);
    assert_int_equal(world_state(w, a), JOB_DELAYED);
    jobs_world_pass(w, AO_S(4));
    assert_false(is_out(w, a));
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, a));
    answer(w, a, "\x01");
    assert_null(named(w, "tea"));
    has_state(w, "cart/1", "\x01", 1);
    jobs_world_pass(w, AO_S(60));
    assert_true(is_gone(w, a));
    assert_false(forget(w, "tea"));
}

/* `idle` of the type is 5 minutes. */
ACTOR_TEST(an_actor_in_memory_stays_while_it_has_one)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    answer(w, post(w, &TELL("cart/1", "cart.add")), "\x01");
    put(w, "tea", AO_S(3600), 0);
    jobs_world_pass(w, AO_S(1800));
    has_state(w, "cart/1", "\x01", 1);
    assert_true(forget(w, "tea"));
    jobs_world_pass(w, AO_S(301));
    assert_null(actor_of(w, "cart/1"));
}

KEPT_TEST(put_replaces_and_forget_forgets)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(5), 0), b = put(w, "tea", AO_S(9), 0);
    jobs_world_pass(w, AO_MS(9));
    assert_true(a != b && is_gone(w, a));
    jobs_world_pass(w, AO_S(6));
    assert_false(is_out(w, b));
    assert_true(forget(w, "tea"));
    assert_false(forget(w, "tea"));
    jobs_world_pass(w, AO_MS(9));
    assert_true(is_gone(w, b));
    assert_null(actor_of(w, "cart/1"));
    stage_balances(w);
}

KEPT_TEST(a_put_that_cannot_be_written_changes_nothing)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(60), 0);
    w->store->error = STORE_FULL;
    struct operation *op = put_at(w, "cart/1", "tea", AO_S(90), 0);
    jobs_world_pass(w, AO_MS(50));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(named(w, "tea")->id, a);
    jobs_world_pass(w, AO_S(56));
    assert_true(is_out(w, a));
    stage_balances(w);
}

/* Its last write failed, and is tried again in a second; the store has taken others since. */
KEPT_TEST(one_that_was_forgotten_is_so_after_a_crash)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(10), AO_S(10));
    jobs_world_pass(w, AO_S(10));
    uint64_t other = post(w, &TELL("cart/2", "cart.add"));
    commit(w);
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    commit(w);
    w->store->error = STORE_OK;
    answer(w, other, "\x02");
    commit(w);
    assert_true(forget(w, "tea"));
    crash(w);
    assert_null(named(w, "tea"));
}

KEPT_TEST(one_that_runs_is_not_forgotten)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(1), 0);
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, a));
    assert_false(forget(w, "tea"));
    done(w, a, "\x01");
    has_state(w, "cart/1", "\x01", 1);
}

ACTOR_TEST(an_actor_has_a_hundred)
{
    char name[16], text[JOB_TEXT_MAX];
    struct submitted made;
    offer_some(w, ACTOR_DURABLE_NONE);
    for (int n = 0; n < REMINDERS_MAX; n++) {
        snprintf(name, sizeof name, "r%d", n);
        put(w, name, AO_S(60), 0);
    }
    const struct job_spec more =
        TELL("cart/1", "cart.add", .reminder = span_text("more"), .delay = AO_S(1));
    assert_int_equal(world_submit(w, &more, &made, text, sizeof text), ERGON_E_BAD_PARAMS);
    stage_holds(text, "has 100 reminders");
    put(w, "r7", AO_S(90), 0);
    assert_true(forget(w, "r8"));
    put(w, "more", AO_S(90), 0);
}

/* --- Order --- */

KEPT_TEST(they_join_the_mailbox_at_its_end_by_time_and_then_by_id)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t last = put(w, "c", AO_S(5), 0), first = put(w, "a", AO_S(2), 0);
    uint64_t a = tell(w), b = tell(w);
    jobs_world_pass(w, AO_S(9));
    const uint64_t order[] = {a, b, first, last};
    for (int n = 0; n < 4; n++) {
        assert_true(is_out(w, order[n]));
        done(w, order[n], NULL);
    }
}

KEPT_TEST(what_was_due_before_a_crash_comes_in_its_order)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t late = put(w, "a", AO_S(5), 0), early = put(w, "b", AO_S(2), 0);
    uint64_t far = put(w, "c", AO_S(3600), 0);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(9));
    offer_some(w, DURABLE_FSYNC);
    commit(w);
    assert_true(is_out(w, early));
    done(w, early, "\x01");
    assert_true(is_out(w, late));
    done(w, late, "\x02");
    assert_int_equal(world_state(w, far), JOB_DELAYED);
    assert_int_equal(named(w, "c")->id, far);
    has_state(w, "cart/1", "\x02", 2);
    stage_balances(w);
}

/* The numbers of attempts are raised then, as if each had begun. */
KEPT_TEST(one_that_waits_for_its_time_holds_up_nobody_behind_a_power_cut)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(60), 0);
    uint64_t b = jobs_world_submit(
        w, &TELL("cart/1", "cart.add", .durable = DURABLE_FSYNC, .delay = AO_S(50)));
    commit(w);
    memory_store_cut_power(w->store);
    crash(w);
    assert_int_equal(world_job(w, a)->attempt, 1);
    uint64_t c = tell(w);
    commit(w);
    assert_true(is_out(w, c));
    done(w, c, "\x01");
    jobs_world_pass(w, AO_S(60));
    assert_true(is_out(w, b));
    done(w, b, "\x02");
    assert_true(is_out(w, a));
    done(w, a, "\x03");
    has_state(w, "cart/1", "\x03", 3);
    stage_balances(w);
}

/* As over any other crash. */
KEPT_TEST(one_that_had_begun_keeps_its_place_over_a_power_cut)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(5), 0);
    jobs_world_pass(w, AO_S(6));
    world_again(world_run_of(w, a), AO_S(60));
    jobs_world_pass(w, AO_S(1));
    memory_store_cut_power(w->store);
    crash(w);
    uint64_t b = tell(w);
    commit(w);
    assert_false(is_out(w, b));
    jobs_world_pass(w, AO_S(61));
    done(w, a, "\x01");
    assert_true(is_out(w, b));
}

/* --- Again --- */

static void is_slim(struct jobs_world *w, uint64_t id, ao_time backoff)
{
    const struct job *job = world_job(w, id);
    assert_non_null(job);
    assert_null(job->more);
    assert_int_equal(job_policy(job).backoff, backoff);
    assert_int_equal(job_policy(job).backoff_max, backoff);
}

/* Its type's policy is in no row, so it has no extras when it is read back. */
KEPT_TEST(what_is_read_back_takes_the_policy_of_its_type)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    struct actor_policy other = usual;
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(5), 0);
    uint64_t b = jobs_world_submit(
        w, &TELL("cart/1", "cart.add", .durable = DURABLE_FSYNC, .delay = AO_S(5)));
    commit(w);
    is_slim(w, a, AO_S(1));
    is_slim(w, b, AO_S(1));
    jobs_world_crash(w);
    other.durable = DURABLE_FSYNC;
    other.backoff = other.backoff_max = AO_S(7);
    offer(w, "cart", &other, methods);
    commit(w);
    is_slim(w, a, AO_S(7));
    is_slim(w, b, AO_S(7));
    assert_int_equal(world_job(w, a)->retries, 1);
}

KEPT_TEST(one_comes_again_and_moves_in_the_write_of_its_turn)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(10), AO_S(10));
    jobs_world_pass(w, AO_S(10));
    for (char n = 1; n <= 3; n++) {
        char state[2] = {n, 0};
        assert_true(is_out(w, a));
        uint32_t commits = w->store->commits;
        done(w, a, state);
        assert_int_equal(w->store->commits, commits + 1);
        assert_int_equal(world_state(w, a), JOB_DELAYED);
        crash(w); /* nothing of it was left to be written */
        assert_int_equal(world_state(w, a), JOB_DELAYED);
        has_state(w, "cart/1", NULL, 0);
        jobs_world_pass(w, AO_S(11));
        assert_int_equal(turn_of(w, a)->version, (uint64_t)n);
    }
    assert_int_equal(named(w, "tea")->id, a);
    stage_balances(w);
}

KEPT_TEST(a_turn_that_was_not_written_is_run_again)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(1), AO_S(10));
    jobs_world_pass(w, AO_S(1));
    answer(w, a, "\x01");
    crash(w);
    assert_true(is_out(w, a));
    assert_int_equal(turn_of(w, a)->version, 0);
    done(w, a, "\x02");
    has_state(w, "cart/1", "\x02", 1);
    assert_int_equal(world_state(w, a), JOB_DELAYED);
}

/* The keys of the calls of its turns begin with `round`. */
KEPT_TEST(each_time_calls_anew_and_one_that_is_run_again_behind_a_crash_does_not)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(5), AO_S(60));
    jobs_world_pass(w, AO_S(6));
    uint32_t first = turn_of(w, tea)->round;
    done(w, tea, "\x01");
    jobs_world_pass(w, AO_S(60));
    uint32_t second = turn_of(w, tea)->round;
    assert_int_not_equal(second, first);
    fail_it(w, tea, "LATER");
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(turn_of(w, tea)->round, second);
    crash(w);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(turn_of(w, tea)->round, second);
    done(w, tea, "\x02");
    jobs_world_pass(w, AO_S(60));
    assert_int_not_equal(turn_of(w, tea)->round, first);
    assert_int_not_equal(turn_of(w, tea)->round, second);
}

/* It has no row: its type had none when it was put. */
static uint64_t put_without_a_row(struct jobs_world *w)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    uint64_t tea = put(w, "tea", AO_S(5), AO_S(60));
    offer_some(w, DURABLE_FSYNC);
    jobs_world_pass(w, AO_S(6));
    return tea;
}

KEPT_TEST(one_without_a_row_is_forgotten_while_its_turn_is_written)
{
    uint64_t tea = put_without_a_row(w);
    answer(w, tea, "\x01");
    assert_true(forget(w, "tea"));
    commit(w);
    has_state(w, "cart/1", "\x01", 1);
    uint64_t a = tell(w);
    done(w, a, "\x02");
    has_state(w, "cart/1", "\x02", 2);
    assert_true(is_gone(w, tea));
}

KEPT_TEST(one_without_a_row_whose_turn_cannot_be_written_has_failed)
{
    uint64_t tea = put_without_a_row(w);
    w->store->error = STORE_FULL;
    done(w, tea, "\x01");
    w->store->error = STORE_OK;
    has_state(w, "cart/1", NULL, 0);
    jobs_world_pass(w, AO_S(3));
    done(w, tea, "\x02");
    has_state(w, "cart/1", "\x02", 1);
    assert_int_equal(world_state(w, tea), JOB_DELAYED);
}

ACTOR_TEST(times_that_it_missed_come_as_one)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    uint64_t a = put(w, "tea", AO_S(10), AO_S(10));
    jobs_world_pass(w, AO_S(10));
    w->stubborn = true;
    jobs_world_pass(w, AO_S(25));
    answer(w, a, "\x01");
    assert_int_equal(world_state(w, a), JOB_DELAYED);
    jobs_world_pass(w, AO_S(4));
    assert_false(is_out(w, a)); /* it keeps to its times */
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, a));
    assert_int_equal(turn_of(w, a)->version, 1);
}

KEPT_TEST(one_that_fails_comes_again_and_its_history_says_so)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(10), AO_S(10));
    jobs_world_pass(w, AO_S(10));
    fail_it(w, a, "FAILED"); /* and is tried again, in its place */
    uint64_t b = tell(w);
    is_waiting(w, b, JOB_WHY_ACTOR);
    jobs_world_pass(w, AO_S(1));
    fail_it(w, a, "FAILED");
    commit(w);
    assert_int_equal(world_state(w, a), JOB_DELAYED);
    assert_int_equal(world_job(w, a)->failures, 0);
    assert_string_equal(world_job(w, a)->end->code, "FAILED");
    done(w, b, NULL);
    crash(w);
    jobs_world_pass(w, AO_S(10));
    done(w, a, "\x01");
    has_state(w, "cart/1", "\x01", 1);
    stage_balances(w);
}

KEPT_TEST(one_that_is_cancelled_while_its_turn_is_written_comes_no_more)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(1), AO_S(10));
    jobs_world_pass(w, AO_S(1));
    answer(w, a, "\x01");
    assert_int_equal(world_reason(w, a), JOB_WHY_COMMIT);
    assert_true(world_cancel(w, world_job(w, a)));
    commit(w);
    commit(w);
    has_state(w, "cart/1", "\x01", 1);
    assert_null(named(w, "tea"));
    jobs_world_pass(w, AO_S(60));
    assert_true(is_gone(w, a));
    stage_balances(w);
}

KEPT_TEST(a_full_disk_holds_it_and_its_turn_is_not_run_again)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(1), AO_S(10));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_S(20));
    assert_false(is_out(w, a));
    has_state(w, "cart/1", NULL, 0);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    has_state(w, "cart/1", "\x01", 1);
    stage_balances(w);
}

/* --- Of turns --- */

KEPT_TEST(what_a_turn_puts_comes_with_its_write)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = tell(w);
    reminds(w, a, "tea", AO_S(60), 0);
    done(w, a, "\x01");
    uint64_t b = named(w, "tea")->id;
    crash(w);
    assert_int_equal(named(w, "tea")->id, b);
    jobs_world_pass(w, AO_S(60));
    assert_true(is_out(w, b));
}

KEPT_TEST(a_turn_replaces_and_forgets_in_its_write)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(60), 0), milk = put(w, "milk", AO_S(60), AO_S(5));
    uint64_t a = tell(w);
    reminds(w, a, "tea", AO_S(90), 0);
    forgets(w, a, "milk");
    forgets(w, a, "none");
    answer(w, a, NULL);
    assert_int_equal(named(w, "milk")->id, milk); /* until it is on disk */
    commit(w);
    crash(w);
    assert_null(named(w, "milk"));
    assert_true(named(w, "tea")->id != tea);
    jobs_world_pass(w, AO_S(80));
    assert_true(is_gone(w, tea) && is_gone(w, milk));
    assert_false(is_out(w, named(w, "tea")->id));
    stage_balances(w);
}

KEPT_TEST(what_a_failed_write_forgot_is_there_again)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(2), 0), a = tell(w);
    forgets(w, a, "tea");
    reminds(w, a, "milk", AO_S(60), 0);
    w->store->refuses_groups = true;
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_S(3)); /* it was due meanwhile, or before */
    w->store->refuses_groups = false;
    assert_int_equal(world_state(w, a), JOB_FAILED);
    assert_null(named(w, "milk"));
    assert_true(is_out(w, tea));
    done(w, tea, "\x02");
    has_state(w, "cart/1", "\x02", 1);
    stage_balances(w);
}

KEPT_TEST(a_crash_before_the_write_leaves_them)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(60), 0), a = tell(w);
    forgets(w, a, "tea");
    answer(w, a, "\x01");
    crash(w);
    assert_int_equal(named(w, "tea")->id, tea);
    forgets(w, a, "tea"); /* it runs again */
    done(w, a, "\x01");
    assert_null(named(w, "tea"));
}

static void change_delay(struct jobs_world *w, uint64_t id, ao_time delay)
{
    struct operation *op = world_operation(w, &operation_task_change);
    op->change = (struct change_arguments){
        .id = id, .change = {.priority = CHANGE_NO_PRIORITY, .timed = true, .delay = delay}};
    world_give(w, op);
}

/* Its own row could not be written, and is written at the stop, behind what forgets it. */
KEPT_TEST(what_is_forgotten_stays_so_over_a_stop)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = tell(w), tea = put(w, "tea", AO_S(60), 0);
    w->store->error = STORE_FULL;
    change_delay(w, tea, AO_S(50));
    commit(w);
    forgets(w, a, "tea");
    answer(w, a, "\x01");
    commit(w);
    w->store->error = STORE_OK;
    jobs_world_restart(w);
    offer_some(w, DURABLE_FSYNC);
    assert_null(named(w, "tea"));
    jobs_world_pass(w, AO_S(60));
    assert_false(is_out(w, tea));
    stage_balances(w);
}

/* Its first row could not be written, either. */
KEPT_TEST(what_is_forgotten_before_its_first_row_stays_so_over_a_stop)
{
    offer_some(w, DURABLE_ASYNC);
    uint64_t a = tell(w);
    w->store->error = STORE_FULL;
    uint64_t tea = put(w, "tea", AO_S(60), 0);
    forgets(w, a, "tea");
    answer(w, a, "\x01");
    commit(w);
    w->store->error = STORE_OK;
    jobs_world_restart(w);
    offer_some(w, DURABLE_ASYNC);
    assert_null(named(w, "tea"));
    jobs_world_pass(w, AO_S(60));
    assert_false(is_out(w, tea));
    stage_balances(w);
}

/* While the store fails, one row is tried each second: none of those that are held back. */
KEPT_TEST(what_is_forgotten_does_not_put_off_the_next_try)
{
    static const char *const names[] = {"tea", "milk", "rice", "beans", "bread"};
    uint64_t ids[5];
    offer_some(w, DURABLE_FSYNC);
    for (int n = 0; n < 5; n++)
        ids[n] = put(w, names[n], AO_S(60), 0);
    uint64_t a = tell(w);
    w->store->error = STORE_FULL;
    for (int n = 0; n < 5; n++) {
        change_delay(w, ids[n], AO_S(50));
        forgets(w, a, names[n]);
    }
    commit(w);
    answer(w, a, "\x01");
    commit(w);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_MS(2100));
    has_state(w, "cart/1", "\x01", 1);
    for (int n = 0; n < 5; n++)
        assert_null(named(w, names[n]));
    stage_balances(w);
}

KEPT_TEST(what_is_cancelled_while_it_is_forgotten_ends)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(60), 0), a = tell(w);
    forgets(w, a, "tea");
    answer(w, a, "\x01");
    world_cancel(w, world_job(w, tea));
    commit(w);
    jobs_world_pass(w, AO_S(1));
    assert_true(is_gone(w, tea) || world_state(w, tea) == JOB_CANCELLED);
    assert_null(named(w, "tea"));
    stage_balances(w);
}

KEPT_TEST(a_reminder_puts_and_forgets_itself)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(1), AO_S(10));
    jobs_world_pass(w, AO_S(1));
    reminds(w, a, "tea", AO_S(3), AO_S(3));
    done(w, a, "\x01");
    uint64_t b = named(w, "tea")->id;
    assert_true(b != a);
    jobs_world_pass(w, AO_S(3));
    assert_true(is_gone(w, a) && is_out(w, b));
    forgets(w, b, "tea");
    done(w, b, "\x02");
    assert_null(named(w, "tea"));
    jobs_world_pass(w, AO_S(1));
    assert_true(is_gone(w, b));
    stage_balances(w);
}

ACTOR_TEST(turns_of_actors_in_memory_put_and_forget)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    uint64_t tea = put(w, "tea", AO_S(60), 0), a = post(w, &TELL("cart/1", "cart.add"));
    forgets(w, a, "tea");
    reminds(w, a, "milk", AO_S(2), AO_S(2));
    answer(w, a, NULL);
    assert_true(is_gone(w, tea));
    uint64_t milk = named(w, "milk")->id;
    jobs_world_pass(w, AO_S(2));
    answer(w, milk, "\x01");
    jobs_world_pass(w, AO_S(2));
    forgets(w, milk, "milk");
    answer(w, milk, "\x02");
    assert_null(named(w, "milk"));
    has_state(w, "cart/1", "\x02", 2);
}

ACTOR_TEST(a_turn_that_is_refused_leaves_them_as_they_were)
{
    offer_some(w, ACTOR_DURABLE_NONE);
    uint64_t tea = put(w, "tea", AO_S(60), 0), a = post(w, &TELL("cart/1", "cart.add"));
    struct turn_message_parts parts = {
        .reminder = span_text("milk"), .method = span_text("gone"), .in = AO_S(1)};
    forgets(w, a, "tea");
    assert_null(turn_remind(turn_of(w, a), &parts));
    answer(w, a, "\x01");
    assert_int_equal(named(w, "tea")->id, tea);
    assert_null(named(w, "milk"));
    has_state(w, "cart/1", NULL, 0);
    jobs_world_pass(w, AO_S(60));
    assert_true(is_out(w, tea));
}

KEPT_TEST(a_turn_that_drops_its_actor_forgets_them)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(60), 0), a = tell(w);
    assert_null(turn_drop_state(turn_of(w, a)));
    reminds(w, a, "milk", AO_S(60), 0);
    done(w, a, NULL);
    commit(w);
    assert_true(is_gone(w, tea));
    assert_non_null(named(w, "milk"));
    stage_balances(w);
}

KEPT_TEST(a_drop_forgets_them)
{
    offer_some(w, DURABLE_FSYNC);
    put(w, "tea", AO_S(60), 0);
    put(w, "milk", AO_S(1), AO_S(1));
    jobs_world_pass(w, AO_S(1));
    struct operation *op = world_operation(w, &operation_actor_drop);
    op->actor.name = span_text("cart/1");
    world_give(w, op);
    commit(w);
    commit(w);
    assert_true(world_answered(w, op));
    jobs_world_pass(w, AO_S(5));
    assert_null(actor_of(w, "cart/1"));
    stage_balances(w);
}

static struct operation *drop(struct jobs_world *w)
{
    struct operation *op = world_operation(w, &operation_actor_drop);
    op->actor.name = span_text("cart/1");
    world_give(w, op);
    return op;
}

static void is_dropped(struct jobs_world *w, const struct operation *op)
{
    commit(w);
    commit(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
}

/* Its end is not written beside the row that forgets it, but behind it. */
KEPT_TEST(a_turn_that_returns_while_its_actor_is_dropped_ends)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t tea = put(w, "tea", AO_S(1), 0);
    jobs_world_pass(w, AO_S(1));
    struct operation *op = drop(w);
    answer(w, tea, "\x01");
    is_dropped(w, op);
    assert_true(is_gone(w, tea) || world_state(w, tea) == JOB_CANCELLED);
    uint64_t a = tell(w);
    assert_true(is_out(w, a));
    done(w, a, "\x02");
    has_state(w, "cart/1", "\x02", 1);
    stage_balances(w);
}

KEPT_TEST(who_cancels_one_while_its_actor_is_dropped_is_answered)
{
    offer_some(w, DURABLE_FSYNC);
    done(w, tell(w), "\x01");
    uint64_t tea = put(w, "tea", AO_S(60), 0);
    struct operation *op = drop(w);
    struct operation *cancel = world_about(w, &operation_task_cancel, tea);
    world_give(w, cancel);
    is_dropped(w, op);
    assert_true(world_answered(w, cancel));
    assert_true(is_gone(w, tea) || world_state(w, tea) == JOB_CANCELLED);
    stage_balances(w);
}

KEPT_TEST(one_that_is_forgotten_while_its_actor_is_dropped_ends)
{
    offer_some(w, DURABLE_FSYNC);
    done(w, tell(w), "\x01");
    uint64_t tea = put(w, "tea", AO_S(60), 0);
    struct operation *op = drop(w);
    assert_true(forget(w, "tea"));
    is_dropped(w, op);
    assert_true(is_gone(w, tea) || world_state(w, tea) == JOB_CANCELLED);
    jobs_world_pass(w, AO_S(5));
    assert_null(actor_of(w, "cart/1"));
    stage_balances(w);
}

/* The server is killed as soon as the actor's row is gone. */
KEPT_TEST(a_drop_that_is_cut_off_leaves_none_without_its_actor)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = tell(w);
    done(w, a, "\x01");
    put(w, "tea", AO_S(60), 0);
    put(w, "milk", AO_S(60), AO_S(60));
    drop(w);
    for (int steps = 0; steps < 1000 && actor_of(w, "cart/1") && actor_of(w, "cart/1")->version;
         steps++)
        jobs_world_pass(w, AO_MS(1) / 100);
    jobs_world_crash(w);
    offer_some(w, DURABLE_FSYNC);
    assert_null(named(w, "tea"));
    assert_null(named(w, "milk"));
    commit(w);
    jobs_world_pass(w, AO_S(100));
    assert_null(actor_of(w, "cart/1"));
    stage_balances(w);
}

KEPT_TEST(a_drop_that_cannot_be_written_leaves_them)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = tell(w);
    done(w, a, "\x01");
    uint64_t tea = put(w, "tea", AO_S(5), 0);
    w->store->error = STORE_FULL;
    struct operation *op = drop(w);
    commit(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    assert_non_null(named(w, "tea"));
    assert_false(job_message(named(w, "tea"))->withdrawn);
    jobs_world_pass(w, AO_S(6));
    done(w, tea, "\x02");
    has_state(w, "cart/1", "\x02", 2);
}

KEPT_TEST(one_of_a_stopped_actor_waits)
{
    offer_some(w, DURABLE_FSYNC);
    uint64_t a = put(w, "tea", AO_S(5), AO_S(5));
    struct operation *op = world_operation(w, &operation_actor_stop);
    op->actor.name = span_text("cart/1");
    world_give(w, op);
    commit(w);
    assert_true(world_answered(w, op));
    jobs_world_pass(w, AO_S(60));
    is_waiting(w, a, JOB_WHY_STOPPED);
    actor_start(actor_of(w, "cart/1"));
    jobs_world_settle(w);
    done(w, a, "\x01");
    assert_int_equal(world_state(w, a), JOB_DELAYED);
}

/* --- As its type says --- */

static void is_tried(struct jobs_world *w, uint64_t id, ao_time timeout, uint32_t retries)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    assert_int_equal(r->run.timeout, timeout);
    assert_int_equal(world_job(w, id)->retries, retries);
}

/* The type is offered with another policy while they wait. */
static void follow(struct jobs_world *w, bool crashes)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    struct actor_policy policy = usual;
    policy.durable = DURABLE_FSYNC;
    policy.timeout = AO_S(7);
    policy.retries = 4;
    offer_some(w, DURABLE_FSYNC);
    uint64_t as_type = put(w, "tea", AO_S(5), 0);
    uint64_t own = jobs_world_submit(w, &TELL("cart/2", "cart.add", .retries = 2, .delay = AO_S(5),
                                              .said = 1u << JOB_OPTION_retries));
    uint64_t call =
        jobs_world_submit(w, &TELL("cart/3", "cart.add", .delay = AO_S(5), .answers = true));
    uint64_t moved = jobs_world_submit(w, &TELL("cart/4", "cart.add", .delay = AO_S(5)));
    commit(w);
    job_change(&w->jobs->sched, world_job(w, moved), &(struct job_change){.priority = 6});
    effects_apply(w->jobs);
    commit(w);
    if (crashes)
        crash(w);
    offer(w, "cart", &policy, methods);
    jobs_world_pass(w, AO_S(6));
    is_tried(w, as_type, AO_S(7), 4);
    is_tried(w, own, AO_S(30), 2);
    is_tried(w, call, AO_S(30), 0);
    is_tried(w, moved, AO_S(30), 1);
}

KEPT_TEST(one_without_options_follows_its_type)
{
    follow(w, false);
}

KEPT_TEST(one_that_is_read_back_follows_its_type)
{
    follow(w, true);
}
