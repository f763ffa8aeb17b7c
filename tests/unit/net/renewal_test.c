/* After a reload each connection's rights are found again: before its next message, and of the
 * silent ones in bounded steps. */
#include "server/net/connection/admit.h"

#include <stdlib.h>

#include "server/net/auth/principal.h"
#include "tests/support/net_world.h"

enum { SILENT = 10000, FEW = 100 };

static const char all[] = "*", less[] = "ping";
static unsigned allowed, denied;

/* --- Peers that say nothing, each without a script's buffers --- */

static ssize_t silent_read(struct stream *s, uint8_t *buf, size_t size)
{
    return STREAM_WANT_READ;
}

static bool silent_watch(struct stream *s, unsigned what)
{
    s->watched = (uint8_t)what;
    return true;
}

static bool silent_left(const struct stream *s, unsigned period)
{
    return false;
}

static void silent_close(struct stream *s)
{
}

static const struct stream_class silent = {.name = "silent",
                                           .read = silent_read,
                                           .watch = silent_watch,
                                           .left = silent_left,
                                           .shut = silent_close,
                                           .close = silent_close};

static void connect_silent(uint32_t count)
{
    static const char address[] = "192.0.2.1:4711";

    for (uint32_t i = 0; i < count; i++) {
        struct conn_slot *slot = calloc(1, sizeof *slot + sizeof address);
        assert_non_null(slot);
        slot->message.fd = -1;
        slot->id = ++net.next_id;
        slot->rules = &net.rules;
        memcpy(slot->peer, address, sizeof address);
        struct connection *c = conn_new(net.loop, slot);
        assert_non_null(c);
        c->stream.cls = &silent;
        conn_start(c);
    }
    net_run_ms(net.v.now / AO_MS(1) + 1); /* until all are at rest */
}

/* --- Reloads --- */

static void judge(void *arg, struct connection *c, const struct envelope *e)
{
    ++*(conn_may(c, e->method) ? &allowed : &denied);
}

/* The role of all peers of these tests. */
static void reload(const char *methods, bool lower)
{
    const struct role role = {
        .name = "peers", .members = "address:192.0.2.*", .methods = methods, .tenant = "peers"};
    struct reload *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->message.kind = LOOP_RELOAD;
    r->roles = role_table_new(&role, 1);
    assert_non_null(r->roles);
    r->lower = lower;
    loop_handle(net.loop, &r->message);
}

static void start(const char *methods)
{
    allowed = denied = 0;
    virtual_silence();
    net.port = echo_port(&net.echo);
    net.port.message = judge;
    net_start();
    reload(methods, true);
    virtual_round(&net.v, net.activator);
}

static uint32_t count_due(void)
{
    const struct connection *c;
    uint32_t count = 0;

    LIST_FOREACH(c, &net.loop->all, link)
    count += renewal_due(c);
    return count;
}

static uint32_t count_open(void)
{
    const struct connection *c;
    uint32_t count = 0;

    LIST_FOREACH(c, &net.loop->all, link)
    count += conn_open(c);
    return count;
}

static void finish(void)
{
    while (count_due() > 0)
        virtual_round(&net.v, net.activator);
}

/* --- What is promised --- */

/* It is the last that the walk comes to, and is not kept waiting for that. */
NET_TEST(the_next_message_is_judged_by_the_new_rights)
{
    start(all);
    net_connect(&peer);
    connect_silent(SILENT);
    net_send(&peer, 1, "echo", "");
    net_run_ms(2);
    assert_int_equal(allowed, 1);
    reload(less, true);
    net_send(&peer, 2, "echo", "");
    for (int i = 0; i < 3; i++)
        virtual_round(&net.v, net.activator);
    assert_int_equal(denied, 1);
    assert_int_equal(allowed, 1);
    assert_in_range(count_due(), SILENT / 2, SILENT);
}

NET_TEST(who_is_to_be_closed_has_no_message_handed_over)
{
    start(all);
    net_connect(&peer);
    connect_silent(SILENT);
    reload(less, false);
    net_send(&peer, 1, "ping", "");
    for (int i = 0; i < 3; i++)
        virtual_round(&net.v, net.activator);
    assert_int_equal(allowed + denied, 0);
    assert_true(peer.shut || peer.closed);
    assert_in_range(count_due(), SILENT / 2, SILENT);
}

/* Each is renewed once; and in no round more than a step of a walk may. */
NET_TEST(the_silent_ones_are_renewed_in_bounded_steps)
{
    uint32_t rounds = 0;

    start(all);
    connect_silent(SILENT);
    reload(less, false);
    assert_int_equal(count_due(), SILENT);
    for (uint32_t due = SILENT, left; due > 0; due = left, rounds++) {
        virtual_round(&net.v, net.activator);
        left = count_due();
        assert_in_range(due - left, 1, 32);
    }
    assert_in_range(rounds, SILENT / 32, SILENT);
    virtual_round(&net.v, net.activator);
    assert_int_equal(count_open(), 0);
}

/* Those that the walk had passed by then as well. */
NET_TEST(a_second_reload_reaches_all)
{
    start(all);
    connect_silent(SILENT);
    reload("echo,ping", true);
    for (int i = 0; i < 10; i++)
        virtual_round(&net.v, net.activator);
    assert_in_range(count_due(), 1, SILENT - 1);
    reload(less, false);
    assert_int_equal(count_due(), SILENT);
    finish();
    virtual_round(&net.v, net.activator);
    assert_int_equal(count_open(), 0);
    reload(all, false); /* and behind it walks go on as before */
    connect_silent(FEW);
    reload(less, true);
    finish();
    assert_int_equal(count_open(), FEW);
}

NET_TEST(one_that_closes_is_passed_over)
{
    start(all);
    connect_silent(FEW);
    reload(less, true);
    virtual_round(&net.v, net.activator);
    struct connection *next = net.loop->renewal.next;
    assert_non_null(next);
    conn_abort(next, "a test wants it");
    finish();
    virtual_round(&net.v, net.activator);
    assert_int_equal(count_open(), FEW - 1);
}
