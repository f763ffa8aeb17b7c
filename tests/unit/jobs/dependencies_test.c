/* Many tasks that wait for one: they are told in small steps, and each is told the right thing. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

enum { MANY = 3000 };

static uint64_t ids[MANY];

/* A task that runs, and many that wait for it. */
static uint64_t first_of_many(struct jobs_world *w, ao_time keep)
{
    struct job_spec spec = WORK();
    w->quiet = true;
    spec.keep = keep;
    uint64_t first = jobs_world_submit(w, &spec);
    for (unsigned i = 0; i < MANY; i++)
        ids[i] = stage_submit_after(w, &first, 1);
    jobs_world_settle(w);
    return first;
}

static unsigned count_dependents(struct jobs_world *w, uint64_t first)
{
    unsigned count = 0;
    const struct dependency *edge = world_job(w, first)->more->dependents;
    for (; edge; edge = edge->next_on)
        count++;
    return count;
}

static void expect_all(struct jobs_world *w, enum job_state state)
{
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(world_state(w, ids[i]), state);
}

JOBS_TEST(they_are_told_in_small_steps)
{
    uint64_t first = first_of_many(w, AO_S(100));
    world_finish(world_run_of(w, first), "\x2a");
    assert_true(count_dependents(w, first) > MANY / 2);
    w->lasts = 0;
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(count_dependents(w, first), 0);
    expect_all(w, JOB_DONE);
}

/* A submission that finds no memory may have made the task that it would wait for larger. */
JOBS_TEST(the_bytes_agree_after_a_submission_without_memory)
{
    bool met = true;
    uint64_t first = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    for (int64_t n = 1; met; n++) {
        static struct job_spec spec;
        spec = WORK(.after = &first, .after_count = 1);
        struct operation *op = world_operation(w, &operation_task_submit);
        op->submission.specs = &spec;
        op->submission.count = 1;
        heap_fail_at(n);
        world_give(w, op);
        met = heap_failed();
        heap_fail_at(0);
    }
    w->lasts = 0;
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, first), JOB_DONE);
    assert_int_equal(world_job(w, first)->tenant->open_bytes, 0);
}

/* Though it is to be forgotten at once. */
JOBS_TEST(none_is_left_behind_by_one_that_is_forgotten)
{
    uint64_t first = first_of_many(w, 0);
    w->lasts = 0;
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(5));
    assert_null(world_job(w, first));
    expect_all(w, JOB_DONE);
}

/* It failed for those that waited; who comes now waits for its next attempt. */
JOBS_TEST(one_that_is_tried_again_meanwhile_has_failed_for_them)
{
    uint64_t first = first_of_many(w, AO_S(100));
    world_fail(world_run_of(w, first), "ODD", "not today");
    assert_true(world_retry(w, world_job(w, first)));
    uint64_t later = stage_submit_after(w, &first, 1);
    jobs_world_pass(w, AO_S(1));
    expect_all(w, JOB_FAILED);
    assert_int_equal(world_reason(w, later), JOB_WHY_AFTER);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    assert_non_null(world_run_of(w, later));
}

JOBS_TEST(those_that_leave_meanwhile_are_not_missed)
{
    uint64_t first = first_of_many(w, AO_S(100)), second = stage_submit_after(w, &first, 1);
    world_finish(world_run_of(w, first), "\x2a");
    for (unsigned i = 0; i < MANY; i++)
        assert_true(world_cancel(w, world_job(w, ids[i])));
    jobs_world_settle(w);
    expect_all(w, JOB_CANCELLED);
    assert_non_null(world_run_of(w, second));
    jobs_world_pass(w, AO_S(200));
    assert_null(world_job(w, first));
}

/* What a job waits for is one block, in which each end costs the same however much else it waits
 * for: it takes as many bytes until the last has ended, and each is found by who waits for it. */
