/* The server stops with work in flight, as a client sees it: what was read is answered, then the
 * connection closes. */
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

static void order(enum loop_message_kind kind)
{
    struct loop_message message = {.kind = (uint8_t)kind};

    loop_handle(w.net, &message);
}

static void drain(void *arg)
{
    (void)arg;
    virtual_say(&w.v, "server", 0, "drains");
    order(LOOP_DRAIN);
}

static void cancel(void *arg)
{
    (void)arg;
    virtual_say(&w.v, "server", 0, "cancels");
    tasks_cancel_all(w.tasks);
}

static void abort_all(void *arg)
{
    (void)arg;
    virtual_say(&w.v, "server", 0, "cuts off");
    order(LOOP_ABORT);
}

static void close_peer(void *arg)
{
    (void)arg;
    script_send_eof(&peer);
}

static void work_within_the_limit_is_finished(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "sleep", "[30]");
    rpc_world_ask(&peer, 2, "block", "[2]");
    rpc_world_ask(&peer, 3, "echo", "[3]");
    virtual_at(&w.v, AO_MS(10), w.activator, drain, NULL);
    virtual_at(&w.v, AO_MS(31), w.activator, close_peer, NULL);
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "3: [3]\n2: [2]\n1: [30]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
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

static void work_beyond_the_limit_is_cancelled(void **state)
{
    (void)state;
    rpc_world_ask(&peer, 1, "hang", "[]");
    virtual_at(&w.v, AO_MS(10), w.activator, drain, NULL);
    virtual_at(&w.v, AO_MS(6810), w.activator, cancel, NULL);
    virtual_at(&w.v, AO_MS(6811), w.activator, close_peer, NULL);
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer),
                        "1 failed: 'CANCELLED: the call was cancelled'\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
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

static void what_does_not_go_is_cut_off(void **state)
{
    (void)state;
    peer.window = 4; /* it does not read */
    rpc_world_ask(&peer, 1, "echo", "['some text']");
    virtual_at(&w.v, AO_MS(10), w.activator, drain, NULL);
    virtual_at(&w.v, AO_MS(7370), w.activator, abort_all, NULL);
    rpc_world_run(&w);
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] conn 1     wrote 4 bytes, 11 left\n"
                       "[  10] server     drains\n"
                       "[  10] conn 1     OPEN -> DRAINING (server drains)\n"
                       "[7370] server     cuts off\n"
                       "[7370] conn 1     DRAINING -> CLOSED (server stops)\n"
                       "[7370] conn 1     freed\n");
}

static void nothing_is_read_after_the_drain(void **state)
{
    (void)state;
    rpc_world_run(&w);
    rpc_world_ask(&peer, 1, "sleep", "[30]");
    rpc_world_run_ms(&w, 5);
    drain(NULL);
    rpc_world_ask(&peer, 2, "echo", "[2]");
    virtual_at(&w.v, AO_MS(31), w.activator, close_peer, NULL);
    rpc_world_run(&w);
    assert_string_equal(rpc_world_said(&w, &peer), "1: [30]\n");
    trace_expect(&w.v, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   5] server     drains\n"
                       "[   5] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
                       "[  30] executor 1 done task 1 -> home: loop 0\n"
                       "[  30] conn 1     wrote 6 bytes, 0 left\n"
                       "[  30] conn 1     DRAINING -> LINGERING (all answered)\n"
                       "[  31] conn 1     LINGERING -> CLOSED (peer eof)\n"
                       "[  31] conn 1     freed\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(work_within_the_limit_is_finished),
        TEST(work_beyond_the_limit_is_cancelled),
        TEST(what_does_not_go_is_cut_off),
        TEST(nothing_is_read_after_the_drain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
