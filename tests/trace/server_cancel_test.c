/* A client cancels: the answer comes at once, the end of the task when it comes. */

#include "tests/support/rpc_stage.h"

static void cancel_in(uint64_t ms, void (*run)(void *arg))
{
    virtual_at(&net.v, AO_MS(ms), net.activator, run, NULL);
}

static void cancel_one(void *arg)
{
    stage_notify(&peer, "server.cancel", "[1]");
}

RPC_TEST(a_parked_task_ends_at_once)
{
    stage_ask(&peer, 1, "hang", "[]");
    cancel_in(20, cancel_one);
    assert_string_equal(stage_said(), "1 failed: 'CANCELLED: the call was cancelled'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[  20] conn 1     wrote 40 bytes, 0 left\n"
               "[  20] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
}

RPC_TEST(a_task_that_waits_never_runs)
{
    stage_ask(&peer, 1, "block", "[]");
    stage_notify(&peer, "server.cancel", "[1]");
    assert_string_equal(stage_said(), "1 failed: 'CANCELLED: the call was cancelled'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] manager    drop task 1\n"
               "[   0] conn 1     wrote 40 bytes, 0 left\n");
}

RPC_TEST(too_late_is_too_late)
{
    stage_ask(&peer, 1, "sleep", "[10]");
    cancel_in(11, cancel_one);
    assert_string_equal(stage_said(), "1: [10]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[  10] executor 1 done task 1 -> home: loop 0\n"
               "[  10] conn 1     wrote 6 bytes, 0 left\n");
}

RPC_TEST(a_peer_that_vanishes_cancels_all)
{
    stage_ask(&peer, 1, "hang", "[]");
    stage_ask(&peer, 2, "block", "[]");
    net_run_ms(5);
    script_reset(&peer);
    stage_run();
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] manager    task 2 -> executor 2 (loads 0)\n"
               "[   5] conn 1     OPEN -> CLOSED (read error, 2 in flight)\n"
               "[   5] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
               "[   5] conn 1     freed\n"
               "[   5] executor 2 drop task 2\n");
}
