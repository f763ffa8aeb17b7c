/* Connections over which the server asks: always read, bounded all the same, and exact about what
 * was handed over. */
#include "server/net/serving.h"
#include "proto/encoder.h"
#include "server/net/connection/holdings.h"
#include "tests/support/net_world.h"

enum { OUTPUT = 300, REFUSALS = 65536 };

static char bytes[1 << 20];
static unsigned released;

static void release(void *block)
{
    released++;
}

/* What timers are for comes when a test wants it. */
static void settle(void)
{
    virtual_run_until(&net.v, net.v.now + AO_MS(1));
}

static void ask(struct connection *c, size_t size)
{
    conn_send_block(c, bytes, span_of(bytes, size), release);
    settle();
}

static struct connection *connect_worker(void)
{
    net.limits.output_max = OUTPUT;
    struct connection *c = net_connect(&peer);
    released = 0;
    settle();
    assert_true(conn_serve(c, true));
    return c;
}

static void answer(void)
{
    script_send(&peer, span_text("\x94\x01\x07\xc0\xc0"));
    settle();
}

/* --- It is always read --- */

NET_TEST(an_answer_is_read_however_much_waits_to_be_written)
{
    struct connection *c = connect_worker();

    peer.window = 0;
    ask(c, OUTPUT + 1);
    assert_true(conn_output_full(c));
    answer();
    assert_int_equal(net.echo.responses, 1);
    assert_true(conn_serve(c, false));
    answer();
    assert_int_equal(net.echo.responses, 1);
    assert_true(conn_serve(c, true));
    settle();
    assert_int_equal(net.echo.responses, 2);
}

NET_TEST(an_answer_is_read_whatever_its_peer_asked_and_holds)
{
    net.limits.in_flight = 1;
    net.limits.connection_bytes = 1000;
    struct connection *c = connect_worker();

    net_send(&peer, 1, "hold", "");
    conn_hold(c, 2000);
    answer();
    assert_int_equal(net.echo.responses, 1);
    conn_hold(c, -2000);
}

/* It stood still, by a limit, when it began to serve. */
NET_TEST(who_was_stopped_is_read_when_it_serves)
{
    net.limits.in_flight = 1;
    net_connect(&peer);
    for (uint8_t i = 1; i <= 1 + RESERVE_MESSAGES; i++)
        net_send(&peer, i, "hold", "");
    answer();
    assert_int_equal(net.echo.responses, 0);
    conn_serve(LIST_FIRST(&net.loop->all), true);
    settle();
    assert_int_equal(net.echo.responses, 1);
}

/* --- What its peer asks --- */

NET_TEST(what_it_asks_beyond_its_calls_is_refused)
{
    net.limits.in_flight = 2;
    connect_worker();
    for (uint8_t i = 1; i <= 3; i++)
        net_send(&peer, i, "hold", "");
    settle();
    assert_int_equal(net.echo.held_count, 2);
    assert_string_equal(net_answered(&peer), "3");
    assert_non_null(memmem(peer.out, peer.out_len, "BUSY", 4));
    echo_release(&net.echo, 1);
    net_send(&peer, 4, "hold", "");
    settle();
    assert_int_equal(net.echo.held_count, 2);
    assert_string_equal(net_answered(&peer), "3 1");
}

static void notify(const char *method)
{
    uint8_t note[64];
    uint8_t *at = enc_uint(enc_array(note, 3), 2);

    at = enc_array(enc_str(at, span_text(method)), 0);
    script_send(&peer, span_of(note, (size_t)(at - note)));
    settle();
}

NET_TEST(beyond_its_limits_what_begins_nothing_is_handed_over_and_no_other_notification)
{
    net.limits.in_flight = 1;
    connect_worker();
    notify("echo");
    assert_int_equal(net.echo.notifications, 1);
    net_send(&peer, 1, "hold", "");
    notify("echo");
    assert_int_equal(net.echo.notifications, 1);
    notify("note");
    assert_int_equal(net.echo.notifications, 2);
    net_send(&peer, 2, "note", "");
    settle();
    assert_string_equal(net_answered(&peer), "2");
}

