/* A connection under any order of events: peers that vanish at every point leave nothing behind. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"
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
}

static void lower_limits(void)
{
    net.record = quiet;
    net.limits.in_flight = 3;
    net.limits.output_max = 300;
    net.limits.idle_timeout = AO_MS(500);
    net.limits.handshake_timeout = AO_MS(50);
    net.limits.partial = (struct input_limits){.shared = 9000, .own = 500};
}

/* One thing that a peer, a handler or the server does. */
static void happen(uint64_t *seed)
{
    static const char *const methods[] = {"echo", "hold", "poll", "close", "echo", "hold"};
    uint8_t bytes[256];
    uint64_t r = next_random(seed);
    uint8_t id = (uint8_t)(r >> 32 & 0x7f);

    switch (r % 16) {
    case 0:
        script_send_eof(&peer);
        break;
    case 1:
        (r & 1 << 20 ? script_leave : script_reset)(&peer);
        break;
    case 2:
        echo_release(&net.echo, (uint32_t)(r >> 40 & 7));
        break;
    case 3:
        script_widen(&peer, r >> 40 & 255);
        break;
    case 4:
        peer.window = r >> 40 & 63;
        break;
    case 5: /* part of a message; what follows may be nonsense then */
        script_send(&peer, span_of(bytes, net_request(bytes, id, "echo", "part") / 2));
        break;
    case 6:
        if (LIST_FIRST(&net.loop->all) != NULL)
            conn_close(LIST_FIRST(&net.loop->all), "the test wants it");
        break;
    case 7:
        virtual_run_until(&net.v, net.v.now + AO_MS(r >> 40 & 255));
        break;
    case 8:
        virtual_round(&net.v, net.activator);
        break;
    case 9:
        if (LIST_FIRST(&net.loop->all) != NULL)
            conn_serve(LIST_FIRST(&net.loop->all), r >> 40 & 1);
        break;
    default:
        net_send(&peer, id, methods[r >> 40 & 3], "some argument");
        break;
    }
}

static void end_of_all(uint64_t r)
{
    switch (r % 4) {
    case 0:
        (r & 4 ? script_leave : script_reset)(&peer);
        break;
    case 1:
        script_send_eof(&peer);
        script_widen(&peer, SCRIPT_WINDOW);
        break;
    case 2:
        net_order(LOOP_ABORT);
        break;
    default:
        if (LIST_FIRST(&net.loop->all) != NULL)
            conn_serve(LIST_FIRST(&net.loop->all), false);
        net_order(LOOP_DRAIN);
        script_widen(&peer, SCRIPT_WINDOW);
        break;
    }
    for (int i = 0; i < 40; i++) {
        virtual_run_until(&net.v, net.v.now + AO_MS(500));
        echo_release(&net.echo, ECHO_HELD_MAX);
    }
}

static void know_sometimes(struct connection *c, uint64_t life)
{
    if (life % 3 != 0)
        return;
    const struct principal *p = principal_new(
        &(struct principal_options){PRINCIPAL_TOKEN, "alice", .tenant = NULL, .methods = "*"});
    conn_set_principal(c, p);
    conn_set_principal(c, p); /* says it a second time */
    principal_unref(p);
}

NET_TEST(nothing_stays_of_a_peer_that_vanishes)
{
    int64_t live = 0;

    lower_limits();
    for (uint64_t life = 1; life <= LIVES; life++) {
        uint64_t seed = life * 0x9e3779b97f4a7c15u;
        uint64_t gone = net.echo.gone;
        uint64_t seen = net.echo.requests;
        struct connection *c = net_connect(&peer);
        assert_non_null(c);
        peer.handshakes = (int)(next_random(&seed) % 3);
        conn_mode(c)->fin_ends = life % 2 == 0;
        know_sometimes(c, life);
        for (uint64_t n = next_random(&seed) % EVENTS; n > 0; n--)
            happen(&seed);
        end_of_all(next_random(&seed));
        assert_null(LIST_FIRST(&net.loop->all));
        assert_true(peer.closed);
        assert_int_equal(net.loop->partials.total, 0);
        uint64_t times = net.echo.gone - gone; /* more than once only if it leaves unread */
        assert_true(times <= 1 || peer.left || (peer.eof && life % 2 == 0));
        assert_true(net.echo.requests == seen || times > 0);
        net.loop->draining = false;
        if (life == 100) /* pools are as large as they get */
            live = heap_live();
    }
    assert_true(heap_live() <= live + 8);
}

