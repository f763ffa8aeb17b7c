/* Many tasks that wait for one: they are told in small steps, and each is told the right thing. */
#include "tests/support/cmocka_env.h"
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
