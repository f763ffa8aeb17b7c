/* What a connection holds, by a limit of its own: it is not read from there on, and is again as
 * soon as it holds less; and it is charged to whoever it is. */
#include "server/net/connection/holdings.h"
#include "server/net/auth/principal.h"
#include "tests/support/heap.h"
#include "tests/support/net_world.h"

enum { LIMIT = 1000 };

static struct connection *connect_limited(void)
{
    net.limits.connection_bytes = LIMIT;
    struct connection *c = net_connect(&peer);
    virtual_run(&net.v);
    return c;
}

/* Sends one more, which all that were read before it have been answered by. */
static void expect_answered(uint8_t id, const char *answered)
{
    net_send(&peer, id, "echo", "");
    virtual_run(&net.v);
    assert_string_equal(net_answered(&peer), answered);
}

NET_TEST(who_holds_as_much_as_it_may_is_not_read)
{
    struct connection *c = connect_limited();

    conn_hold(c, LIMIT - 1);
    expect_answered(1, "1");
    conn_hold(c, 1);
    expect_answered(2, "1");
    assert_int_equal(accounts_figures(net.accounts).stopped, 1);
    conn_hold(c, -1);
    virtual_run(&net.v);
    assert_string_equal(net_answered(&peer), "1 2");
    conn_hold(c, 1 - LIMIT);
}

NET_TEST(the_end_of_a_task_lets_it_be_read)
{
    struct connection *c = connect_limited();

    conn_hold_task(c, LIMIT / 2);
    expect_answered(1, "1");
    conn_hold_task(c, LIMIT / 2);
    expect_answered(2, "1");
    conn_hold_task(c, -LIMIT / 2);
    virtual_run(&net.v);
    assert_string_equal(net_answered(&peer), "1 2");
    conn_hold_task(c, -LIMIT / 2);
}

static uint64_t held_by(const char *name)
{
    struct account *a = account_open(net.accounts, name);

    virtual_run(&net.v);
    uint64_t bytes = atomic_load(&a->bytes);
    account_close(a);
    return bytes;
}

NET_TEST(what_it_holds_goes_along_to_whoever_it_says_it_is)
{
    struct connection *c = connect_limited();
    const struct principal *alice =
        principal_new(&(struct principal_options){PRINCIPAL_CERT, "alice", .methods = "*"});

    conn_hold(c, LIMIT / 2);
    assert_int_equal(held_by("address:192.0.2.1"), LIMIT / 2);
    conn_set_principal(c, alice);
    assert_int_equal(held_by("cert:alice"), LIMIT / 2);
    assert_int_equal(held_by("address:192.0.2.1"), 0);
    conn_hold(c, -LIMIT / 2);
    assert_int_equal(held_by("cert:alice"), 0);
    principal_unref(alice);
}

/* As its port does within `message`, and what becomes of the message that was put back. */
static bool begins(struct connection *c, uint64_t bytes)
{
    bool may = conn_may_begin(c, bytes);

    c->put_back = false;
    return may;
}

NET_TEST(what_it_waits_with_is_kept_only_while_it_waits)
{
    struct connection *c = connect_limited();

    conn_hold(c, LIMIT / 2 + 1);
    assert_true(begins(c, 1));
    assert_null(c->cold);
    assert_false(begins(c, LIMIT));
    assert_int_equal(c->cold->wanted, LIMIT);
    assert_false(conn_may_read(c));
    conn_hold(c, -LIMIT / 2 - 1);
    assert_true(conn_may_read(c));
    assert_null(c->cold);
}

NET_TEST(without_memory_to_wait_it_begins)
{
    struct connection *c = connect_limited();

    conn_hold(c, LIMIT / 2 + 1);
    heap_fail_at(1);
    assert_true(begins(c, LIMIT));
    assert_true(heap_failed());
    assert_false(begins(c, LIMIT));
    conn_hold(c, -LIMIT / 2 - 1);
}
