/* Limits that a reload changes: from the next step on the jobs go by them. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static void expect_busy(struct jobs_world *w, const struct job_spec *spec, const char *why)
{
    struct submitted out;
    char text[JOB_TEXT_MAX];

    assert_int_equal(world_submit(w, spec, &out, text, sizeof text), ERGON_E_BUSY);
    stage_holds(text, why);
}

static void set(struct jobs_world *w, struct jobs_limits limits)
{
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
}

JOBS_TEST(what_is_open_stays_and_nothing_more_is_taken)
{
    struct job_spec spec = WORK();
    struct jobs_limits limits = w->jobs->options.settings.limits;

    for (unsigned i = 0; i < 5; i++)
        stage_submit(w);
    limits.max = 2;
    set(w, limits);
    expect_busy(w, &spec, "tasks.max");
    assert_int_equal(w->jobs->table.open, 5);
    limits.max = 100;
    limits.bytes = w->jobs->table.bytes + 100;
    set(w, limits);
    expect_busy(w, &spec, "tasks.bytes");
    limits.bytes = (uint64_t)1 << 30;
    limits.tenant_share = 5;
    set(w, limits);
    expect_busy(w, &spec, "tasks.tenant_share");
    limits.tenant_share = 80;
    set(w, limits);
    stage_submit(w);
}

JOBS_TEST(what_is_kept_beyond_is_forgotten, .quiet = true)
{
    struct jobs_limits limits = w->jobs->options.settings.limits;
    struct jobs_info info;

    w->lasts = 0;
    for (unsigned i = 0; i < 100; i++)
        stage_submit(w);
    jobs_world_settle(w);
    limits.kept_bytes = w->jobs->table.bytes / 2;
    set(w, limits);
    assert_in_range(kept_bytes(w->jobs->table.kept.bytes), 1, limits.kept_bytes);
    jobs_info(w->jobs, &info);
    assert_int_equal(info.limits.kept_bytes, limits.kept_bytes);
}

JOBS_TEST(what_fails_from_then_on_is_kept_so_long)
{
    struct jobs_limits limits = w->jobs->options.settings.limits;

    limits.keep_failed = AO_S(10);
    set(w, limits);
    uint64_t id = stage_submit(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(9));
    assert_non_null(world_job(w, id));
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, id));
}

/* It is posted from another thread, and waits for a step. */
JOBS_TEST(they_change_in_a_step_of_their_own)
{
    struct jobs_limits limits = w->jobs->options.settings.limits;

    limits.max = 7;
    jobs_set_limits(w->jobs, &limits);
    assert_true(w->jobs->options.settings.limits.max > 7);
    jobs_world_settle(w);
    assert_int_equal(w->jobs->options.settings.limits.max, 7);
}