JOBS_TEST(what_one_waits_for_goes_at_once_with_the_last, .room = 10)
{
    enum { COUNT = 5 };
    uint64_t firsts[COUNT], waits;
    for (unsigned i = 0; i < COUNT; i++)
        firsts[i] = stage_submit(w);
    waits = stage_submit_after(w, firsts, COUNT);
    jobs_world_settle(w);
    const struct job *job = world_job(w, waits);
    const struct dependencies *after = job->more->after;
    size_t bytes = job_bytes(job);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(count_dependents(w, firsts[COUNT - 1 - i]), 1);
        assert_ptr_equal(job->more->after, after);
        assert_int_equal(after->open, COUNT - i);
        assert_int_equal(job_bytes(job), bytes);
        world_finish(world_run_of(w, firsts[COUNT - 1 - i]), "\x2a");
        jobs_world_settle(w);
    }
    assert_null(job->more->after);
    assert_true(job_bytes(job) < bytes);
    assert_non_null(world_run_of(w, waits));
    assert_int_equal(w->jobs->table.bytes,
                     w->jobs->table.open_bytes + kept_bytes(w->jobs->table.kept.bytes));
}

/* --- However it ended --- */

static uint64_t submit_after_any(struct jobs_world *w, uint64_t id)
{
    return jobs_world_submit(w, &WORK(.after_any = &id, .after_any_count = 1));
}

static void end_one(struct jobs_world *w, uint64_t id, enum job_state state)
{
    if (state == JOB_CANCELLED)
        world_cancel(w, world_job(w, id));
    else if (state == JOB_EXPIRED)
        jobs_world_pass(w, AO_S(5));
    else if (state == JOB_DONE)
        world_finish(world_run_of(w, id), "\x2a");
    else
        world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), state);
}

JOBS_TEST(after_any_goes_on_however_the_first_ended)
{
    for (enum job_state state = JOB_DONE; state <= JOB_DEAD; state++) {
        struct job_spec spec = WORK();
        if (state == JOB_DEAD)
            spec.retries = 1, spec.backoff = AO_MS(1);
        if (state == JOB_EXPIRED)
            spec.deadline = AO_S(4);
        uint64_t first = jobs_world_submit(w, &spec);
        jobs_world_settle(w);
        if (state == JOB_DEAD) {
            world_fail(world_run_of(w, first), "ODD", "not today");
            jobs_world_pass(w, AO_S(1));
        }
        uint64_t waits = submit_after_any(w, first);
        jobs_world_settle(w);
        assert_int_equal(world_reason(w, waits), JOB_WHY_AFTER);
        end_one(w, first, state);
        uint64_t late = submit_after_any(w, first);
        jobs_world_settle(w);
        world_finish(world_run_of(w, waits), "\x01");
        jobs_world_settle(w);
        world_finish(world_run_of(w, late), "\x01");
        jobs_world_settle(w);
        assert_int_equal(world_state(w, late), JOB_DONE);
    }
}

JOBS_TEST(after_still_counts_beside_after_any)
{
    uint64_t both[2] = {stage_submit(w), stage_submit(w)};
    uint64_t waits = jobs_world_submit(
        w, &WORK(.after = both, .after_count = 1, .after_any = both + 1, .after_any_count = 1));
    world_cancel(w, world_job(w, both[1]));
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, waits), JOB_WHY_AFTER);
    end_one(w, both[0], JOB_FAILED);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, waits), JOB_FAILED);
    assert_string_equal(world_job(w, waits)->end->code, "AFTER");
}

STORED_TEST(after_any_holds_across_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    w->room[1] = 2;
    uint64_t on[3] = {jobs_world_submit(w, &spec), jobs_world_submit(w, &spec),
                      jobs_world_submit(w, &spec)};
    spec.after = on;
    spec.after_count = 1;
    spec.after_any = on + 1;
    spec.after_any_count = 2;
    uint64_t waits = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    world_cancel(w, world_job(w, on[2]));
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_equal(world_reason(w, waits), JOB_WHY_AFTER);
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, on[0]), "\x01");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_reason(w, waits), JOB_WHY_AFTER);
    world_fail(world_run_of(w, on[1]), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, waits));
}

JOBS_TEST(explain_tells_which_must_have_ended)
{
    uint64_t first = stage_submit(w), waits = submit_after_any(w, first);
    jobs_world_settle(w);
    struct operation *op = world_about(w, &operation_task_explain, waits);
    world_give(w, op);
    stage_says(op, "must have ended first, and is");
    stage_says(op, "'after': [], 'after_any': ['t");
}
