/* Spares: they take tasks while they stand in, and rest without leaving nested calls alone. */
#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/spare.h"
#include "server/tasks/tasks_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

/* A blocking executor and a spare; no thread runs. */
static struct blocking *open_world(void)
{
    tasks_world_init(1, 2);
    w.quiet = true;
    w.executors[2].spare = true;
    tasks_world_open();
    return blocking_of(w.tasks->executors[2]);
}

/* As blocking_want() and its thread do. */
static void want(struct blocking *b, bool wanted)
{
    atomic_store(&b->wanted, wanted);
    atomic_store(&w.tasks->shared.blocking_reach, wanted ? 2 : 1);
    atomic_store(&w.tasks->shared.blocking_common, wanted ? 2 : 1);
    blocking_take_place(b);
}

static const char *state_of(const struct blocking *b)
{
    struct executor_info info;
    tasks_executor_info(w.tasks, b->base.index, &info);
    return info.state;
}

static uint64_t tasks_done_by(const struct executor *e)
{
    struct executor_info info;
    tasks_executor_info(w.tasks, e->index, &info);
    return info.done;
}

static uint32_t shown(void)
{
    struct tasks_info info;
    tasks_info(w.tasks, &info);
    return info.executors;
}

/* How many of so many calls the spare ran. */
static uint64_t ran_of(const struct blocking *b, int calls)
{
    uint64_t before = tasks_done_by(&b->base);
    for (int i = 0; i < calls; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    tasks_world_run();
    return tasks_done_by(&b->base) - before;
}

TASKS_TEST(a_spare_takes_tasks_while_it_is_wanted)
{
    struct blocking *spare = open_world();
    assert_string_equal(state_of(spare), "rests");
    assert_int_equal(shown(), 2);
    assert_int_equal(ran_of(spare, 10), 0);
    want(spare, true);
    assert_string_equal(state_of(spare), "stands in");
    assert_int_equal(shown(), 3);
    assert_true(ran_of(spare, 10) > 0);
    want(spare, false);
    assert_string_equal(state_of(spare), "rests");
    assert_int_equal(ran_of(spare, 10), 0);
}

TASKS_TEST(a_manager_that_waits_hears_of_a_spare)
{
    struct blocking *spare = open_world();
    for (int i = 0; i < 2; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    virtual_run(&w.v);
    assert_int_equal(executor_outstanding(&spare->base), 0); /* one runs, and one waits */
    want(spare, true);
    virtual_run(&w.v);
    assert_int_equal(executor_outstanding(&spare->base), 1);
    tasks_world_run();
    assert_int_equal(w.ended, 2);
}

/* The spare's thread may have told of its room while the manager did not look so far yet. */
TASKS_TEST(a_manager_that_waits_hears_that_it_may_look_further)
{
    struct blocking *spare = open_world();
    want(spare, true);
    atomic_store(&w.tasks->shared.blocking_reach, 1);
    atomic_store(&w.tasks->shared.blocking_common, 1);
    spare->started = true; /* as far as who looks knows */
    for (int i = 0; i < 2; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    virtual_run(&w.v);
    assert_int_equal(executor_outstanding(&spare->base), 0);
    w.tasks->spares.outlived = 1;
    tasks_spare_called(w.tasks);
    spare->started = false;
    virtual_run(&w.v);
    assert_int_equal(executor_outstanding(&spare->base), 1);
    tasks_world_run();
    assert_int_equal(w.ended, 2);
}

/* How many of so many calls, one after the other, the spare was given. */
static uint32_t given_of(const struct blocking *b, int calls)
{
    uint32_t before = atomic_load(&b->base.given);
    for (int i = 0; i < calls; i++) {
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
        tasks_world_run_ms(0);
    }
    return atomic_load(&b->base.given) - before;
}

/* By weight too: it is not given all that the others had before, neither the first time nor when it
 * stands in again. */
TASKS_TEST(a_spare_begins_at_the_level_of_all_shares)
{
    tasks_world_init(1, 2);
    w.quiet = true;
    w.executors[1].weight = 3;
    w.executors[2].weight = 1;
    w.executors[2].spare = true;
    w.plan.policy = PLACEMENT_WEIGHT;
    tasks_world_open();
    struct blocking *spare = blocking_of(w.tasks->executors[2]);
    for (int i = 0; i < 3; i++) {
        want(spare, false);
        assert_int_equal(given_of(spare, 200), 0);
        want(spare, true);
        assert_in_range(given_of(spare, 100), 24, 26);
    }
}

static bool is_crowded(void)
{
    return atomic_load(&w.tasks->shared.blocking_crowded);
}

static void block_of(const char *whose)
{
    tasks_world_be(whose);
    assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
}

/* One holds all: another waits in vain for a moment, a spare is asked for, and takes his alone. */
TASKS_TEST(a_spare_stands_in_for_those_who_hold_none)
{
    struct blocking *spare = open_world();
    const struct task_queue *q = &w.tasks->shared.local[POOL_BLOCKING]->queue;
    for (int i = 0; i < 3; i++)
        block_of("alice");
    virtual_run_until(&w.v, AO_MS(100));
    assert_false(is_crowded()); /* nobody else waits */
    block_of("bob");
    virtual_run_until(&w.v, AO_MS(110));
    assert_false(is_crowded());
    virtual_run_until(&w.v, AO_MS(130));
    assert_true(is_crowded());
    want(spare, true);
    atomic_store(&w.tasks->shared.blocking_common, 1);
    virtual_run_until(&w.v, AO_MS(140));
    assert_int_equal(executor_outstanding(&spare->base), 1);
    assert_int_equal(q->length, 2);
    assert_true(atomic_load(&w.tasks->shared.crowd_served));
    block_of("bob"); /* who holds one now */
    virtual_run_until(&w.v, AO_MS(150));
    assert_int_equal(q->length, 3);
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 5);
    assert_int_equal(tasks_done_by(&spare->base), 2);
}

/* The spare alone is kept for those who hold none. */
TASKS_TEST(beside_a_spare_the_others_are_for_whoever_comes)
{
    tasks_world_init(1, 3);
    w.quiet = true;
    w.executors[3].spare = true;
    tasks_world_open();
    struct blocking *spare = blocking_of(w.tasks->executors[3]);
    atomic_store(&spare->wanted, true);
    atomic_store(&w.tasks->shared.blocking_reach, 3);
    blocking_take_place(spare);
    for (int i = 0; i < 3; i++)
        block_of("alice");
    virtual_run_until(&w.v, AO_MS(10));
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(executor_outstanding(w.tasks->executors[i]), i < 3);
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 3);
}

/* Not even where the executor has room for more, since it is thought to be brief; nobody is stuck
 * behind another's handler, and nobody who comes later keeps it from becoming empty. */
TASKS_TEST(behind_a_task_stand_those_of_its_holder_alone)
{
    tasks_world_init(1, 1);
    w.quiet = true;
    w.executors[1].fixed = true;
    tasks_world_open();
    const struct executor *e = w.tasks->executors[1];
    const struct task_queue *q = &w.tasks->shared.local[POOL_BLOCKING]->queue;
    block_of("alice");
    block_of("alice");
    virtual_run_until(&w.v, AO_MS(1));
    assert_int_equal(executor_outstanding(e), 2);
    block_of("bob");
    block_of("alice");
    virtual_run_until(&w.v, AO_MS(2));
    assert_int_equal(executor_outstanding(e), 2);
    assert_int_equal(q->length, 2);
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 4);
}

