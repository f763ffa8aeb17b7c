/* Lives of durable tasks: what waits for a commit, which takes a millisecond here; a crash; a store
 * that cannot write. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static uint64_t submit(struct jobs_world *w, enum job_durable how)
{
    return jobs_world_submit(w, &WORK(.durable = (uint8_t)how));
}

/* Submission and end are each on disk before anything follows from them; a begin is not awaited. */
STORED_TEST(fsync)
{
    uint64_t id = submit(w, DURABLE_FSYNC);
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_MS(10));
    trace_expect(&w->v, "[   0] job 1      new -> queued (commit)\n"
                        "[   1] job 1      queued -> queued (turn)\n"
                        "[   1] job 1      queued -> assigned (assigned)\n"
                        "[   2] job 1      assigned -> running (running)\n"
                        "[  10] job 1      running -> running (commit)\n"
                        "[  11] job 1      running -> done (ended)\n");
}

/* Only the end is waited for. */
STORED_TEST(async)
{
    uint64_t id = submit(w, DURABLE_ASYNC);
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_MS(10));
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[  10] job 1      running -> running (commit)\n"
                        "[  11] job 1      running -> done (ended)\n");
}

STORED_TEST(a_crash)
{
    w->options.settings.crashes = 2;
    w->jobs->options.settings.crashes = 2;
    submit(w, DURABLE_FSYNC);
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(10));
    trace_expect(&w->v, "[   0] job 1      new -> queued (commit)\n"
                        "[   1] job 1      queued -> queued (turn)\n"
                        "[   1] job 1      queued -> assigned (assigned)\n"
                        "[   2] job 1      assigned -> running (running)\n"
                        "[  10] job 1      new -> queued (commit)\n"
                        "[  11] job 1      queued -> queued (turn)\n"
                        "[  11] job 1      queued -> assigned (assigned)\n"
                        "[  12] job 1      assigned -> running (running)\n"
                        "[  20] job 1      new -> queued (commit)\n"
                        "[  21] job 1      queued -> dead (ended)\n");
}

STORED_TEST(a_disk_that_is_full_for_a_while)
{
    uint64_t id = submit(w, DURABLE_ASYNC);
    jobs_world_pass(w, AO_MS(10));
    w->store->error = STORE_FULL;
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_MS(1500));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_MS(1500));
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[  10] job 1      running -> running (commit)\n"
                        "[  11] job 1      running -> running (store)\n"
                        "[1012] job 1      running -> running (store)\n"
                        "[2012] job 1      running -> done (ended)\n");
}
