/* A handshake that does not end, ends the connection. */
#include "tests/support/net_world.h"

NET_TEST(it_takes_too_long)
{
    net.limits.handshake_timeout = AO_MS(250);
    net_connect(&peer);
    peer.handshakes = -1;
    net_run_ms(100);
    script_send(&peer, span_of("never enough", 12)); /* buys no time */
    net_run_ms(1000);
    net_expect("[ 250] conn 1     HANDSHAKE -> CLOSED (handshake took too long)\n"
               "[ 250] conn 1     freed\n");
    assert_int_equal(net.echo.gone, 0); /* the port never saw it */
}

NET_TEST(it_ends_in_time)
{
    net.limits.handshake_timeout = AO_MS(250);
    net_connect(&peer);
    peer.handshakes = 2;
    net_run_ms(100);
    script_send(&peer, span_of("x", 1));
    net_run_ms(200);
    net_send(&peer, 1, "echo", ""); /* came with the handshake's last bytes */
    net_run_ms(1000);
    net_expect("[ 200] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[ 200] conn 1     wrote 6 bytes, 0 left\n");
}

NET_TEST(the_peer_gives_up)
{
    net_connect(&peer);
    peer.handshakes = -1;
    net_run_ms(1);
    script_send_eof(&peer);
    net_run_ms(2);
    net_expect("[   1] conn 1     HANDSHAKE -> CLOSED (handshake failed)\n"
               "[   1] conn 1     freed\n");
}

/* Many at once do not keep those waiting who are being served. */
NET_TEST(a_round_does_few)
{
    enum { PEERS = 3 * HANDSHAKES_A_ROUND };
    static struct script peers[PEERS];

    for (int i = 0; i < PEERS; i++)
        net_connect(&peers[i]);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned open = 0;
        virtual_round(&net.v, net.activator);
        const struct connection *c;
        LIST_FOREACH(c, &net.loop->all, link)
        open += c->state == CONN_OPEN;
        assert_int_equal(open, round * HANDSHAKES_A_ROUND);
    }
}

/* What a peer sends meanwhile, or that it could be written to later, is no reason to try again. */
NET_TEST(it_waits_for_one_thing)
{
    struct connection *c = net_connect(&peer);
    peer.window = 100;
    peer.flight = 300;
    peer.handshakes = 1;
    net_run_ms(1);
    assert_int_equal(c->stream.watched, STREAM_WRITE);
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(2);
    assert_int_equal(c->stream.watched, STREAM_READ);
    net_send(&peer, 1, "echo", "");
    net_run_ms(3);
    assert_int_equal(c->state, CONN_OPEN);
}

/* The handshake's last bytes brought a request along, and then the handshake had to wait until the
 * peer took ours: no event tells of the request. */
NET_TEST(a_request_inside_of_the_stream_is_not_forgotten)
{
    net_connect(&peer);
    peer.window = 100;
    peer.flight = 300;
    peer.inside = true;
    net_send(&peer, 1, "echo", "");
    net_run_ms(1);
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(2);
    assert_string_equal(net_answered(&peer), "1");
}