/* A spare has room for those who hold none, so lines are passed over; which is no reason to fill up
 * what the first of them waits for. */
TASKS_TEST(nobody_fills_up_what_another_waits_for)
{
    tasks_world_init(1, 2);
    w.quiet = true;
    w.executors[1].fixed = true;
    w.executors[2].spare = true;
    tasks_world_open();
    const struct executor *e = w.tasks->executors[1];
    struct blocking *spare = blocking_of(w.tasks->executors[2]);
    const struct task_queue *q = &w.tasks->shared.local[POOL_BLOCKING]->queue;
    want(spare, true);
    atomic_store(&w.tasks->shared.blocking_common, 1);
    block_of("alice");
    virtual_run_until(&w.v, AO_MS(1));
    block_of("bob");
    virtual_run_until(&w.v, AO_MS(2));
    assert_int_equal(executor_outstanding(&spare->base), 1);
    block_of("bob"); /* who holds one */
    block_of("alice");
    virtual_run_until(&w.v, AO_MS(10));
    assert_int_equal(executor_outstanding(e), 1);
    assert_int_equal(q->length, 2);
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 4);
}

/* Two spares behind one executor, all of which alice has wanted for 100 ms. */
static void open_crowded_world(void)
{
    tasks_world_init(1, 3);
    w.quiet = true;
    w.executors[2].spare = w.executors[3].spare = true;
    tasks_world_open();
    for (int i = 0; i < 3; i++)
        block_of("alice");
}

