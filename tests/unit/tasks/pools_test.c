/* Any number of pools: those that have nothing to do are not looked at, and one that is full holds
 * up no other.  The pools of the loop's executor have a class of the test's own, which counts the
 * passes. */
#include "tests/support/cmocka_env.h"
#include "server/tasks/manager/manager.h"
#include "tests/support/heap.h"
#include "tests/support/tasks_world.h"

enum { POOLS = 300, CALLS = 20, FLOOD = 3000, FEW = 10 };

static uint32_t looks[POOLS + POOLS_LOCAL]; /* by the pool's index */
static struct method methods[POOLS];        /* each with a pool of its own */

static struct pool_class counted;

static bool count_pass(struct manager *m, struct pool *x, struct pool *p, bool full)
{
    looks[p->index]++;
    return pool_of_loops.waits(m, x, p, full);
}

/* A pool for methods of this name, run by one executor, which is in others, too. */
static void make_pool(unsigned i, const char *like, uint32_t executor)
{
    bool blocking = !w.tasks->executors[executor]->activator;
    struct pool *p = pools_add(&w.tasks->manager, blocking ? &pool_of_threads : &counted, 1);
    assert_non_null(p);
    assert_int_equal(p->index, i + POOLS_LOCAL);
    p->group.list[p->group.count++] = w.tasks->executors[executor];
    assert_int_equal(pool_connect(p, w.plan.policy), 0);
    methods[i] = *registry_find(w.registry, span_text(like));
    methods[i].pool = methods[i].attempts_pool = p;
}

static void open_world(uint32_t blocking)
{
    memset(looks, 0, sizeof looks);
    counted = pool_of_loops;
    counted.waits = count_pass;
    tasks_world_init(1, blocking);
    w.quiet = true;
    w.plan.queue_max = 2 * FLOOD;
}

static void call(unsigned pool)
{
    const struct call_request request = {
        .list = &w.list, .owner = &w, .params = params_none(), .deadline = AO_NEVER};
    assert_int_equal(home_call(tasks_home(w.tasks, 0), &methods[pool], &request), ERGON_OK);
    w.begun++;
}

TEST(pools_with_nothing_to_do_are_not_looked_at)
{
    open_world(0);
    tasks_world_open();
    for (unsigned i = 0; i < POOLS; i++)
        make_pool(i, "managed", 0);
    for (unsigned i = 0; i < CALLS; i++) {
        call(7);
        call(200);
        tasks_world_run();
    }
    assert_int_equal(w.ended, 2 * CALLS);
    for (uint32_t i = 0; i < POOLS + POOLS_LOCAL; i++)
        assert_int_equal(looks[i], i == 7 + POOLS_LOCAL || i == 200 + POOLS_LOCAL ? CALLS : 0);
    assert_true(STAILQ_EMPTY(&w.tasks->manager.ready));
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

/* Every other one is of an executor whose handler does not return before the test wants. */
TEST(a_full_pool_holds_up_no_other)
{
    open_world(1);
    w.executors[0].queue = 2 * POOLS; /* this one always has room */
    w.executors[0].fixed = true;
    tasks_world_open();
    for (unsigned i = 0; i < POOLS; i++)
        make_pool(i, i % 2 ? "managed" : "block", i % 2 ? 0 : 1);
    for (unsigned n = 0; n < 2; n++)
        for (unsigned i = 0; i < POOLS; i++)
            call(i);
    virtual_run(&w.v);
    assert_int_equal(w.ended, POOLS);
    for (unsigned i = 1; i < POOLS; i += 2)
        assert_int_equal(methods[i].pool->queue.length, 0);
    assert_int_equal(methods[POOLS - 2].pool->queue.length, 2);
    assert_true(waker_announced(&methods[POOLS - 2].pool->waiting_for_room));
    assert_true(manager_queued(&w.tasks->shared.inbox) > POOLS / 2);
    while (w.ended < 2 * POOLS) { /* it is in other pools than its own, which hear nothing of it */
        assert_true(blocking_round(blocking_of(w.tasks->executors[1])));
        manager_ask(&w.tasks->shared.inbox);
        virtual_run(&w.v);
    }
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

static uint32_t added_ended;

static void count_ended(void *arg, const struct outcome *outcome)
{
    added_ended += outcome->error == ERGON_OK;
}

static void add(const char *method, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(
            tasks_add(w.tasks, span_text(method), params_none(), AO_NEVER, count_ended, NULL),
            ERGON_OK);
}

/* What one step may give is used up by the first pool: the next step begins with the others. */
TEST(a_flood_in_one_pool_takes_turns_with_the_others)
{
    added_ended = 0;
    open_world(0);
    tasks_world_own_manager();
    w.executors[0].queue = 2 * FLOOD;
    w.executors[0].fixed = true;
    tasks_world_open();
    make_pool(0, "managed", 0);
    make_pool(1, "echo", 0);
    struct pool *flooded = methods[0].pool, *other = methods[1].pool;
    registry_find(w.registry, span_text("managed"))->pool = flooded;
    registry_find(w.registry, span_text("echo"))->pool = other;
    add("managed", FLOOD);
    add("echo", FEW);
    activator_round(w.manager, false);
    assert_int_equal(other->queue.length, FEW);
    activator_round(w.manager, false);
    assert_int_equal(other->queue.length, 0);
    assert_true(flooded->queue.length > FLOOD / 2);
    tasks_world_run();
    assert_int_equal(added_ended, FLOOD + FEW);
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

static int make_one(void *arg)
{
    struct pool *p = pool_new(&pool_of_threads, 2, 1, NULL, NULL);
    int made = p ? pool_connect(p, PLACEMENT_WEIGHT) : -1;
    pool_free(p);
    return made;
}

TEST(without_memory_there_is_no_pool)
{
    heap_fail_each(make_one, NULL);
}
