/* A connection under any order of events: peers that vanish at every point leave nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/net/auth/principal.h"
#include "tests/support/heap.h"
#include "tests/support/net_world.h"

enum { LIVES = 10000, EVENTS = 24 };

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void quiet(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static void open_world(struct net_world *w)
{
    net_world_init(w);
    w->record = quiet;
    w->limits.in_flight = 3;
    w->limits.output_max = 300;
    w->limits.idle_timeout = AO_MS(500);
    w->limits.handshake_timeout = AO_MS(50);
    w->limits.partial_total = 2000;
    net_world_open(w);
}

/* One thing that a peer, a handler or the server does. */
static void happen(struct net_world *w, struct script *peer, uint64_t *seed)
{
    static const char *const methods[] = {"echo", "hold", "poll", "close", "echo", "hold"};
    uint8_t bytes[256];
    uint64_t r = next_random(seed);
    uint8_t id = (uint8_t)(r >> 32 & 0x7f);

    switch (r % 16) {
    case 0:
        script_send_eof(peer);
        break;
    case 1:
        script_reset(peer);
        break;
    case 2:
        echo_release(&w->echo, (uint32_t)(r >> 40 & 7));
        break;
    case 3:
        script_widen(peer, r >> 40 & 255);
        break;
    case 4:
        peer->window = r >> 40 & 63;
        break;
    case 5: /* part of a message; what follows may be nonsense then */
        script_send(peer, span_of(bytes, net_request(bytes, id, "echo", "part") / 2));
        break;
    case 6:
        if (w->loop->first != NULL)
            conn_close(w->loop->first, "the test wants it");
        break;
    case 7:
        virtual_run_until(&w->v, w->v.now + AO_MS(r >> 40 & 255));
        break;
    case 8:
        virtual_round(&w->v, w->activator);
        break;
    default:
        net_send(peer, id, methods[r >> 40 & 3], "some argument");
        break;
    }
}

static void end_of_all(struct net_world *w, struct script *peer, uint64_t r)
{
    switch (r % 4) {
    case 0:
        script_reset(peer);
        break;
    case 1:
        script_send_eof(peer);
        script_widen(peer, SCRIPT_WINDOW);
        break;
    case 2:
        net_world_order(w, LOOP_ABORT);
        break;
    default:
        net_world_order(w, LOOP_DRAIN);
        script_widen(peer, SCRIPT_WINDOW);
        break;
    }
    for (int i = 0; i < 40; i++) {
        virtual_run_until(&w->v, w->v.now + AO_MS(500));
        echo_release(&w->echo, ECHO_HELD_MAX);
    }
}

static void nothing_stays_of_a_peer_that_vanishes(void **state)
{
    struct net_world w;
    int64_t live = 0;

    (void)state;
    open_world(&w);
    for (uint64_t life = 1; life <= LIVES; life++) {
        uint64_t seed = life * 0x9e3779b97f4a7c15u;
        struct script peer;
        uint64_t gone = w.echo.gone;
        uint64_t seen = w.echo.requests;
        struct connection *c = net_world_connect(&w, &peer);
        assert_non_null(c);
        peer.handshakes = (int)(next_random(&seed) % 3);
        for (uint64_t n = next_random(&seed) % EVENTS; n > 0; n--)
            happen(&w, &peer, &seed);
        end_of_all(&w, &peer, next_random(&seed));
        assert_null(w.loop->first);
        assert_true(peer.closed);
        assert_int_equal(w.loop->partials.total, 0);
        assert_true(w.echo.gone - gone <= 1);
        assert_true(w.echo.requests == seen || w.echo.gone - gone == 1);
        script_fini(&peer);
        w.loop->draining = false;
        if (life == 100) /* pools are as large as they get */
            live = heap_live();
    }
    assert_true(heap_live() <= live + 8);
    net_world_fini(&w);
}

static void what_it_is_and_what_it_may(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.rules.raw = true;
    net_world_open(&w);
    struct connection *c = net_world_connect(&w, &peer);
    net_world_run_ms(&w, 1);
    assert_int_equal(conn_id(c), 1);
    assert_null(conn_tokens(c)); /* no token file is configured */
    assert_string_equal(conn_peer(c), "192.0.2.1:4711");
    assert_true(conn_mode(c)->raw);
    assert_true(conn_auth_required(c));
    assert_null(conn_principal(c));
    const struct principal *p = principal_new("alice", "*");
    conn_set_principal(c, p);
    principal_unref(p);
    assert_string_equal(principal_name(conn_principal(c)), "alice");
    *conn_user(c) = &w;
    assert_ptr_equal(*conn_user(c), &w);
    assert_true(conn_auth_failed(c));
    assert_true(conn_auth_failed(c));
    assert_false(conn_auth_failed(c)); /* the third is the last */
    net_world_run_ms(&w, 2);
    assert_true(peer.shut);
    assert_null(conn_reserve(c, 10));
    script_fini(&peer);
    net_world_fini(&w);
}

/* The loop ends while connections live, in every state: the port is told, and all is freed. */
static void a_loop_that_ends_takes_all_with_it(void **state)
{
    struct net_world w;
    struct script peers[4];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    for (int i = 0; i < 4; i++)
        net_world_connect(&w, &peers[i]);
    peers[0].handshakes = -1;
    for (uint8_t i = 1; i < 4; i++)
        net_send(&peers[i], i, i == 1 ? "close" : "hold", "");
    script_send_eof(&peers[2]);
    net_world_run_ms(&w, 1);
    echo_release(&w.echo, 2); /* committed and not written */
    net_world_fini(&w);
    for (int i = 0; i < 4; i++) {
        assert_true(peers[i].closed);
        script_fini(&peers[i]);
    }
    assert_int_equal(w.echo.gone, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_of_a_peer_that_vanishes),
        cmocka_unit_test(what_it_is_and_what_it_may),
        cmocka_unit_test(a_loop_that_ends_takes_all_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
