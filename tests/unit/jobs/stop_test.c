/* The server stops: who waits is answered, and what was interrupted goes on with the next start. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static void stop(struct jobs_world *w, bool cancel)
{
    w->source.stop(w->source.arg, cancel);
    jobs_world_settle(w);
}

static struct operation *poll(struct jobs_world *w, const struct operation_class *cls, uint64_t *id)
{
    struct operation *op = world_operation(w, cls);
    if (cls == &operation_task_wait)
        op->wait = (struct wait_arguments){.ids = id, .count = 1, .timeout = AO_S(60)};
    else
        op->watch =
            (struct watch_arguments){.id = *id, .from = UINT32_MAX, .max = 10, .timeout = AO_S(60)};
    world_give(w, op);
    return op;
}

#define STOP_TEST(name)    JOBS_TEST(name, .quiet = true, .room = 4)
#define DURABLE_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true, .latency = AO_MS(100))

STOP_TEST(long_polls_are_answered_as_things_stand)
{
    uint64_t id = stage_submit(w);
    const struct operation *waits = poll(w, &operation_task_wait, &id),
                           *watches = poll(w, &operation_task_watch, &id);
    assert_int_equal(w->answered, 0);
    stop(w, false);
    assert_true(world_answered(w, waits));
    assert_true(world_answered(w, watches));
    assert_int_equal(waits->reply.error, ERGON_OK);
    assert_int_equal(watches->reply.error, ERGON_OK);
    const struct operation *late = poll(w, &operation_task_wait, &id);
    jobs_world_settle(w);
    assert_true(world_answered(w, late));
}

STOP_TEST(a_call_is_waited_for_until_all_is_cancelled)
{
    struct operation *op = stage_call(w, &WORK());
    jobs_world_settle(w);
    stop(w, false);
    assert_false(world_answered(w, op));
    w->stubborn = true;
    stop(w, true);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE); /* its handler has begun */
    op->submission.specs = NULL;
}

STOP_TEST(a_call_that_nothing_was_done_for_may_be_repeated)
{
    struct operation *op = stage_call(w, &WORK(.delay = AO_S(10)));
    jobs_world_settle(w);
    stop(w, true);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_DRAINING);
    op->submission.specs = NULL;
}

/* Its row is found by the next server, so a client that repeats the call would have it done twice.
 */
STORED_TEST(a_call_that_goes_on_under_the_next_server_is_unsure)
{
    struct operation *op = stage_call(w, &WORK(.delay = AO_S(10), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(5));
    stop(w, true);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
    op->submission.specs = NULL;
}

static void end_well(struct jobs_world *w, uint64_t id, bool told)
{
    struct outcome outcome = {.result = span_text("\xc0")};
    struct attempt_end r = {.cancel_seen = told, .outcome = &outcome};
    world_return(world_run_of(w, id), &r);
    jobs_world_settle(w);
}

/* The handler's own requests were refused, since the server stops. */
STOP_TEST(a_handler_that_fails_by_the_stop_is_run_again)
{
    static const char *const codes[] = {"DRAINING", "CANCELLED", "UNSURE", "BROKEN"};
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = stage_submit(w);
    stop(w, false);
    for (int i = 0; i < 4; i++)
        world_fail(world_run_of(w, ids[i]), codes[i], "it does not work");
    jobs_world_settle(w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(world_state(w, ids[i]), JOB_QUEUED);
    assert_int_equal(world_state(w, ids[3]), JOB_FAILED);
}

STOP_TEST(who_was_told_to_stop_is_run_again)
{
    uint64_t told = stage_submit(w), untold = stage_submit(w);
    w->stubborn = true;
    stop(w, false);
    stop(w, true);
    end_well(w, told, true);
    end_well(w, untold, false);
    assert_int_equal(world_state(w, told), JOB_QUEUED);
    assert_int_equal(world_reason(w, told), JOB_WHY_STOPPING);
    assert_int_equal(world_job(w, told)->failures, 0);
    assert_int_equal(world_state(w, untold), JOB_DONE);
}

/* --- What a start in good order finds --- */

static uint64_t submit_durable(struct jobs_world *w, ao_time wait)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, wait);
    return id;
}

static void expect_no_crash(struct jobs_world *w, uint64_t id)
{
    assert_int_equal(world_job(w, id)->crashes, 0);
    assert_int_equal(world_job(w, id)->failures, 0);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

/* It stands in the queue of an executor. */
DURABLE_TEST(who_has_not_begun_has_no_attempt)
{
    w->holds = true;
    uint64_t id = submit_durable(w, AO_MS(150));
    assert_non_null(world_run_of(w, id));
    jobs_world_restart(w);
    assert_int_equal(world_job(w, id)->attempt, 0);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 1);
}

DURABLE_TEST(who_does_not_return_in_time_is_no_crash)
{
    uint64_t id = submit_durable(w, AO_S(1));
    w->stubborn = true;
    jobs_world_restart(w);
    expect_no_crash(w, id);
}

DURABLE_TEST(who_was_cancelled_and_does_not_return_stays_cancelled)
{
    uint64_t id = submit_durable(w, AO_S(1));
    w->stubborn = true;
    assert_true(world_cancel(w, world_job(w, id)));
    jobs_world_restart(w);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}
