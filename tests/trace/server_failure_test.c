/* A task fails: its own way, by a fault, or because of what it called; the connection goes on. */
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

static void in_its_own_words(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "fail", "[]");
    rpc_world_ask(&peer, 2, "echo", "[2]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "1 failed: 'NO_LUCK: none today'\n2: [2]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] conn 1     wrote 30 bytes, 0 left\n");
}

static void by_a_fault(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "fault", "[]");
    rpc_world_ask(&peer, 2, "late_fault", "[]");
    rpc_world_ask(&peer, 3, "echo", "[3]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "1 failed: 'FAILED: fault 7'\n"
                                                   "2 failed: 'FAILED: too late'\n"
                                                   "3: [3]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (FAILED) -> home: loop 0\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] manager    task 3 -> executor 1 (loads 1)\n"
                       "[   0] conn 1     wrote 20 bytes, 0 left\n"
                       "[   0] executor 1 failed task 2 (FAILED) -> home: loop 0\n"
                       "[   0] executor 1 run task 3\n"
                       "[   0] executor 1 done task 3 -> home: loop 0\n"
                       "[   0] conn 1     wrote 27 bytes, 0 left\n");
}

static void of_a_nested_call(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "outer", "['fail', []]");
    rpc_world_ask(&peer, 2, "outer", "['fault', []]");
    rpc_world_ask(&peer, 3, "outer", "['none', []]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "3 failed: 'NO_METHOD: no handler and no server method has this name'\n"
                        "1 failed: 'NO_LUCK: none today'\n"
                        "2 failed: 'FAILED: fault 7'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 0)\n"
                       "[   0] manager    task 3 -> executor 1 (loads 1)\n"
                       "[   0] manager    task 4 -> executor 1 (loads 2)\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 failed task 2 (NO_LUCK) -> home: loop 0\n"
                       "[   0] executor 1 run task 3\n"
                       "[   0] executor 1 run task 4\n"
                       "[   0] executor 1 failed task 4 (NO_METHOD) -> home: loop 0\n"
                       "[   0] manager    task 5 -> executor 1 (loads 0)\n"
                       "[   0] executor 1 run task 5\n"
                       "[   0] executor 1 failed task 5 (FAILED) -> home: loop 0\n"
                       "[   0] conn 1     wrote 63 bytes, 0 left\n"
                       "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
                       "[   0] executor 1 failed task 3 (FAILED) -> home: loop 0\n"
                       "[   0] conn 1     wrote 44 bytes, 0 left\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_its_own_words),
        TEST(by_a_fault),
        TEST(of_a_nested_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
