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

/* To copy megabytes to the system takes long, however many it takes at once. */
NET_TEST(a_round_writes_so_many_bytes)
{
    enum { SIZE = 3 << 20, MOST = 2 << 20 };
    static char block[SIZE];
    struct connection *c = net_connect(&peer);

    released = 0;
    net_run_ms(1);
    conn_send_block(c, block, span_of(block, SIZE), release);
    virtual_round(&net.v, net.activator);
    assert_int_equal(peer.out_len, MOST);
    assert_true(c->stream.watched & STREAM_WRITE);
    net_run_ms(2);
    assert_int_equal(peer.out_len, SIZE);
    assert_int_equal(released, 1);
    assert_false(c->stream.watched & STREAM_WRITE);
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

static void push(struct connection *c)
{
    static char events[200];

    assert_true(conn_may_push(c, sizeof events));
    conn_send_block(c, events, span_of(events, sizeof events), release);
    virtual_round(&net.v, net.activator);
}

static struct connection *connect_watcher(void)
{
    net.limits.unread = AO_S(10);
    struct connection *c = net_connect(&peer);
    net_run_ms(1);
    conn_mode(c)->push = true;
    return c;
}

NET_TEST(who_does_not_read_what_is_pushed_is_told_and_closed)
{
    struct net_loop_stats stats = {0};
    struct connection *c = connect_watcher();

    peer.window = 100;
    push(c);
    net_run_ms(9000);
    assert_int_equal(c->state, CONN_OPEN);
    script_widen(&peer, 50); /* slow */
    net_run_ms(18000);
    push(c);
    assert_int_equal(c->state, CONN_OPEN);
    net_run_ms(19010);
    assert_int_equal(c->state, CONN_FLUSHING);
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(19020);
    assert_int_equal(c->state, CONN_LINGERING);
    assert_memory_equal(peer.out + 400,
                        "\x93\x02\xaeserver.closing\x92\xa4"
                        "BUSY",
                        22);
    net_loop_add_stats(net.loop, &stats);
    assert_int_equal(stats.unread, 1);
}

/* As TLS keeps what it has encrypted: none of `out` goes, and yet the peer reads. */
NET_TEST(who_reads_the_backlog_of_the_stream_reads)
{
    struct connection *c = connect_watcher();

    c->stream.backlog = 1000;
    peer.window = 0;
    push(c);
    net_run_ms(9000);
    script_widen(&peer, 50); /* slow */
    net_run_ms(18000);
    assert_int_equal(c->stream.backlog, 950);
    assert_int_equal(c->state, CONN_OPEN);
    net_run_ms(19020); /* and no more */
    assert_int_equal(c->state, CONN_FLUSHING);
    assert_int_equal(peer.out_len, 0);
}

NET_TEST(who_reads_what_is_pushed_stays)
{
    struct connection *c = connect_watcher();

    peer.window = 100;
    push(c);
    net_run_ms(9000);
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(60000);
    push(c);
    net_run_ms(120000);
    assert_int_equal(c->state, CONN_OPEN);
    assert_int_equal(peer.out_len, 400);
}

NET_TEST(who_has_not_read_is_pushed_no_more_than_fits)
{
    net.limits.output_max = 300;
    struct connection *c = connect_watcher();

    peer.window = 0;
    push(c);
    assert_false(conn_may_push(c, 101));
    assert_true(conn_may_push(c, 100));
    script_widen(&peer, SCRIPT_WINDOW);
    virtual_run(&net.v);
    assert_true(conn_may_push(c, 1000)); /* one, whatever its size */
}

/* What was asked for may wait: its peer is not read any further meanwhile. */
NET_TEST(who_does_not_read_answers_alone_stays)
{
    struct connection *c = connect_watcher();

    push(c); /* and is read */
    peer.window = 3;
    net_send(&peer, 1, "echo", "");
    net_run_ms(120000);
    assert_int_equal(c->state, CONN_OPEN);
    assert_true(c->stream.watched & STREAM_WRITE);
}