NET_TEST(a_connection_says_what_it_is)
{
    net.rules.raw = true;
    net.rules.auth = LISTENER_AUTH_TOKEN;
    struct connection *c = net_connect(&peer);
    net_run_ms(1);
    assert_int_equal(conn_id(c), 1);
    assert_null(conn_tokens(c)); /* no token file is configured */
    assert_string_equal(conn_peer(c), "192.0.2.1:4711");
    assert_true(conn_mode(c)->raw);
    assert_true(conn_asks_who(c));
    assert_null(conn_principal(c));
    const struct principal *p = principal_new(
        &(struct principal_options){PRINCIPAL_TOKEN, "alice", .tenant = NULL, .methods = "*"});
    conn_set_principal(c, p);
    principal_unref(p);
    assert_string_equal(principal_name(conn_principal(c)), "token:alice");
    *conn_user(c) = &net;
    assert_ptr_equal(*conn_user(c), &net);
    assert_true(conn_auth_failed(c));
    assert_true(conn_auth_failed(c));
    assert_false(conn_auth_failed(c)); /* the third is the last */
    net_run_ms(2);
    assert_true(peer.shut);
    assert_null(conn_reserve(c, 10));
}

static void take_from(int fd)
{
    struct conn_slot *slot = calloc(1, sizeof *slot + 1);

    assert_non_null(slot);
    slot->message.fd = fd;
    slot->rules = &net.rules;
    loop_handle(net.loop, &slot->message);
}

/* One that was on its way from the acceptor. */
NET_TEST(a_loop_that_drains_takes_nobody)
{
    int fds[2];
    char byte;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    net_start();
    net_order(LOOP_DRAIN);
    take_from(fds[0]);
    assert_null(LIST_FIRST(&net.loop->all));
    assert_int_equal(recv(fds[1], &byte, 1, 0), 0);
    close(fds[1]);
}

/* It is read, so that no reset overtakes the last answers, and no more than its turn. */
NET_TEST(who_goes_on_sending_does_not_hold_up_the_others)
{
    static const uint8_t noise[1 << 20];
    struct connection *c = net_connect(&peer);

    net_run_ms(1);
    conn_close(c, "the test wants it");
    net_run_ms(2);
    assert_int_equal(c->state, CONN_LINGERING);
    script_send(&peer, span_of(noise, sizeof noise));
    unsigned reads = peer.reads;
    conn_kick(c);
    virtual_round(&net.v, net.activator);
    assert_in_range(peer.reads - reads, 1, 8);
    net_run_ms(3);
    assert_int_equal(peer.in_len, 0);
}

/* The loop ends while connections live, in every state: the port is told, and all is freed. */
NET_TEST(a_loop_that_ends_takes_all_with_it)
{
    static struct script peers[4];

    for (int i = 0; i < 4; i++)
        net_connect(&peers[i]);
    peers[0].handshakes = -1;
    for (uint8_t i = 1; i < 4; i++)
        net_send(&peers[i], i, i == 1 ? "close" : "hold", "");
    script_send_eof(&peers[2]);
    net_run_ms(1);
    echo_release(&net.echo, 2); /* committed and not written */
    net_close(NULL);
    for (int i = 0; i < 4; i++)
        assert_true(peers[i].closed);
    assert_int_equal(net.echo.gone, 3);
}

/* Each has many calls at work, which its end drops. */
NET_TEST(of_those_that_vanish_together_a_few_are_told_of_a_round)
{
    enum { PEERS = 4, CALLS = 512 };
    static struct script peers[PEERS];
    struct connection *all[PEERS];

    for (int i = 0; i < PEERS; i++) {
        all[i] = net_connect(&peers[i]);
        conn_mode(all[i])->fin_ends = true;
    }
    net_run_ms(1);
    for (int i = 0; i < PEERS * CALLS; i++)
        conn_call_began(all[i % PEERS], true);
    for (int i = 0; i < PEERS; i++)
        script_send_eof(&peers[i]);
    for (uint64_t told = 0, rounds = 0; told < PEERS; rounds++) {
        activator_round(net.activator, false);
        assert_in_range(net.echo.gone, told, told + 1);
        told = net.echo.gone;
        assert_true(rounds < 100);
    }
    for (int i = 0; i < PEERS * CALLS; i++)
        conn_call_ended(all[i % PEERS], true);
    net_run_ms(1);
    assert_null(LIST_FIRST(&net.loop->all));
}
