/* task.cancel of tasks that outlive the process. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

static struct operation *cancel(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_about(w, &operation_task_cancel, id);
    world_give(w, op);
    return op;
}

/* Told to stop it does not, and the server dies. */
STORED_TEST(a_cancelled_one_does_not_run_again_after_a_crash)
{
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    struct operation *op = cancel(w, id);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    stage_says(op, "'state': 'running', 'cancelled': true");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    assert_int_equal(world_job(w, id)->attempt, 1);
    assert_int_equal(memory_store_row(w->store, id)->task.cancel_asked, 0);
    stage_balances(w);
}

/* Told to stop it does not, and its timeout passes: that is no failure, and there is no next try.
 */
STORED_TEST(a_timeout_after_a_cancel_ends_it_as_cancelled)
{
    for (uint32_t retries = 0; retries < 2; retries++) {
        struct job_spec spec =
            WORK(.durable = DURABLE_FSYNC, .timeout = AO_S(5), .retries = retries);
        w->stubborn = true;
        uint64_t id = jobs_world_submit(w, &spec);
        jobs_world_pass(w, AO_S(1));
        struct operation *op = cancel(w, id);
        jobs_world_pass(w, AO_S(1));
        stage_says(op, "'state': 'running', 'cancelled': true");
        jobs_world_pass(w, AO_S(4));
        assert_int_equal(world_state(w, id), JOB_CANCELLED);
        assert_int_equal(world_job(w, id)->failures, 0);
        assert_int_equal(memory_store_row(w->store, id)->task.state, JOB_CANCELLED);
        world_finish(world_run_of(w, id), "\x01");
        assert_int_equal(world_state(w, id), JOB_CANCELLED);
    }
    stage_balances(w);
}

STORED_TEST(one_that_waits_is_told_cancelled_when_that_is_on_disk)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    struct operation *first = cancel(w, id), *second = cancel(w, id);
    assert_false(world_answered(w, first));
    jobs_world_pass(w, AO_MS(1));
    stage_says(first, "'state': 'cancelled', 'cancelled': true");
    stage_says(second, "'state': 'cancelled', 'cancelled': true");
    stage_says(cancel(w, id), "'state': 'cancelled', 'cancelled': false");
}

STORED_TEST(a_cancel_that_cannot_be_written_says_so)
{
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *op = cancel(w, id);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_true(world_run_of(w, id)->flagged);
    assert_int_equal(cancel(w, id)->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    stage_balances(w);
}

/* It is done, but not on disk: who hears now that it was too late must not see it run again. */
STORED_TEST(one_that_ends_is_told_so_when_its_end_is_on_disk)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, id), "\xc0");
    struct operation *lost = cancel(w, id);
    assert_false(world_answered(w, lost));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_job(w, id)->attempt, 2);
    world_finish(world_run_of(w, id), "\xc0");
    struct operation *op = cancel(w, id);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'state': 'done', 'cancelled': false");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(world_job(w, id)->attempt, 2);
    stage_balances(w);
}

STORED_TEST(a_cancel_that_may_be_written_is_unsure)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_MS(10));
    w->store->error = STORE_UNSURE;
    struct operation *op = cancel(w, id);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

/* cancel and forget say the same of it. */
STORED_TEST(a_cancel_that_cannot_be_written_yet_is_no_open_task_to_forget)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_MS(10));
    w->store->error = STORE_FULL;
    struct operation *op = cancel(w, id);
    jobs_world_pass(w, AO_MS(1));
    assert_non_null(strstr(op->reply.text, "is cancelled, but that could not be written"));
    op = world_about(w, &operation_task_forget, id);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
    assert_non_null(strstr(op->reply.text, "ends as cancelled, and that is still being written"));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    op = world_about(w, &operation_task_forget, id);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_OK);
    stage_balances(w);
}

STORED_TEST(an_end_that_cannot_be_written_is_told_to_who_wanted_to_cancel)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    w->store->error = STORE_FULL;
    world_finish(world_run_of(w, id), "\xc0");
    struct operation *op = cancel(w, id);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_non_null(strstr(op->reply.text, "has ended, but that could not be written"));
    assert_int_equal(cancel(w, id)->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    stage_says(cancel(w, id), "'state': 'done', 'cancelled': false");
    stage_balances(w);
}

/* Who comes after the start wants a run of its own. */
STORED_TEST(nobody_joins_one_that_was_cancelled_before_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .coalesce = span_text("warm"));
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    cancel(w, id);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
}

/* The write that is to hold it is made when the one before has come back. */
STORED_TEST(without_memory_nobody_is_told_cancelled_too_early)
{
    static char text[200];
    bool met = true;
    memset(text, 'x', sizeof text - 1);
    w->quiet = true;
    for (int64_t n = 1; met; n++) {
        struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .retries = 1, .backoff = AO_S(100));
        uint64_t id = jobs_world_submit(w, &spec);
        jobs_world_pass(w, AO_MS(10));
        world_fail(world_run_of(w, id), "ODD", text);
        struct operation *op = cancel(w, id);
        heap_fail_at(n);
        jobs_world_pass(w, AO_MS(1));
        met = heap_failed();
        heap_fail_at(0);
        if (world_answered(w, op) && op->reply.error == ERGON_OK)
            assert_int_equal(memory_store_row(w->store, id)->task.state, JOB_CANCELLED);
        jobs_world_pass(w, AO_S(3));
        assert_true(world_answered(w, op));
        assert_int_equal(world_state(w, id), JOB_CANCELLED);
    }
    stage_balances(w);
}
