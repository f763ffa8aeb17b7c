/* The server stops with work in flight, as a client sees it: what was read is answered, then the
 * connection closes. */

#include "tests/support/rpc_stage.h"

static void drain(void *arg)
{
    virtual_say(&net.v, "server", 0, "drains");
    net_order(LOOP_DRAIN);
}

static void cancel(void *arg)
{
    virtual_say(&net.v, "server", 0, "cancels");
    tasks_cancel_all(stage.tasks);
}

static void abort_all(void *arg)
{
    virtual_say(&net.v, "server", 0, "cuts off");
    net_order(LOOP_ABORT);
}

static void close_peer(void *arg)
{
    script_send_eof(&peer);
}

RPC_TEST(work_within_the_limit_is_finished)
{
    stage_ask(&peer, 1, "sleep", "[30]");
    stage_ask(&peer, 2, "block", "[2]");
    stage_ask(&peer, 3, "echo", "[3]");
    virtual_at(&net.v, AO_MS(10), net.activator, drain, NULL);
    virtual_at(&net.v, AO_MS(31), net.activator, close_peer, NULL);
    assert_string_equal(stage_said(), "3: [3]\n2: [2]\n1: [30]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] executor 1 run task 3\n"
               "[   0] executor 1 done task 3 -> home: loop 0\n"
               "[   0] manager    task 2 -> executor 2 (loads 0)\n"
               "[   0] conn 1     wrote 6 bytes, 0 left\n"
               "[   0] executor 2 run task 2\n"
               "[   0] executor 2 done task 2 -> home: loop 0\n"
               "[   0] conn 1     wrote 6 bytes, 0 left\n"
               "[  10] server     drains\n"
               "[  10] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
               "[  30] executor 1 done task 1 -> home: loop 0\n"
               "[  30] conn 1     wrote 6 bytes, 0 left\n"
               "[  30] conn 1     DRAINING -> LINGERING (all answered)\n"
               "[  31] conn 1     LINGERING -> CLOSED (peer eof)\n"
               "[  31] conn 1     freed\n");
}

RPC_TEST(work_beyond_the_limit_is_cancelled)
{
    stage_ask(&peer, 1, "hang", "[]");
    virtual_at(&net.v, AO_MS(10), net.activator, drain, NULL);
    virtual_at(&net.v, AO_MS(6810), net.activator, cancel, NULL);
    virtual_at(&net.v, AO_MS(6811), net.activator, close_peer, NULL);
    assert_string_equal(stage_said(), "1 failed: 'CANCELLED: the call was cancelled'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[  10] server     drains\n"
               "[  10] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
               "[6810] server     cancels\n"
               "[6810] conn 1     wrote 40 bytes, 0 left\n"
               "[6810] conn 1     DRAINING -> LINGERING (all answered)\n"
               "[6810] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
               "[6811] conn 1     LINGERING -> CLOSED (peer eof)\n"
               "[6811] conn 1     freed\n");
}

RPC_TEST(what_does_not_go_is_cut_off)
{
    peer.window = 4; /* it does not read */
    stage_ask(&peer, 1, "echo", "['some text']");
    virtual_at(&net.v, AO_MS(10), net.activator, drain, NULL);
    virtual_at(&net.v, AO_MS(7370), net.activator, abort_all, NULL);
    stage_run();
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] executor 1 done task 1 -> home: loop 0\n"
               "[   0] conn 1     wrote 4 bytes, 11 left\n"
               "[  10] server     drains\n"
               "[  10] conn 1     OPEN -> DRAINING (server drains)\n"
               "[7370] server     cuts off\n"
               "[7370] conn 1     DRAINING -> CLOSED (server stops)\n"
               "[7370] conn 1     freed\n");
}

RPC_TEST(nothing_is_read_after_the_drain)
{
    stage_run();
    stage_ask(&peer, 1, "sleep", "[30]");
    stage_run_ms(5);
    drain(NULL);
    stage_ask(&peer, 2, "echo", "[2]");
    virtual_at(&net.v, AO_MS(31), net.activator, close_peer, NULL);
    assert_string_equal(stage_said(), "1: [30]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   5] server     drains\n"
               "[   5] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
               "[  30] executor 1 done task 1 -> home: loop 0\n"
               "[  30] conn 1     wrote 6 bytes, 0 left\n"
               "[  30] conn 1     DRAINING -> LINGERING (all answered)\n"
               "[  31] conn 1     LINGERING -> CLOSED (peer eof)\n"
               "[  31] conn 1     freed\n");
}