static unsigned calls; /* for a spare */

static void count_call(void *arg)
{
    (void)arg;
    calls++;
}

static unsigned calls_until(uint64_t ms)
{
    virtual_run_until(&w.v, AO_MS(ms));
    return calls;
}

/* Nobody comes, for one; a further one is called for while somebody waits and one rests. */
TASKS_TEST(a_spare_is_called_for_again_and_again)
{
    calls = 0;
    open_crowded_world();
    tasks_on_crowd(w.tasks, count_call, NULL);
    assert_int_equal(calls_until(100), 0); /* nobody else waits */
    block_of("bob");
    block_of("carol");
    assert_int_equal(calls_until(119), 0);
    assert_int_equal(calls_until(121), 1);
    assert_int_equal(calls_until(139), 1);
    assert_int_equal(calls_until(141), 2);
    atomic_store(&w.tasks->shared.blocking_reach, 3); /* both are called, and late */
    assert_int_equal(calls_until(500), 2);
    for (uint32_t i = 2; i <= 3; i++) {
        atomic_store(&blocking_of(w.tasks->executors[i])->wanted, true);
        blocking_take_place(blocking_of(w.tasks->executors[i]));
    }
    assert_int_equal(calls_until(600), 2);
    assert_int_equal(executor_outstanding(w.tasks->executors[2]), 1);
    assert_int_equal(executor_outstanding(w.tasks->executors[3]), 1);
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 5);
}

/* Its thread exists, and the test is it. */
static struct blocking *spare_with_thread(uint32_t index)
{
    struct blocking *b = blocking_of(w.tasks->executors[index]);
    b->started = true;
    return b;
}

/* As the main thread and the spares' own do, without any delay. */
static void come(void *arg)
{
    (void)arg;
    calls++;
    assert_true(tasks_spare_called(w.tasks));
    for (uint32_t i = 2; i <= 3; i++)
        blocking_take_place(blocking_of(w.tasks->executors[i]));
}

/* One call, one spare, at once; looks alone let it rest. */
TASKS_TEST(a_spare_that_is_called_begins_at_once)
{
    calls = 0;
    open_crowded_world();
    struct blocking *first = spare_with_thread(2), *second = spare_with_thread(3);
    tasks_on_crowd(w.tasks, come, NULL);
    virtual_run_until(&w.v, AO_MS(100));
    assert_false(tasks_spare_called(w.tasks)); /* nobody waits for it */
    block_of("bob");
    assert_int_equal(calls_until(121), 1);
    assert_int_equal(executor_outstanding(&first->base), 1);
    assert_false(atomic_load(&second->wanted));
    assert_int_equal(calls_until(200), 1);
    assert_true(tasks_look(w.tasks)); /* it served somebody */
    assert_true(atomic_load(&first->wanted));
    tasks_look(w.tasks);
    assert_false(atomic_load(&first->wanted));
    blocking_take_place(first);
    assert_false(tasks_look(w.tasks));
    tasks_world_run_ms(1000);
    assert_int_equal(w.ended, 4);
}

