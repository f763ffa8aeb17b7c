/* Output: what a round writes, what becomes of blocks, and that nothing is left waiting. */
#include "tests/support/heap.h"
#include "tests/support/net_world.h"

enum { ARGUMENT = 100, ANSWER = 4 + 1 + 2 + ARGUMENT };

static unsigned released;

static void release(void *block)
{
    released++;
}

static void send_block(struct connection *c)
{
    static char block[] = "x";

    conn_send_block(c, block, span_text(block), release);
}

NET_TEST(what_stops_at_the_budget_of_a_round_goes_on)
{
    enum { BLOCKS = 2000 };
    struct connection *c = net_connect(&peer);

    released = 0;
    net_run_ms(1);
    for (int i = 0; i < BLOCKS; i++)
        send_block(c);
    virtual_round(&net.v, net.activator);
    assert_in_range(peer.out_len, 1, BLOCKS / 2);
    net_run_ms(2);
    assert_int_equal(peer.out_len, BLOCKS);
    assert_int_equal(released, BLOCKS);
}

NET_TEST(a_block_that_cannot_be_sent_is_freed)
{
    struct connection *c = net_connect(&peer);

    released = 0;
    net_run_ms(1);
    heap_fail_at(1);
    send_block(c);
    assert_true(heap_failed());
    heap_fail_at(0);
    assert_int_equal(released, 1);
    assert_int_equal(c->state, CONN_CLOSED);
    send_block(c);
    assert_int_equal(released, 2);
}

/* One that stopped for its answers, though its peer reads: they leave at the round's end. */
NET_TEST(who_was_stopped_is_read_again_when_all_is_written)
{
    char argument[ARGUMENT + 1] = "";

    memset(argument, 'x', ARGUMENT);
    net.limits.output_max = 2 * ANSWER;
    net_connect(&peer);
    for (uint8_t i = 1; i <= 9; i++)
        net_send(&peer, i, "echo", argument);
    net_run_ms(1);
    assert_string_equal(net_answered(&peer), "1 2 3 4 5 6 7 8 9");
}

/* A peer that can be written to is no news, and would be told in every round. */
NET_TEST(room_to_write_is_asked_for_while_something_waits)
{
    const struct connection *c = net_connect(&peer);

    peer.window = 3;
    net_send(&peer, 1, "echo", "");
    net_run_ms(1);
    assert_true(c->stream.watched & STREAM_WRITE);
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(2);
    assert_string_equal(net_answered(&peer), "1");
    assert_false(c->stream.watched & STREAM_WRITE);
}