NET_TEST(what_it_asks_is_refused_while_its_output_is_full)
{
    struct connection *c = connect_worker();

    peer.window = 0;
    ask(c, OUTPUT);
    net_send(&peer, 1, "echo", "");
    settle();
    assert_int_equal(net.echo.requests, 0);
    script_widen(&peer, SCRIPT_WINDOW);
    net_send(&peer, 2, "echo", "");
    settle();
    assert_int_equal(net.echo.requests, 1);
}

NET_TEST(who_asks_and_reads_no_refusal_is_closed)
{
    struct connection *c = connect_worker();

    peer.window = 0;
    for (int i = 0; i < 3000 && conn_serves(c); i++) {
        net_send(&peer, 1, "echo", "");
        virtual_round(&net.v, net.activator);
        assert_true(output_bytes(c) <= OUTPUT + REFUSALS + 1000);
        assert_true(peer.reads < 10000);
    }
    settle();
    assert_true(peer.closed);
    assert_int_equal(net.echo.gone, 1);
}

static void expect_refused_room(struct connection *c, uint64_t wanted)
{
    assert_false(conn_may_begin(c, wanted));
    conn_wait_for_room(c);
    assert_false(c->put_back || c->waits);
}

NET_TEST(what_it_may_not_hold_does_not_wait_for_room)
{
    net_close(NULL);
    net_wish =
        (struct net_wish){.accounts = {.bytes_in_all = 4000, .bytes = 1000, .calls = UINT32_MAX},
                          .connection_bytes = 3000};
    net_open(NULL);
    struct connection *c = connect_worker();

    conn_call_began(c, true);
    conn_call_began(c, true);
    conn_hold(c, 1500);
    settle();
    assert_true(tally_lacks(conn_tally(c), 0));
    expect_refused_room(c, 1);
    net_send(&peer, 1, "echo", "");
    answer();
    assert_int_equal(net.echo.requests, 0);
    assert_int_equal(net.echo.responses, 1);
    conn_hold(c, -1500);
    settle();
    assert_true(conn_may_begin(c, 1));
    net_send(&peer, 2, "echo", "");
    settle();
    assert_string_equal(net_answered(&peer), "1 2");
    conn_call_ended(c, true);
    conn_call_ended(c, true);
}

/* What it waits for as any other comes to it as soon as it is refused instead. */
NET_TEST(who_waited_for_room_does_not_when_it_serves)
{
    net_close(NULL);
    net_wish =
        (struct net_wish){.accounts = {.bytes_in_all = 4000, .bytes = 1000, .calls = UINT32_MAX}};
    net_open(NULL);
    struct connection *c = net_connect(&peer);

    settle();
    conn_hold(c, 1500);
    settle();
    answer();
    assert_int_equal(net.echo.responses, 0);
    assert_true(c->waits);
    conn_serve(c, true);
    settle();
    assert_int_equal(net.echo.responses, 1);
    assert_false(c->waits);
    conn_serve(c, false);
    settle();
    assert_true(c->waits);
    conn_hold(c, -1500);
}

/* --- What was handed over --- */

NET_TEST(what_the_stream_has_taken_is_counted)
{
    struct connection *c = connect_worker();

    net_send(&peer, 1, "echo", "");
    settle();
    uint64_t before = conn_handed(c);
    assert_int_equal(before, peer.out_len);
    peer.window = 150;
    conn_send_block(c, bytes, span_of(bytes, 100), release);
    uint64_t first = conn_committed(c);
    ask(c, 100);
    uint64_t second = conn_committed(c);
    assert_int_equal(first, before + 100);
    assert_int_equal(second, before + 200);
    assert_int_equal(conn_handed(c), before + 150);
    script_widen(&peer, 50);
    settle();
    assert_int_equal(conn_handed(c), second);
}

