/* The rules that everything hangs on: a task has one owner at a time, and each call is answered
 * once.  Whoever breaks one is stopped by an assert. */
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/tasks_world.h"

/* A task that is at home. */
static struct task *own(const char *method)
{
    return home_make_task(tasks_home(w.tasks, 0), registry_find(w.registry, span_text(method)),
                          params_none(), AO_NEVER);
}

static void queue_it(void *arg)
{
    struct task_queue q = {0};
    task_queue_push(&q, arg);
}

static void give_it(void *arg)
{
    struct pool *p = w.tasks->shared.local[POOL_BLOCKING];
    p->queue.again = (struct task_row){.rest = {arg, arg}, .length = 1};
    p->queue.length = 1;
    pool_mark_ready(p);
    ao_activate(&w.tasks->manager.ao);
    virtual_run(&w.v);
}

static void run_it(void *arg)
{
    struct task *t = arg;
    t->executor = w.tasks->executors[t->method->handler->kind == ERGON_STEPPED ? 0 : 1];
    lane_push(t->executor->in, &t->item);
    tasks_world_run();
}

static void return_it(void *arg)
{
    executor_send_home(w.tasks->executors[1], arg);
}

static void give_it_back(void *arg)
{
    executor_give_back(w.tasks->executors[1], arg);
}

static int open_world(void **state)
{
    tasks_world_init(1, 1);
    w.quiet = true;
    tasks_world_open();
    return 0;
}

#define RULES_TEST(name) TEST_WITH(open_world, tasks_world_end, name)

RULES_TEST(what_is_at_home_is_nobody_elses)
{
    expect_broken_assert(queue_it, own("block"), "owner");
    expect_broken_assert(give_it, own("block"), "owner");
    expect_broken_assert(run_it, own("block"), "owner");
    expect_broken_assert(run_it, own("echo"), "owner");
    expect_broken_assert(return_it, own("block"), "owner");
    expect_broken_assert(give_it_back, own("block"), "owner");
    w.unfinished = true; /* nobody frees what was tried here */
}

static void receive_it(void *arg)
{
    home_receive(tasks_home(w.tasks, 0), arg);
}

static void free_it(void *arg)
{
    home_free_task(tasks_home(w.tasks, 0), arg);
}

RULES_TEST(what_was_given_away_is_not_at_home)
{
    need_asserts();
    tasks_world_call(0, "block", params_none(), AO_NEVER);
    struct task *given = w.list->task;
    expect_broken_assert(receive_it, given, "owner");
    expect_broken_assert(free_it, given, "owner");
    tasks_world_run();
    tasks_world_call(0, "hang", params_none(), AO_NEVER);
    expect_broken_assert(receive_it, w.list->task, "owner");
    home_cancel(tasks_home(w.tasks, 0), w.list);
    tasks_world_run();
}

static void cancel_twice(void *arg)
{
    home_cancel(tasks_home(w.tasks, 0), arg);
    home_cancel(tasks_home(w.tasks, 0), arg);
}

RULES_TEST(a_call_is_answered_once)
{
    need_asserts();
    tasks_world_call(0, "block", params_none(), AO_NEVER);
    expect_broken_assert(cancel_twice, w.list, "record->open");
    tasks_world_run();
    assert_int_equal(w.told[1], 1);
}
