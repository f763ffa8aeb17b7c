/* The lives of tasks that are kept in memory. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

JOBS_TEST(runs_and_is_done)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    world_finish(world_run_of(w, id), "\x2a");
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(world_job(w, id)->end->result->len, 1);
    assert_int_equal(world_job(w, id)->attempt, 1);
}

JOBS_TEST(a_failure_is_tried_again)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 1, .backoff_jitter = 0));
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    assert_int_equal(world_reason(w, id), JOB_WHY_RETRY);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(world_job(w, id)->attempt, 2);
    world_fail(world_run_of(w, id), "ODD", "not tomorrow");
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_string_equal(world_job(w, id)->end->text, "not tomorrow");
}

JOBS_TEST(without_memory_no_error_of_an_earlier_attempt_is_told)
{
    bool met = true;
    for (int64_t n = 1; met; n++) {
        uint64_t id = jobs_world_submit(w, &WORK(.retries = 1, .backoff_jitter = 0));
        jobs_world_settle(w);
        world_fail(world_run_of(w, id), "ODD", "not today");
        jobs_world_pass(w, AO_S(1));
        heap_fail_at(n);
        world_fail(world_run_of(w, id), "ODD", "not tomorrow");
        met = heap_failed();
        heap_fail_at(0);
        const char *text = world_job(w, id)->end->text;
        assert_int_equal(world_state(w, id), JOB_DEAD);
        assert_true(!text || strcmp(text, "not tomorrow") == 0);
    }
}

JOBS_TEST(without_retries_a_failure_is_final)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    assert_int_equal(world_state(w, id), JOB_FAILED);
}

JOBS_TEST(a_permanent_failure_is_not_tried_again)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 5));
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "PERMANENT", "never");
    assert_int_equal(world_state(w, id), JOB_FAILED);
}

JOBS_TEST(a_queued_one_is_cancelled_at_once)
{
    struct job_spec spec = WORK();
    jobs_world_submit(w, &spec);
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_QUEUED);
    assert_true(world_cancel(w, world_job(w, id)));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

JOBS_TEST(a_running_one_is_cancelled_when_it_has_returned)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    assert_true(world_cancel(w, world_job(w, id)));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

JOBS_TEST(a_timeout_fences_the_attempt)
{
    w->stubborn = true;
    uint64_t id =
        jobs_world_submit(w, &WORK(.timeout = AO_S(1), .retries = 1, .backoff_jitter = 0));
    jobs_world_settle(w);
    struct world_run *first = world_run_of(w, id);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    assert_int_equal(world_job(w, id)->orphans, 1);
    world_finish(first, "\x01");
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    assert_int_equal(info.fenced, 1);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_job(w, id)->attempt, 2);
    world_finish(world_run_of(w, id), "\x02");
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(world_job(w, id)->end->result->at[0], 2);
}

JOBS_TEST(it_is_forgotten_after_its_time)
{
    uint64_t id = jobs_world_submit(w, &WORK(.keep = AO_S(5)));
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_S(4));
    assert_non_null(world_job(w, id));
    jobs_world_pass(w, AO_S(1));
    assert_null(world_job(w, id));
    assert_int_equal(w->jobs->table.bytes, 0);
}

JOBS_TEST(call_is_answered_with_the_result)
{
    struct operation *op = stage_call(w, &WORK());
    assert_false(world_answered(w, op));
    world_finish(w->runs, "\x2a");
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    assert_int_equal(operation_result(op).len, 1);
}

/* A large result is handed over, and who brought it has none to free. */
JOBS_TEST(the_block_of_a_result_is_taken_over)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    uint8_t *block = malloc(1000);
    assert_non_null(block);
    memset(block, 7, 1000);
    struct outcome outcome = {.error = ERGON_OK, .block = block, .result = span_of(block, 1000)};
    struct attempt_end end = {.outcome = &outcome};
    world_return(w->runs, &end);
    assert_null(outcome.block);
    jobs_world_settle(w);
    assert_ptr_equal(world_job(w, id)->end->result->at, block);
}
