/* What follows when messages of an actor are given up. */
#include "proto/reader.h"
#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/effects.h"
#include "tests/support/jobs_actors.h"

/* "cart" of this policy, without retries; and "ops", the supervisor's type. */
static void offer_with(struct jobs_world *w, struct actor_policy policy)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    static const char *const steps[] = {"tick.add", "tick.step", NULL};
    static const char *const failed[] = {"ops.failed", NULL};
    policy.schema = 1;
    policy.retries = 0;
    offer(w, "cart", &policy, methods);
    offer(w, "tick", &policy, steps);
    offer(w, "ops", &usual, failed);
}

#define POLICY(...) ((struct actor_policy){ACTOR_POLICY_DEFAULTS, __VA_ARGS__})

static uint64_t tell(struct jobs_world *w)
{
    return post(w, &TELL("cart/1", "cart.add"));
}

static void fails(struct jobs_world *w, const char *code)
{
    fail_it(w, tell(w), code);
}

static bool is_stopped(struct jobs_world *w)
{
    return actor_stage(actor_of(w, "cart/1")) == ACTOR_STOPPED;
}

static const char *why(struct jobs_world *w)
{
    return actor_of(w, "cart/1")->more->stopped;
}

ACTOR_TEST(by_default_the_next_message_runs)
{
    offer_with(w, POLICY());
    answer(w, tell(w), "\x01");
    uint64_t a = tell(w), b = tell(w);
    fail_it(w, a, "FAILED");
    assert_true(is_out(w, b));
    has_state(w, "cart/1", "\x01", 1);
    assert_int_equal(failures_count(actor_of(w, "cart/1")), 1);
    answer(w, b, "\x02");
}

ACTOR_TEST(stop_stops_it_until_it_is_started)
{
    offer_with(w, POLICY(.on_failure = ACTOR_STOPS));
    uint64_t a = tell(w), b = tell(w);
    fail_it(w, a, "FAILED");
    assert_true(is_stopped(w));
    assert_string_equal(why(w), "add failed: FAILED: it does not work");
    is_waiting(w, b, JOB_WHY_STOPPED);
    actor_start(actor_of(w, "cart/1"));
    effects_apply(w->jobs);
    jobs_world_settle(w);
    assert_true(is_out(w, b));
    assert_int_equal(failures_count(actor_of(w, "cart/1")), 0);
    answer(w, b, "\x01");
}

ACTOR_TEST(reset_forgets_the_state_and_goes_on)
{
    offer_with(w, POLICY(.on_failure = ACTOR_RESETS));
    answer(w, tell(w), "\x01");
    uint64_t a = tell(w), b = tell(w);
    fail_it(w, a, "FAILED");
    has_state(w, "cart/1", NULL, 2);
    assert_int_equal(world_run_of(w, b)->run.turn->state.len, 0);
    answer(w, b, "\x02");
    has_state(w, "cart/1", "\x02", 3);
}

ACTOR_TEST(only_what_is_given_up_has_failed)
{
    struct actor_policy policy = POLICY(.on_failure = ACTOR_STOPS);
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    policy.retries = 1;
    offer(w, "cart", &policy, methods);
    uint64_t a = tell(w);
    fail_it(w, a, "FAILED");
    assert_false(is_stopped(w));
    jobs_world_pass(w, AO_S(1));
    fail_it(w, a, "FAILED");
    assert_true(is_stopped(w));
}

ACTOR_TEST(answers_cancels_and_reads_are_no_failures)
{
    offer_with(w, POLICY(.on_failure = ACTOR_STOPS));
    answer(w, tell(w), "\x01");
    fails(w, "BAD_PARAMS");
    fails(w, "PERMANENT_SHORT");
    fail_it(w, post(w, &TELL("cart/1", "cart.read")), "FAILED");
    uint64_t a = tell(w);
    world_cancel(w, world_job(w, a));
    jobs_world_settle(w);
    if (world_run_of(w, a))
        world_finish(world_run_of(w, a), "\xc0");
    jobs_world_settle(w);
    assert_false(is_stopped(w));
    assert_int_equal(failures_count(actor_of(w, "cart/1")), 0);
}

ACTOR_TEST(too_many_in_its_window_stop_it)
{
    offer_with(w, POLICY(.intensity = 3, .window = AO_S(60)));
    answer(w, tell(w), "\x01");
    fails(w, "FAILED");
    jobs_world_pass(w, AO_S(59));
    fails(w, "FAILED");
    jobs_world_pass(w, AO_S(2)); /* the first is out of the window */
    fails(w, "FAILED");
    assert_false(is_stopped(w));
    fails(w, "FAILED");
    assert_true(is_stopped(w));
    assert_string_equal(why(w), "3 messages failed within 60s; the last: FAILED: it does not work");
    assert_int_equal(failures_count(actor_of(w, "cart/1")), 4);
}

ACTOR_TEST(ten_a_minute_are_too_many_and_none_of_them_where_the_type_says_so)
{
    offer_with(w, POLICY());
    answer(w, tell(w), "\x01");
    for (int i = 0; i < 10; i++) {
        assert_false(is_stopped(w));
        fails(w, "FAILED");
    }
    assert_true(is_stopped(w));
    actor_drop(actor_of(w, "cart/1"));
    effects_apply(w->jobs);
    offer_with(w, POLICY(.intensity = 0));
    answer(w, tell(w), "\x01");
    for (int i = 0; i < 20; i++)
        fails(w, "FAILED");
    assert_false(is_stopped(w));
    assert_int_equal(failures_count(actor_of(w, "cart/1")), 20);
}

