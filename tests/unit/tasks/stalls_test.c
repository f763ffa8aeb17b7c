/* What waits at a blocking executor behind a task that does not end is taken back. */
#include "server/tasks/manager/stalls.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

enum { EXECUTORS = 3 };

/* The body of the handler `run_meanwhile`: what happens while it runs. */
static void (*meanwhile)(void);

static void run_meanwhile(struct ergon_task *task)
{
    (void)task;
    if (meanwhile)
        meanwhile();
}

static const struct ergon_handler handler = {.size = sizeof(struct ergon_handler),
                                             .kind = ERGON_BLOCKING,
                                             .name = "meanwhile",
                                             .run = run_meanwhile};

static struct executor *executor(uint32_t i)
{
    return w.tasks->executors[1 + i];
}

static uint32_t tasks_of(uint32_t i)
{
    return executor_outstanding(executor(i));
}

static uint32_t queued(void)
{
    return w.tasks->shared.local[POOL_BLOCKING]->queue.length;
}

/* Each executor may have `room` tasks, whatever was measured. */
static void open_world(uint32_t executors, uint32_t room)
{
    char error[256];
    tasks_world_init(1, executors);
    w.quiet = true;
    for (uint32_t i = 0; i < executors; i++) {
        w.executors[1 + i].fixed = true;
        w.executors[1 + i].queue = room;
    }
    assert_int_equal(registry_add(w.registry, "test", &handler, error, sizeof error), 0);
    tasks_world_open();
}

static void call(const char *method, unsigned n)
{
    for (; n > 0; n--)
        assert_int_equal(tasks_world_call(0, method, params_none(), AO_NEVER), ERGON_OK);
}

static void pass_ms(uint64_t ms)
{
    virtual_run_until(&w.v, w.v.now + AO_MS(ms));
}

static bool run_one(uint32_t i)
{
    bool ran = blocking_round(blocking_of(executor(i)));
    pass_ms(0);
    return ran;
}

/* Two of three executors run handlers that do not end, each with a task behind it; the third ends
 * all that it is given. */
static void third_alone_goes_on(void)
{
    unsigned before = w.ended;
    for (int i = 0; i < 10; i++) {
        pass_ms(5);
        while (run_one(2))
            ;
    }
    assert_int_equal(w.ended - before, 4); /* two of its own, and two that were taken back */
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(tasks_of(1), 1);
    assert_int_equal(tasks_of(2), 0);
    assert_int_equal(queued(), 0);
}

static void second_runs(void)
{
    meanwhile = third_alone_goes_on;
    assert_true(run_one(1));
}

TASKS_TEST(what_is_behind_a_task_that_does_not_end_runs_elsewhere)
{
    open_world(EXECUTORS, 2);
    call("meanwhile", 2);
    pass_ms(0);
    call("block", 4);
    pass_ms(0);
    for (uint32_t i = 0; i < EXECUTORS; i++)
        assert_int_equal(tasks_of(i), 2);
    meanwhile = second_runs;
    assert_true(run_one(0));
    assert_int_equal(w.ended, 6);
    meanwhile = NULL;
}

static void nothing_more_is_given(void)
{
    pass_ms(30);
    assert_int_equal(tasks_of(0), 1);
    call("block", 1);
    pass_ms(0);
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(counter_read(&executor(0)->bound), 1);
    assert_int_equal(queued(), 3);
    for (int i = 0; i < 10; i++) /* no look is needed while nothing waits there */
        pass_ms(10);
    assert_false(w.tasks->manager.stalls_watched);
}

TASKS_TEST(a_stalled_executor_is_given_nothing_until_its_task_ends)
{
    open_world(1, 2);
    call("meanwhile", 1);
    call("block", 2);
    pass_ms(0);
    assert_int_equal(tasks_of(0), 2);
    meanwhile = nothing_more_is_given;
    assert_true(run_one(0));
    meanwhile = NULL;
    assert_int_equal(tasks_of(0), 2);
    assert_int_equal(counter_read(&executor(0)->bound), 2);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
}

