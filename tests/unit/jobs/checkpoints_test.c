/* Checkpoints: the next attempt gets the last one, after failures, losses and crashes,
 * until the task is done. */
#include <string.h>

#include "server/jobs/verbs/view.h"
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static void keeps(struct jobs_world *w, uint64_t id, const char *value)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    w->source.noted(w->source.arg, &(struct attempt_note){.owner = r->run.owner,
                                                          .attempt = r->run.attempt,
                                                          .kind = NOTE_CHECKPOINT,
                                                          .data = span_text(value)});
    jobs_world_settle(w);
}

/* NULL: nothing. */
static void begins_with(struct jobs_world *w, uint64_t id, uint32_t attempt, const char *value)
{
    const struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    assert_int_equal(r->run.attempt, attempt);
    if (!value)
        assert_null(r->run.turn);
    else
        assert_true(r->run.turn && span_is(r->run.turn->state, value));
}

static uint64_t begin(struct jobs_world *w, uint8_t durable)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = durable, .retries = 5));
    jobs_world_pass(w, AO_MS(10));
    begins_with(w, id, 1, NULL);
    return id;
}

JOBS_TEST(the_next_attempt_gets_the_last_one)
{
    uint64_t id = begin(w, DURABLE_NONE);
    keeps(w, id, "\x01");
    keeps(w, id, "\x02");
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(5));
    begins_with(w, id, 2, "\x02");
    world_lose(world_run_of(w, id), LOSS_IN_COMPANY, "gone");
    jobs_world_pass(w, AO_S(5));
    begins_with(w, id, 3, "\x02");
    keeps(w, id, "\xc0");
    world_fail(world_run_of(w, id), "ODD", "nor today");
    jobs_world_pass(w, AO_S(9));
    begins_with(w, id, 4, NULL);
}

JOBS_TEST(an_attempt_that_is_late_keeps_none)
{
    uint64_t id = jobs_world_submit(w, &WORK(.timeout = AO_S(1), .retries = 5));
    w->stubborn = true;
    w->room[1] = 2;
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, id);
    keeps(w, id, "\x01");
    jobs_world_pass(w, AO_S(5));
    w->source.noted(w->source.arg, &(struct attempt_note){.owner = late->run.owner,
                                                          .attempt = late->run.attempt,
                                                          .kind = NOTE_CHECKPOINT,
                                                          .data = span_text("\x07")});
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(5));
    assert_true(span_is(world_run_of(w, id)->run.turn->state, "\x01"));
    world_finish(late, "\xc0");
}

STORED_TEST(a_crash_leaves_what_is_on_disk)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    keeps(w, id, "\x01");
    jobs_world_pass(w, AO_MS(10));
    keeps(w, id, "\x02");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    begins_with(w, id, 2, "\x01");
    keeps(w, id, "\x03");
    jobs_world_pass(w, AO_MS(10));
    jobs_world_restart(w);
    jobs_world_pass(w, AO_S(1));
    begins_with(w, id, 3, "\x03");
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_true(span_is(blob_bytes(world_job(w, id)->end->result), "\x2a"));
    stage_balances(w);
}

STORED_TEST(a_task_that_failed_goes_on_from_it_by_hand)
{
    char text[2048];
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    keeps(w, id, "\xa3six");
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    struct operation *op = world_about(w, &operation_task_get, id);
    op->job.parts = VIEW_RESULT;
    world_give(w, op);
    stage_says(op, "'checkpoint_size': 4, 'checkpoint': 'six'");
    stage_says(op, "'result': nil");
    op = world_about(w, &operation_task_get, id);
    world_give(w, op);
    stage_says(op, "'checkpoint_size': 4");
    assert_null(strstr(notation_show(operation_result(op), text, sizeof text), "'checkpoint': "));
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_S(1));
    begins_with(w, id, 2, "\xa3six");
    stage_balances(w);
}

STORED_TEST(it_is_no_result_of_a_task_whose_own_was_cut)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .keep_size = 1));
    jobs_world_pass(w, AO_MS(10));
    keeps(w, id, "\x01");
    jobs_world_pass(w, AO_MS(10));
    keeps(w, id, "\x02");
    world_finish(world_run_of(w, id), "\xa3"
                                      "abc");
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_true(world_job(w, id)->end->cut && !world_job(w, id)->end->result);
}

/* It was in memory when the checkpoint was made. */
STORED_TEST(a_task_that_becomes_durable_takes_it_along)
{
    struct job_spec spec = WORK(.key = span_text("k"), .retries = 5);
    struct submitted done;
    char text[JOB_TEXT_MAX];
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    keeps(w, id, "\x01");
    spec.durable = DURABLE_FSYNC;
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_OK);
    jobs_world_pass(w, AO_MS(20));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_true(span_is(world_run_of(w, id)->run.turn->state, "\x01"));
}

STORED_TEST(a_store_that_fails_gets_it_later)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->store->error = STORE_FULL;
    keeps(w, id, "\x01");
    jobs_world_pass(w, AO_S(2));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    begins_with(w, id, 2, "\x01");
}

STORED_TEST(any_allocation_may_fail)
{
    bool met = true;
    w->quiet = true;
    for (int64_t n = 1; met; n++) {
        uint64_t id = begin(w, DURABLE_FSYNC);
        keeps(w, id, "\x01");
        heap_fail_at(n);
        keeps(w, id, "\x02");
        world_fail(world_run_of(w, id), "ODD", "not today");
        jobs_world_pass(w, AO_S(2));
        met = heap_failed();
        heap_fail_at(0);
        jobs_world_pass(w, AO_S(2));
        const struct attempt_turn *turn = world_run_of(w, id)->run.turn;
        assert_true(span_is(turn->state, "\x02") || (met && span_is(turn->state, "\x01")));
        world_finish(world_run_of(w, id), "\xc0");
        jobs_world_pass(w, AO_S(1));
    }
    stage_balances(w);
}
