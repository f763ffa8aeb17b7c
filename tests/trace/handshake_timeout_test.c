/* A handshake that does not end, ends the connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void it_takes_too_long(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.handshake_timeout = AO_MS(250);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    peer.handshakes = -1;
    net_world_run_ms(&w, 100);
    script_send(&peer, span_of("never enough", 12)); /* buys no time */
    net_world_run_ms(&w, 1000);
    net_expect(&w, "[ 250] conn 1     HANDSHAKE -> CLOSED (handshake took too long)\n"
                   "[ 250] conn 1     freed\n");
    assert_int_equal(w.echo.gone, 0); /* the port never saw it */
    script_fini(&peer);
    net_world_fini(&w);
}

static void it_ends_in_time(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.handshake_timeout = AO_MS(250);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    peer.handshakes = 2;
    net_world_run_ms(&w, 100);
    script_send(&peer, span_of("x", 1));
    net_world_run_ms(&w, 200);
    net_send(&peer, 1, "echo", ""); /* came with the handshake's last bytes */
    net_world_run_ms(&w, 1000);
    net_expect(&w, "[ 200] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[ 200] conn 1     wrote 6 bytes, 0 left\n");
    script_fini(&peer);
    net_world_fini(&w);
}

static void the_peer_gives_up(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    peer.handshakes = -1;
    net_world_run_ms(&w, 1);
    script_send_eof(&peer);
    net_world_run_ms(&w, 2);
    net_expect(&w, "[   1] conn 1     HANDSHAKE -> CLOSED (handshake failed)\n"
                   "[   1] conn 1     freed\n");
    script_fini(&peer);
    net_world_fini(&w);
}

/* Many at once do not keep those waiting who are being served. */
static void a_round_does_few(void **state)
{
    enum { PEERS = 3 * HANDSHAKES_A_ROUND };
    struct net_world w;
    struct script peers[PEERS];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    for (int i = 0; i < PEERS; i++)
        net_world_connect(&w, &peers[i]);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned open = 0;
        virtual_round(&w.v, w.activator);
        for (const struct connection *c = w.loop->first; c != NULL; c = c->next)
            open += c->state == CONN_OPEN;
        assert_int_equal(open, round * HANDSHAKES_A_ROUND);
    }
    for (int i = 0; i < PEERS; i++)
        script_fini(&peers[i]);
    net_world_fini(&w);
}

/* What a peer sends meanwhile, or that it could be written to later, is no reason to try again. */
static void it_waits_for_one_thing(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    struct connection *c = net_world_connect(&w, &peer);
    peer.window = 100;
    peer.flight = 300;
    peer.handshakes = 1;
    net_world_run_ms(&w, 1);
    assert_int_equal(c->stream.watched, STREAM_WRITE);
    script_widen(&peer, SCRIPT_WINDOW);
    net_world_run_ms(&w, 2);
    assert_int_equal(c->stream.watched, STREAM_READ);
    net_send(&peer, 1, "echo", "");
    net_world_run_ms(&w, 3);
    assert_int_equal(c->state, CONN_OPEN);
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_takes_too_long),      cmocka_unit_test(it_ends_in_time),
        cmocka_unit_test(the_peer_gives_up),      cmocka_unit_test(a_round_does_few),
        cmocka_unit_test(it_waits_for_one_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
