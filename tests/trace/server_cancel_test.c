/* A client cancels: the answer comes at once, the end of the task when it comes. */
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

static void cancel_in(uint64_t ms, void (*run)(void *arg))
{
    virtual_at(&w.v, AO_MS(ms), w.activator, run, NULL);
}

static void cancel_one(void *arg)
{
    (void)arg;
    rpc_world_notify(&peer, "server.cancel", "[1]");
}

static void a_parked_task_ends_at_once(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "hang", "[]");
    cancel_in(20, cancel_one);
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'CANCELLED: the call was cancelled'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[  20] conn 1     wrote 40 bytes, 0 left\n"
                       "[  20] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
}

static void a_task_that_waits_never_runs(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "block", "[]");
    rpc_world_notify(&peer, "server.cancel", "[1]");
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'CANCELLED: the call was cancelled'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] manager    drop task 1\n"
                       "[   0] conn 1     wrote 40 bytes, 0 left\n");
}

static void too_late_is_too_late(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "sleep", "[10]");
    cancel_in(11, cancel_one);
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "1: [10]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[  10] executor 1 done task 1 -> home: loop 0\n"
                       "[  10] conn 1     wrote 6 bytes, 0 left\n");
}

static void a_peer_that_vanishes_cancels_all(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "hang", "[]");
    rpc_world_ask(&peer, 2, "block", "[]");
    virtual_run_until(&w.v, AO_MS(5));
    script_reset(&peer);
    rpc_world_run(&w);
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 2 (loads 0)\n"
                       "[   5] conn 1     OPEN -> CLOSED (read error, 2 in flight)\n"
                       "[   5] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
                       "[   5] conn 1     freed\n"
                       "[   5] executor 2 drop task 2\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_parked_task_ends_at_once),
        TEST(a_task_that_waits_never_runs),
        TEST(too_late_is_too_late),
        TEST(a_peer_that_vanishes_cancels_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
