/* What jobs wait for: a permit, a token, another task, a queue that goes on. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

#define WAITS_TEST(name) JOBS_TEST(name, .room = 8)

WAITS_TEST(a_slot)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    w->lasts = AO_MS(10);
    for (unsigned i = 0; i < 3; i++)
        jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(100));
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 2      new -> queued (turn)\n"
                        "[   0] job 3      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   0] job 2      queued -> waiting (limit)\n"
                        "[   0] job 3      queued -> waiting (limit)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[  10] job 1      running -> done (ended)\n"
                        "[  10] job 2      waiting -> queued (turn)\n"
                        "[  10] job 2      queued -> assigned (assigned)\n"
                        "[  11] job 2      assigned -> running (running)\n"
                        "[  20] job 2      running -> done (ended)\n"
                        "[  20] job 3      waiting -> queued (turn)\n"
                        "[  20] job 3      queued -> assigned (assigned)\n"
                        "[  21] job 3      assigned -> running (running)\n"
                        "[  30] job 3      running -> done (ended)\n");
}

WAITS_TEST(a_token)
{
    struct job_spec spec = WORK(.rate_key = span_text("r"), .rate = 1, .rate_per = AO_MS(40));
    for (unsigned i = 0; i < 3; i++)
        jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(100));
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 2      new -> queued (turn)\n"
                        "[   0] job 3      new -> queued (turn)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   0] job 2      queued -> waiting (rate)\n"
                        "[   0] job 3      queued -> waiting (rate)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[  40] job 2      waiting -> queued (turn)\n"
                        "[  40] job 2      queued -> assigned (assigned)\n"
                        "[  41] job 2      assigned -> running (running)\n"
                        "[  80] job 3      waiting -> queued (turn)\n"
                        "[  80] job 3      queued -> assigned (assigned)\n"
                        "[  81] job 3      assigned -> running (running)\n");
}

WAITS_TEST(another_task)
{
    struct job_spec spec = WORK();
    uint64_t first = jobs_world_submit(w, &spec);
    spec.after = &first;
    spec.after_count = 1;
    uint64_t second = jobs_world_submit(w, &spec);
    spec.after = &second;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_pass(w, AO_MS(10));
    world_fail(world_run_of(w, second), "ODD", "not today");
    jobs_world_settle(w);
    trace_expect(&w->v, "[   0] job 1      new -> queued (turn)\n"
                        "[   0] job 2      new -> waiting (after)\n"
                        "[   0] job 3      new -> waiting (after)\n"
                        "[   0] job 1      queued -> assigned (assigned)\n"
                        "[   1] job 1      assigned -> running (running)\n"
                        "[  10] job 1      running -> done (ended)\n"
                        "[  10] job 2      waiting -> queued (turn)\n"
                        "[  10] job 2      queued -> assigned (assigned)\n"
                        "[  11] job 2      assigned -> running (running)\n"
                        "[  20] job 2      running -> failed (ended)\n"
                        "[  20] job 3      waiting -> failed (ended)\n");
}

static void change_queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
    assert_true(world_answered(w, op));
}

WAITS_TEST(a_queue_that_goes_on)
{
    struct job_spec spec = WORK();
    change_queue(w, &operation_queue_pause);
    jobs_world_submit(w, &spec);
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10));
    change_queue(w, &operation_queue_resume);
    jobs_world_settle(w);
    trace_expect(&w->v, "[   0] job 1      new -> waiting (paused)\n"
                        "[   0] job 2      new -> waiting (paused)\n"
                        "[  10] job 1      waiting -> queued (turn)\n"
                        "[  10] job 2      waiting -> queued (turn)\n"
                        "[  10] job 1      queued -> assigned (assigned)\n"
                        "[  10] job 2      queued -> assigned (assigned)\n");
}
