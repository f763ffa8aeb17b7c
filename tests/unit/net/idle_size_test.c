/* What an idle connection takes: the server is made for many. */
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"
#include "tests/support/heap.h"
#include "tests/support/net_server.h"

enum {
    MANY = 32,
    PLAIN_MOST = 400, /* bytes of the allocator, with its own */
    COLD_MOST = 224   /* beside it, while a connection has a cold part */
};

_Static_assert(sizeof(struct stream) <= 40, "each connection has one");
_Static_assert(sizeof(struct connection) <= 280, "of 64-bit glibc a block of 288");
_Static_assert(offsetof(struct conn_slot, peer) + sizeof "255.255.255.255:65535" <= 88,
               "of 64-bit glibc a block of 96");

static int peers[MANY + 1];
static const char *url;

static void come(int i)
{
    uint64_t before = server_total();

    peers[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == before + 1);
    server_turn(2);
}

static void use(int i)
{
    net_client_request(peers[i], 1);
    SERVER_UNTIL(net_client_answered(peers[i], 1));
    server_turn(2);
}

/* The first makes what they share: the account, the principal, a chunk of the pool. */
static void open_listener(enum listener_auth auth)
{
    url = server_listen((struct listener_options){.auth = auth});
    come(MANY);
}

static void close_all(void)
{
    for (int i = 0; i <= MANY; i++)
        close(peers[i]);
    SERVER_UNTIL(server_total() == 0);
}

static void come_all(void)
{
    for (int i = 0; i < MANY; i++)
        come(i);
}

static int64_t each_since(int64_t before)
{
    return (heap_bytes() - before + MANY - 1) / MANY;
}

SERVER_TEST(one_that_was_never_used)
{
    open_listener(LISTENER_AUTH_NONE);
    int64_t before = heap_bytes();

    come_all();
    assert_in_range(each_since(before), 1, PLAIN_MOST);
    close_all();
}

SERVER_TEST(one_that_was_used)
{
    open_listener(LISTENER_AUTH_NONE);
    use(MANY);
    int64_t before = heap_bytes();

    come_all();
    for (int i = 0; i < MANY; i++)
        use(i);
    assert_in_range(each_since(before), 1, PLAIN_MOST);
    close_all();
}

/* As server.auth does. */
static void say_who(const struct principal *p)
{
    struct connection *c;

    LIST_FOREACH(c, &server.loops[0]->all, link)
    conn_set_principal(c, p);
    server_turn(2);
}

SERVER_TEST(one_that_has_said_who_it_is)
{
    const struct principal *alice = principal_new(
        &(struct principal_options){.how = PRINCIPAL_TOKEN, .name = "alice", .methods = "*"});

    open_listener(LISTENER_AUTH_TOKEN);
    say_who(alice);
    use(MANY);
    int64_t before = heap_bytes();
    come_all();
    int64_t newcomer = each_since(before);
    assert_in_range(newcomer, PLAIN_MOST / 2, PLAIN_MOST + COLD_MOST);
    say_who(alice);
    assert_in_range(each_since(before), 1, PLAIN_MOST);
    assert_true(each_since(before) < newcomer);
    for (int i = 0; i < MANY; i++)
        use(i);
    assert_in_range(each_since(before), 1, PLAIN_MOST);
    close_all();
    principal_unref(alice);
}

/* What few need goes with the need. */
SERVER_TEST(one_that_does_not_serve_any_more)
{
    open_listener(LISTENER_AUTH_NONE);
    int64_t before = heap_bytes();
    struct connection *c = LIST_FIRST(&server.loops[0]->all);

    assert_true(conn_serve(c, true));
    assert_in_range(heap_bytes() - before, 1, COLD_MOST);
    assert_true(conn_serve(c, false));
    assert_int_equal(heap_bytes(), before);
    close(peers[MANY]);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(without_memory_nobody_begins_to_serve)
{
    open_listener(LISTENER_AUTH_NONE);
    struct connection *c = LIST_FIRST(&server.loops[0]->all);

    heap_fail_at(1);
    assert_false(conn_serve(c, true));
    assert_false(conn_serves(c));
    assert_true(conn_serve(c, true));
    close(peers[MANY]);
    SERVER_UNTIL(server_total() == 0);
}