/* A call in between is no second look at what nobody wants. */
TASKS_TEST(a_call_for_a_spare_is_no_look)
{
    open_world();
    struct executor *e = w.tasks->executors[1];
    counter_set(&e->running_number, 77);
    executors_notify(&w.tasks->shared.local[POOL_BLOCKING]->group, 77);
    assert_true(tasks_look(w.tasks));
    for (int i = 0; i < 3; i++)
        assert_true(tasks_spare_called(w.tasks)); /* the look's answer stands */
    assert_int_equal(w.tasks->spares.outlived, 0);
    counter_set(&e->running_number, 0);
    assert_false(tasks_look(w.tasks));
}

/* What was on its way to it as it came to rest. */
TASKS_TEST(a_spare_at_rest_gives_back_what_it_gets)
{
    struct blocking *spare = open_world();
    want(spare, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    for (int i = 0; i < 10 && executor_outstanding(&spare->base) == 0; i++)
        activator_round(w.loops[0], false);
    assert_int_equal(executor_outstanding(&spare->base), 1);
    want(spare, false);
    uint64_t before = tasks_done_by(&spare->base);
    tasks_world_run();
    assert_int_equal(tasks_done_by(&spare->base), before);
    assert_int_equal(w.ended, 2);
}

TASKS_TEST(the_last_that_takes_nested_calls_does_not_rest)
{
    struct blocking *spare = open_world();
    _Atomic uint32_t *waiting = &w.tasks->shared.waiting;
    assert_int_equal(*waiting, 1); /* the spare takes none */
    want(spare, true);
    assert_int_equal(*waiting, 0);
    atomic_store(waiting, 1); /* the other's handler waits for a nested call */
    want(spare, false);
    assert_string_equal(state_of(spare), "stands in");
    atomic_store(waiting, 0); /* it is back */
    blocking_take_place(spare);
    assert_string_equal(state_of(spare), "rests");
    assert_int_equal(*waiting, 1);
}

/* Of thousands of flagged ones that wait, none wakes a thread that has nothing to do with it. */
TASKS_TEST(who_is_flagged_wakes_who_runs_it)
{
    open_world();
    struct executor *e = w.tasks->executors[1];
    const struct executor_group *g = &w.tasks->shared.local[POOL_BLOCKING]->group;
    counter_set(&e->running_number, 77);
    waker_announce(e->waker);
    executors_notify(g, 78);
    assert_true(atomic_load(&e->waker->sleeping));
    assert_int_equal(counter_read(&e->unwanted_number), 0);
    executors_notify(g, 77);
    assert_false(atomic_load(&e->waker->sleeping));
    assert_int_equal(counter_read(&e->unwanted_number), 77);
    counter_set(&e->running_number, 0);
}

/* Twice seen, a task that runs and was flagged has outlived what it was allowed. */
TASKS_TEST(what_nobody_wants_is_seen_twice)
{
    struct blocking *spare = open_world();
    struct executor *e = w.tasks->executors[1];
    counter_set(&e->running_number, 77);
    assert_false(tasks_look(w.tasks));
    executors_notify(&w.tasks->shared.local[POOL_BLOCKING]->group, 78); /* another task */
    assert_false(tasks_look(w.tasks));
    executors_notify(&w.tasks->shared.local[POOL_BLOCKING]->group, 77);
    assert_true(tasks_look(w.tasks)); /* look again */
    assert_false(atomic_load(&spare->wanted));
    counter_set(&e->running_number, 79); /* the handler has returned, and another runs */
    assert_false(tasks_look(w.tasks));
    assert_false(atomic_load(&spare->wanted));
    counter_set(&e->running_number, 0);
}