ACTOR_TEST(a_step_that_fails_for_good_stops_it)
{
    offer_with(w, POLICY(.on_failure = ACTOR_STOPS));
    answer(w, post(w, &TELL("tick/1", "tick.add")), NULL);
    struct actor *a = actor_of(w, "tick/1");
    assert_non_null(a->more->step);
    fail_it(w, a->more->step->id, "FAILED");
    assert_string_equal(a->more->stopped, "step failed: FAILED: it does not work");
    assert_false(a->more->wants_step);
    assert_null(a->more->step);
}

/* The parameters of what its supervisor gets. */
static void is_reported(struct jobs_world *w, const char *method, const char *error, bool stopped)
{
    struct actor *ops = actor_of(w, "ops/main");
    struct reader r;
    struct span text[3];
    uint32_t count;
    bool is;
    assert_non_null(ops);
    const struct job *job = ops->more->head;
    assert_non_null(job);
    assert_true(is_out(w, job->id));
    r = reader_of(job_params(job));
    assert_true(read_array(&r, &count) && count == 4);
    for (int i = 0; i < 3; i++)
        assert_true(read_text(&r, &text[i]));
    assert_true(read_bool(&r, &is));
    assert_true(span_is(text[0], "cart/1") && span_is(text[1], method));
    assert_true(span_is(text[2], error));
    assert_int_equal(is, stopped);
    answer(w, job->id, NULL);
}

ACTOR_TEST(its_supervisor_gets_a_message)
{
    offer_with(w, POLICY(.intensity = 2, .supervisor = "ops/main"));
    fails(w, "FAILED");
    is_reported(w, "add", "FAILED: it does not work", false);
    fails(w, "BROKEN");
    is_reported(w, "add", "BROKEN: it does not work", true);
    assert_true(is_stopped(w));
}

/* The message is written before the store stops, so the next server sends it. */
STORED_TEST(its_supervisor_gets_a_message_of_what_fails_as_the_server_stops)
{
    struct actor_policy policy = POLICY(.supervisor = "ops/main");
    offer_with(w, policy);
    static const char *const failed[] = {"ops.failed", NULL};
    policy.supervisor[0] = 0;
    offer(w, "ops", &policy, failed);
    uint64_t id = tell(w);
    jobs_world_pass(w, AO_MS(5));
    w->source.stop(w->source.arg, false);
    fail_it(w, id, "FAILED");
    jobs_world_restart(w);
    offer_with(w, POLICY(.supervisor = "ops/main"));
    offer(w, "ops", &policy, failed);
    jobs_world_pass(w, AO_MS(5));
    is_reported(w, "add", "FAILED: it does not work", false);
}

ACTOR_TEST(one_that_supervises_itself_gets_none)
{
    static const char *const methods[] = {"cart.add", "cart.failed", NULL};
    struct actor_policy policy = POLICY(.supervisor = "cart/1");
    policy.retries = 0;
    offer(w, "cart", &policy, methods);
    uint64_t count = w->jobs->table.next_id;
    fails(w, "FAILED");
    assert_int_equal(w->jobs->table.next_id, count + 1);
}

ACTOR_TEST(a_supervisor_that_there_is_none_of_holds_up_nothing)
{
    offer_with(w, POLICY(.supervisor = "gone/1"));
    fails(w, "FAILED");
    answer(w, tell(w), "\x01");
    has_state(w, "cart/1", "\x01", 1);
}

/* --- On disk --- */

static bool has_report(const struct jobs_world *w)
{
    const struct memory_rows *rows = &w->store->rows;
    for (uint32_t i = 0; i < rows->row_count; i++)
        if (rows->rows[i].there && span_is(rows->rows[i].task.method, "ops.failed"))
            return true;
    return false;
}

/* Each commit takes one operation, and the server may die behind each. */
JOBS_TEST(what_follows_is_on_disk_before_the_failure, .stored = true, .quiet = true)
{
    static const char *const methods[] = {"cart.add", NULL};
    static const char *const failed[] = {"ops.failed", NULL};
    struct actor_policy policy =
        POLICY(.on_failure = ACTOR_STOPS, .supervisor = "ops/1", .schema = 1);
    policy.retries = 0;
    offer(w, "ops", &policy, failed);
    offer(w, "cart", &policy, methods);
    uint64_t a = tell(w);
    jobs_world_pass(w, AO_MS(20));
    w->store->most = 1;
    world_fail(world_run_of(w, a), "FAILED", "it does not work");
    while (memory_store_row(w->store, a)->task.state != JOB_FAILED)
        jobs_world_pass(w, AO_US(100));
    const struct store_actor *row =
        memory_rows_actor(&w->store->rows, span_text(""), span_text("cart"), span_text("1"));
    assert_non_null(row);
    assert_true(span_is(row->stopped, "add failed: FAILED: it does not work"));
    assert_true(has_report(w));
    jobs_world_crash(w);
    offer(w, "ops", &policy, failed);
    offer(w, "cart", &policy, methods);
    jobs_world_pass(w, AO_MS(20));
    assert_int_equal(world_state(w, a), JOB_FAILED);
    a = tell(w);
    jobs_world_pass(w, AO_MS(20));
    is_waiting(w, a, JOB_WHY_STOPPED);
}