NET_TEST(its_port_hears_of_each_flush_and_others_do_not)
{
    struct connection *c = connect_worker();

    ask(c, 100);
    assert_int_equal(net.echo.flushed, 1);
    peer.window = 10;
    ask(c, OUTPUT + 100);
    assert_true(conn_output_full(c));
    uint64_t flushed = net.echo.flushed;
    assert_true(flushed > 1);
    script_widen(&peer, 100);
    settle();
    assert_true(net.echo.flushed > flushed);
    assert_false(conn_output_full(c));
    flushed = net.echo.flushed;
    conn_serve(c, false);
    script_widen(&peer, SCRIPT_WINDOW);
    settle();
    assert_int_equal(net.echo.flushed, flushed);
}

static void send_more(struct connection *c)
{
    if (conn_committed(c) < 10000)
        conn_send_block(c, bytes, span_of(bytes, 100), release);
}

NET_TEST(a_port_may_send_more_when_something_was_written)
{
    struct connection *c = connect_worker();

    net.echo.on_flushed = send_more;
    ask(c, 100);
    assert_int_equal(peer.out_len, 10000);
    assert_int_equal(released, 100);
}

static void close_it(struct connection *c)
{
    conn_close(c, "the port closes");
}

NET_TEST(a_port_may_close_when_something_was_written)
{
    struct connection *c = connect_worker();

    net.echo.on_flushed = close_it;
    ask(c, 100);
    assert_true(peer.closed);
    assert_int_equal(net.echo.gone, 1);
    net_close(NULL);
}

/* Others have what it is not handed: it must not come to it late. */
NET_TEST(nothing_is_handed_over_after_the_end)
{
    struct connection *c = connect_worker();

    peer.window = 10;
    ask(c, 100);
    conn_send_block(c, bytes, span_of(bytes, 100), release);
    conn_close(c, "the test wants it");
    assert_int_equal(c->state, CONN_CLOSED);
    assert_int_equal(conn_handed(c), 10);
    script_widen(&peer, SCRIPT_WINDOW);
    settle();
    assert_int_equal(peer.out_len, 10);
    assert_int_equal(released, 2);
    assert_int_equal(net.echo.gone, 1);
}

NET_TEST(what_fits_is_still_written_when_it_closes)
{
    enum { LONG = 3 << 20 /* more than a step writes */ };
    static char block[LONG];
    struct connection *c = connect_worker();

    conn_send_block(c, block, span_of(block, LONG), release);
    conn_close(c, "the test wants it");
    assert_int_equal(conn_handed(c), LONG);
    settle();
    assert_int_equal(peer.out_len, LONG);
}

/* --- Its peer finishes --- */

NET_TEST(its_port_hears_that_the_peer_sends_no_more)
{
    struct connection *c = connect_worker();

    net_send(&peer, 1, "hold", "");
    answer();
    conn_send_block(c, bytes, span_of(bytes, 100), release);
    script_send_eof(&peer);
    settle();
    assert_int_equal(net.echo.finished, 1);
    assert_int_equal(net.echo.gone, 0);
    assert_int_equal(conn_handed(c), conn_committed(c));
    assert_false(conn_serves(c) || conn_serve(c, true));
    echo_release(&net.echo, 1);
    settle();
    assert_int_equal(peer.out_len, 105);
    assert_int_equal(net.echo.gone, 1);
}

NET_TEST(who_finishes_and_does_not_read_is_gone)
{
    struct connection *c = connect_worker();

    peer.window = 10;
    ask(c, 100);
    script_send_eof(&peer);
    settle();
    assert_int_equal(net.echo.finished, 0);
    assert_int_equal(net.echo.gone, 1);
    assert_true(peer.closed);
    net_close(NULL);
    assert_int_equal(released, 1);
    (void)c;
}