/* Brief ones are left where they are: from each look to the next one has ended. */
TASKS_TEST(an_executor_whose_tasks_end_is_not_stalled)
{
    open_world(2, 64);
    call("block", 60);
    pass_ms(0);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(tasks_of(0), 30 - i);
        assert_int_equal(tasks_of(1), 30 - i);
        pass_ms(9);
        assert_true(run_one(0));
        assert_true(run_one(1));
    }
    assert_int_equal(queued(), 0);
    tasks_world_run();
}

/* As a handler that waits does, and goes on before it sees what its executor was given meanwhile:
 * see blocking.c. */
static void waits_and_goes_on(void)
{
    executor_publish(executor(0), 1);
    call("block", 1);
    pass_ms(0);
    assert_int_equal(tasks_of(0), 1);
    executor_publish(executor(0), -1);
    assert_int_equal(tasks_of(0), 2);
    pass_ms(30);
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(queued(), 1);
}

TASKS_TEST(what_came_while_the_handler_waited_is_taken_back)
{
    open_world(1, 1);
    call("meanwhile", 1);
    pass_ms(0);
    meanwhile = waits_and_goes_on;
    assert_true(run_one(0));
    meanwhile = NULL;
    tasks_world_run();
    assert_int_equal(w.ended, 2);
}

static unsigned order[WORLD_CALLS], ended;

static void note_end(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg, (void)outcome;
    order[ended++] = call->msgid[call->msgid_len - 1];
    w.ended++;
    w.told[order[ended - 1]]++;
}

static void all_come_back(void)
{
    pass_ms(30);
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(queued(), 29);
}

/* Its lane has been round once, nearly: what it has claimed is not among them. */
TASKS_TEST(what_is_taken_back_keeps_its_order)
{
    char error[256];
    ended = 0;
    tasks_world_init(1, 1);
    w.quiet = true;
    w.executors[1].fixed = true;
    w.executors[1].queue = 30;
    w.plan.ended = note_end;
    assert_int_equal(registry_add(w.registry, "test", &handler, error, sizeof error), 0);
    tasks_world_open();
    call("block", 20);
    call("meanwhile", 1);
    call("block", 9);
    pass_ms(0);
    assert_int_equal(tasks_of(0), 30);
    for (unsigned i = 0; i < 20; i++)
        assert_true(run_one(0));
    call("block", 20);
    pass_ms(0);
    assert_int_equal(tasks_of(0), 30);
    meanwhile = all_come_back;
    assert_true(run_one(0));
    meanwhile = NULL;
    tasks_world_run();
    assert_int_equal(ended, 50);
    for (unsigned i = 0; i < ended; i++)
        assert_int_equal(order[i], i + 1);
}

/* What nobody wants any more is answered, and need not wait for the task before it. */
static void cancelled_ones_go_home(void)
{
    tasks_cancel_all(w.tasks);
    pass_ms(30);
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(queued(), 0);
    assert_int_equal(w.ended, 5);
    assert_int_equal(slab_taken(&w.tasks->homes[0]->slab), 1);
}

TASKS_TEST(flagged_ones_that_are_taken_back_go_home)
{
    open_world(1, 8);
    call("meanwhile", 1);
    call("block", 4);
    pass_ms(0);
    meanwhile = cancelled_ones_go_home;
    assert_true(run_one(0));
    meanwhile = NULL;
    tasks_world_run();
}

/* Its thread has not woken yet, and will. */
TASKS_TEST(one_task_stays_at_an_executor_that_has_begun_none)
{
    open_world(1, 8);
    call("block", 4);
    for (int i = 0; i < 10; i++)
        pass_ms(10);
    assert_int_equal(tasks_of(0), 1);
    assert_int_equal(queued(), 3);
    assert_int_equal(executor(0)->in->ring.staged, 4); /* the one that stays was not given anew */
    tasks_world_run();
    assert_int_equal(w.ended, 4);
}
