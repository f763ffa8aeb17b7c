/* Every allocation on the way of a connection fails once: nothing leaks, nothing crashes, and who
 * is not hit is served. */
#include <string.h>
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "tests/support/heap.h"
#include "tests/support/net_server.h"
#include "tests/support/net_world.h"

/* One connection's life with all that allocates: parts of messages, answers, a block. */
static bool live(void)
{

    struct connection *c = net_connect(&peer);
    if (c != NULL) {
        net_send(&peer, 1, "echo", "x");
        script_send(&peer, span_of("\x94\x00\x02\xa3", 4));
        virtual_run(&net.v);
        script_send(&peer, span_of("big\x91\xcd\x20\x00", 7));
        virtual_run(&net.v);
        script_send_eof(&peer);
        virtual_run(&net.v);
    }
    bool all = c != NULL && strcmp(net_answered(&peer), "1 2") == 0;
    assert_true(c == NULL || peer.closed);
    return all;
}

static void forget_line(void *arg, const char *line)
{
}

NET_TEST(a_connection_meets_each_failure)
{
    int failures = 0;

    for (int64_t n = 1;; n++) {
        net_open(NULL);
        net.record = forget_line; /* the trace's own text needs memory too */
        net_start();
        heap_fail_at(n);
        bool good = live();
        bool failed = heap_failed();
        heap_fail_at(0);
        assert_true(live()); /* the next one is served */
        if (!failed) {
            assert_true(good);
            break;
        }
        failures++;
    }
    assert_true(failures >= 4);
}

struct set_up {
    struct poller *poller;
    struct activator *activator;
    struct net_limits limits;
    struct echo_port port;
    struct accounts *accounts;
    struct tally_book tallies[2];
};

static int try_set_up(void *arg)
{
    struct set_up *s = arg;
    struct net_loop *loops[2];
    char error[256];
    int result = -1;

    for (uint32_t i = 0; i < 2; i++) {
        tally_book_init(&s->tallies[i], s->accounts, s->activator);
        loops[i] = net_loop_new(&(struct net_loop_options){.index = i,
                                                           .activator = s->activator,
                                                           .poller = s->poller,
                                                           .limits = &s->limits,
                                                           .port = echo_port(&s->port),
                                                           .tallies = &s->tallies[i]});
    }
    struct acceptor *a =
        loops[0] == NULL || loops[1] == NULL ? NULL : acceptor_new(loops, 2, &s->limits);
    if (a != NULL)
        result = acceptor_listen(
            a, &(struct listener_options){.url = "ergon://127.0.0.1:0", .methods = "echo"}, error,
            sizeof error);
    if (result == 0)
        result = net_reload(a, NULL, error, sizeof error);
    acceptor_free(a);
    net_loop_free(loops[0]);
    net_loop_free(loops[1]);
    for (uint32_t i = 0; i < 2; i++)
        tally_book_fini(&s->tallies[i]);
    activator_round(s->activator, false); /* lets go of what was asked of the acceptor */
    return result;
}

TEST(set_up_meets_each_failure)
{
    struct set_up s = {.limits = {.scan = {1 << 20, 32}}};

    s.poller = poller_libevent_new();
    s.activator =
        activator_open(&(struct activator_options){.name = "loop", .poller = s.poller, .core = -1});
    s.accounts = accounts_new(&unlimited_accounts, (uint64_t[2]){1, 2});
    heap_fail_each(try_set_up, &s);
    accounts_free(s.accounts);
    activator_close(s.activator);
    poller_libevent_free(s.poller);
}

/* The acceptor's way of a connection, over real sockets. */
SERVER_TEST(accepting_meets_each_failure)
{
    for (int64_t n = 1;; n++) {
        server_open(NULL);
        server.count = 2;
        server.limits.connections_per_address = 10;
        const char *url = server_listen((struct listener_options){0});
        heap_fail_at(n);
        int hit = net_client_connect(url);
        net_client_request(hit, 1);
        int end = 0;
        SERVER_UNTIL((end = net_client_ended(hit) ? 2 : net_client_answered(hit, 1) ? 1 : 0) != 0);
        bool failed = heap_failed();
        heap_fail_at(0);
        assert_int_equal(end, failed ? 2 : 1);
        int good = net_client_connect(url);
        net_client_request(good, 1);
        SERVER_UNTIL(net_client_answered(good, 1));
        close(hit);
        close(good);
        SERVER_UNTIL(server_total() == 0);
        if (!failed)
            break;
    }
}