/* So many parts that one flush does not write them all. */
NET_TEST(who_finishes_and_reads_is_handed_what_was_committed)
{
    connect_worker();
    for (int i = 0; i < 5000; i++)
        conn_send_block(LIST_FIRST(&net.loop->all), bytes, span_of(bytes, 1), release);
    script_send_eof(&peer);
    settle();
    assert_int_equal(peer.out_len, 5000);
    assert_int_equal(net.echo.finished, 1);
}

NET_TEST(who_does_not_serve_finishes_unheard)
{
    conn_serve(connect_worker(), false);
    script_send_eof(&peer);
    settle();
    assert_int_equal(net.echo.finished, 0);
    assert_int_equal(net.echo.gone, 1);
}

/* Nothing may stay in its output then: it may refer to tasks, which are others' from here on. */
NET_TEST(whose_peer_leaves_while_there_is_no_room_to_read_is_closed)
{
    net.limits.partial = (struct input_limits){.shared = 1, .own = 1};
    struct connection *c = connect_worker();

    answer();
    assert_int_equal(net.echo.responses, 0);
    assert_true(c->stopped);
    script_leave(&peer);
    settle();
    assert_true(peer.closed);
    assert_int_equal(net.echo.gone, 1);
}

/* Whoever waits for its answers is told. */
NET_TEST(why_it_ended_is_known)
{
    connect_worker();
    net_send(&peer, 1, "hold", "");
    script_send_eof(&peer);
    settle();
    assert_string_equal(net.echo.why, "it has closed its side of the connection");
    echo_release(&net.echo, 1);
    settle();
    connect_worker();
    script_reset(&peer);
    settle();
    assert_string_equal(net.echo.why, "the connection was reset");
    conn_close(connect_worker(), "the test wants it");
    settle();
    assert_string_equal(net.echo.why, "the test wants it");
}

/* --- Time --- */

NET_TEST(its_silence_is_no_idleness)
{
    net.limits.idle_timeout = AO_S(1);
    struct connection *c = connect_worker();

    net_run_ms(10000);
    assert_int_equal(c->state, CONN_OPEN);
    answer();
    conn_serve(c, false);
    net_run_ms(10500);
    assert_int_equal(c->state, CONN_OPEN);
    net_run_ms(11100);
    assert_true(peer.closed);
}

/* It computes, and reads nothing meanwhile. */
NET_TEST(who_does_not_read_what_is_pushed_goes_on_serving)
{
    net.limits.unread = AO_S(10);
    struct connection *c = connect_worker();

    peer.window = 0;
    assert_true(conn_may_push(c, 100));
    ask(c, 100);
    net_run_ms(60000);
    assert_true(conn_serves(c));
    assert_false(conn_may_push(c, OUTPUT));
}

/* --- Whether its peer's machine is there --- */

static struct connection *connect_watched(void)
{
    net.limits.silence = AO_S(15);
    return connect_worker();
}

NET_TEST(its_peers_system_is_asked_often)
{
    net.limits.silence = AO_S(15);
    struct connection *c = net_connect(&peer);

    settle();
    assert_int_equal(peer.asks.count, 0);
    conn_serve(c, true);
    assert_int_equal(peer.asks.quiet, 5);
    assert_int_equal(peer.asks.interval, 3);
    assert_int_equal(peer.asks.count, 3);
}

NET_TEST(a_system_that_acknowledges_nothing_is_lost)
{
    struct connection *c = connect_watched();

    ask(c, 100);
    peer.silence = (struct stream_silence){.since = AO_S(14), .asked = true, .waits = true};
    net_run_ms(60000);
    assert_true(conn_serves(c));
    peer.silence.since = AO_S(15);
    net_run_ms(63100);
    assert_true(peer.closed);
    assert_string_equal(net.echo.why, "its machine acknowledges nothing (workers.silence)");
}

