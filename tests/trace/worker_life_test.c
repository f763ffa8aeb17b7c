/* The life of a worker: it joins, is given tasks, answers, and is lost, or leaves in good order. */
#include "tests/support/cmocka_env.h"
#include "tests/support/played_worker.h"
#include "tests/support/tasks_world.h"

static struct played_worker a, b;

static void start(void)
{
    tasks_world_init(2, 0);
    tasks_world_open();
    played_workers_open();
}

static void call(void)
{
    tasks_world_call(0, "thumb", params_none(), AO_NEVER);
    tasks_world_run();
}

/* It serves on the other loop than that of the caller. */
TASKS_TEST(a_worker_answers)
{
    start();
    played_join(&a, 1, "thumb", 1);
    tasks_world_run();
    call();
    call();
    played_answer(&a, 0);
    tasks_world_run();
    played_fail(&a, 0, "no picture");
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    worker 1 joins\n"
                       "[   0] manager    task 1 -> worker 1 (has 0 of 1)\n"
                       "[   0] worker 1   send task 1\n"
                       "[   0] worker 1   answer of task 1 (done)\n"
                       "[   0] manager    task 2 -> worker 1 (has 0 of 1)\n"
                       "[   0] worker 1   send task 2\n"
                       "[   0] call 1     ended: 1 bytes\n"
                       "[   0] worker 1   answer of task 2 (FAILED)\n"
                       "[   0] call 2     ended: FAILED (no picture)\n");
}

TASKS_TEST(a_worker_is_lost)
{
    start();
    played_join(&a, 1, "thumb", 2);
    tasks_world_run();
    a.slow = true;
    call();
    call();
    played_begin(&a, 0);
    played_join(&b, 0, "thumb", 1);
    tasks_world_run();
    played_lose(&a, "worker w1 at 10.0.0.7: connection reset");
    tasks_world_run();
    played_answer(&b, 0);
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    worker 1 joins\n"
                       "[   0] manager    task 1 -> worker 1 (has 0 of 2)\n"
                       "[   0] worker 1   send task 1\n"
                       "[   0] manager    task 2 -> worker 1 (has 1 of 2)\n"
                       "[   0] worker 1   send task 2\n"
                       "[   0] manager    worker 2 joins\n"
                       "[   0] worker 1   give back task 2\n"
                       "[   0] manager    worker 1 leaves\n"
                       "[   0] manager    task 2 -> worker 2 (has 0 of 1)\n"
                       "[   0] worker 2   send task 2\n"
                       "[   0] call 1     ended: WORKER_LOST (worker w1 at 10.0.0.7: connection "
                       "reset; it may have run)\n"
                       "[   0] worker 2   answer of task 2 (done)\n"
                       "[   0] call 2     ended: 1 bytes\n");
}

TASKS_TEST(a_worker_leaves_in_good_order)
{
    start();
    played_join(&a, 1, "thumb", 1);
    tasks_world_run();
    call();
    call();
    worker_executor_quiet(a.executor, true);
    tasks_world_run();
    played_answer(&a, 0);
    tasks_world_run();
    played_lose(&a, "worker w1 at 10.0.0.7: it has left");
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    worker 1 joins\n"
                       "[   0] manager    task 1 -> worker 1 (has 0 of 1)\n"
                       "[   0] worker 1   send task 1\n"
                       "[   0] manager    drop task 2\n"
                       "[   0] call 2     ended: NO_WORKER (no worker offers this method now)\n"
                       "[   0] worker 1   answer of task 1 (done)\n"
                       "[   0] call 1     ended: 1 bytes\n"
                       "[   0] manager    worker 1 leaves\n");
}
