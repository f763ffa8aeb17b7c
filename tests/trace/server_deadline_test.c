/* A deadline passes: the answer comes then, whatever the task does. */
#include "tests/support/cmocka_env.h"
#include "tests/support/rpc_world.h"

static struct rpc_world w;
static struct script peer;

static int open_world(void **state)
{
    (void)state;
    rpc_world_init(&w);
    rpc_world_open(&w);
    rpc_world_connect(&w, &peer);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    rpc_world_fini(&w);
    script_fini(&peer);
    return 0;
}

static void while_it_sleeps(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "task.call", "['sleep', [100], {'deadline': '20ms'}]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[  20] conn 1     wrote 64 bytes, 0 left\n"
                       "[  20] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
}

/* The blocking executor is not stepped before the deadline is over. */
static void while_it_waits_for_its_thread(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "task.call", "['block', [], {'deadline': '20ms'}]");
    virtual_run_until(&w.v, AO_MS(30));
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] manager    task 1 -> executor 2 (loads 0)\n"
                       "[  20] conn 1     wrote 64 bytes, 0 left\n"
                       "[  30] executor 2 drop task 1\n");
}

static void in_a_nested_call(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "task.call", "['outer', ['sleep', [100]], {'deadline': '20ms'}]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 0)\n"
                       "[   0] executor 1 run task 2\n"
                       "[  20] conn 1     wrote 64 bytes, 0 left\n"
                       "[  20] executor 1 failed task 1 (DEADLINE) -> home: loop 0\n"
                       "[  20] executor 1 failed task 2 (CANCELLED) -> home: loop 0\n");
}

static void in_time(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "task.call", "['sleep', [10], {'deadline': '20ms'}]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "1: [10]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[  10] executor 1 done task 1 -> home: loop 0\n"
                       "[  10] conn 1     wrote 6 bytes, 0 left\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(while_it_sleeps),
        TEST(while_it_waits_for_its_thread),
        TEST(in_a_nested_call),
        TEST(in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