/* Nothing had been asked of it before, so nothing was to be heard. */
NET_TEST(who_was_just_written_to_has_time_to_acknowledge)
{
    struct connection *c = connect_watched();

    peer.silence = (struct stream_silence){.since = AO_S(100), .asked = true, .waits = true};
    ask(c, 100);
    net_run_ms(5900);
    assert_true(conn_serves(c));
    peer.silence = (struct stream_silence){.since = 0};
    net_run_ms(60000);
    assert_true(conn_serves(c));
}

/* Its system answers for it, and asks for patience. */
NET_TEST(who_only_does_not_read_is_not_lost)
{
    struct connection *c = connect_watched();

    peer.window = 0;
    ask(c, 100);
    peer.silence = (struct stream_silence){.since = AO_S(50), .waits = true};
    net_run_ms(600000);
    assert_true(conn_serves(c));
    peer.silence.asked = true; /* and does no longer */
    net_run_ms(607000);
    assert_true(peer.closed);
}

/* No timer runs for a worker that has all that it was sent. */
NET_TEST(nobody_looks_when_all_was_acknowledged)
{
    struct connection *c = connect_watched();

    ask(c, 100);
    assert_true(c->looks);
    net_run_ms(3100);
    assert_false(c->looks);
    ask(c, 100);
    peer.mute = true; /* of a Unix socket nothing is known, and all is heard */
    peer.silence = (struct stream_silence){.since = AO_S(100), .asked = true, .waits = true};
    net_run_ms(20000);
    assert_true(conn_serves(c));
    assert_false(c->looks);
}

/* --- The server drains --- */

NET_TEST(a_drain_goes_on_reading_it)
{
    struct connection *c = connect_worker();

    net_order(LOOP_DRAIN);
    settle();
    assert_int_equal(net.loop->staying, 1);
    answer();
    assert_int_equal(net.echo.responses, 1);
    net_send(&peer, 1, "echo", "");
    notify("note");
    notify("echo");
    assert_int_equal(net.echo.requests, 0);
    assert_int_equal(net.echo.notifications, 1);
    assert_non_null(memmem(peer.out, peer.out_len, "DRAINING", 8));
    assert_true(conn_serves(c));
    conn_serve(c, false);
    settle();
    assert_int_equal(net.loop->staying, 0);
    assert_true(peer.shut);
}

NET_TEST(a_drain_waits_for_what_its_peer_has_asked_before)
{
    connect_worker();
    net_send(&peer, 1, "hold", "");
    settle();
    net_order(LOOP_DRAIN);
    settle();
    assert_int_equal(net.loop->staying, 0);
    echo_release(&net.echo, 1);
    settle();
    assert_int_equal(net.loop->staying, 1);
    script_reset(&peer);
    settle();
    assert_int_equal(net.loop->staying, 0);
}

NET_TEST(nobody_begins_to_serve_when_the_server_drains)
{
    struct connection *c = net_connect(&peer);

    net_send(&peer, 1, "hold", "");
    settle();
    net_order(LOOP_DRAIN);
    assert_false(conn_serve(c, true));
    settle();
    assert_false(conn_serve(c, true));
    assert_true(conn_serve(c, false));
}

NET_TEST(an_abort_ends_it)
{
    connect_worker();
    net_order(LOOP_DRAIN);
    settle();
    net_order(LOOP_ABORT);
    settle();
    assert_true(peer.closed);
    assert_int_equal(net.loop->staying, 0);
    assert_int_equal(net.echo.gone, 1);
}

NET_TEST(its_port_has_a_second_pointer)
{
    struct connection *c = net_connect(&peer);

    assert_null(conn_service(c));
    assert_true(conn_set_service(c, &net));
    assert_null(*conn_user(c));
    assert_ptr_equal(conn_service(c), &net);
    assert_true(conn_set_service(c, NULL));
    assert_null(c->cold);
}
