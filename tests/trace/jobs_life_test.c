/* Lives of kept tasks: done, tried again, given up, cancelled, too late. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

JOBS_TEST(done)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_MS(100), .keep = AO_S(1)));
    jobs_world_pass(w, AO_MS(120));
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, id));
    trace_expect(&w->v, "[   0] job 1      new -> delayed (delay)\n"
                        "[ 100] job 1      delayed -> queued (turn)\n"
                        "[ 100] job 1      queued -> assigned (assigned)\n"
                        "[ 101] job 1      assigned -> running (running)\n"
                        "[ 120] job 1      running -> done (ended)\n");
}

JOBS_TEST(tried_again_and_given_up)
{
    uint64_t id =
        jobs_world_submit(w, &WORK(.retries = 2, .backoff_jitter = 0, .backoff = AO_MS(100)));
    for (unsigned i = 0; i < 3; i++) {
        jobs_world_pass(w, AO_MS(400));
        world_fail(world_run_of(w, id), "ODD", "not today");
    }
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[ 400] job 1      running -> delayed (retry)\n"
                        "[ 500] job 1      delayed -> queued (turn)\n"
                        "[ 500] job 1      queued -> assigned (assigned)\n"
                        "[ 501] job 1      assigned -> running (running)\n"
                        "[ 800] job 1      running -> delayed (retry)\n"
                        "[1000] job 1      delayed -> queued (turn)\n"
                        "[1000] job 1      queued -> assigned (assigned)\n"
                        "[1001] job 1      assigned -> running (running)\n"
                        "[1200] job 1      running -> dead (ended)\n");
}

/* The first attempt comes home when the second runs already. */
JOBS_TEST(outlived_by_its_handler)
{
    w->stubborn = true;
    w->room[1] = 2;
    uint64_t id = jobs_world_submit(
        w, &WORK(.retries = 1, .backoff_jitter = 0, .backoff = AO_MS(50), .timeout = AO_MS(100)));
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, id);
    jobs_world_pass(w, AO_MS(160));
    world_finish(late, "\x01");
    world_finish(world_run_of(w, id), "\x02");
    assert_int_equal(world_job(w, id)->end->result->at[0], 2);
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[ 100] job 1      running -> delayed (retry)\n"
                        "[ 150] job 1      delayed -> queued (turn)\n"
                        "[ 150] job 1      queued -> assigned (assigned)\n"
                        "[ 151] job 1      assigned -> running (running)\n"
                        "[ 160] job 1      running -> done (ended)\n");
}

JOBS_TEST(cancelled_and_begun_anew)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_pass(w, AO_MS(5));
    world_cancel(w, world_job(w, id));
    jobs_world_pass(w, AO_MS(5));
    world_retry(w, world_job(w, id));
    jobs_world_pass(w, AO_MS(5));
    world_finish(world_run_of(w, id), "\x01");
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[   5] job 1      running -> cancelled (ended)\n"
                        "[  10] job 1      cancelled -> queued (turn)\n"
                        "[  10] job 1      queued -> assigned (assigned)\n"
                        "[  11] job 1      assigned -> running (running)\n"
                        "[  15] job 1      running -> done (ended)\n");
}

JOBS_TEST(too_late_at_its_turn)
{
    struct job_spec spec = WORK();
    uint64_t first = jobs_world_submit(w, &spec);
    spec.deadline = AO_MS(100);
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(200));
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 2      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[ 100] job 2      queued -> expired (ended)\n"
                        "[ 200] job 1      running -> done (ended)\n");
}

JOBS_TEST(run_again_later)
{
    struct job_spec spec = world_spec("step");
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_again(world_run_of(w, id), AO_MS(30));
    jobs_world_pass(w, AO_MS(30));
    world_finish(world_run_of(w, id), "\x01");
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   0] job 1      assigned -> running (running)\n"
                        "[   0] job 1      running -> delayed (again)\n"
                        "[  30] job 1      delayed -> queued (turn)\n"
                        "[  30] job 1      queued -> assigned (assigned)\n"
                        "[  30] job 1      assigned -> running (running)\n"
                        "[  30] job 1      running -> done (ended)\n");
}
