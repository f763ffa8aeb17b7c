/* Who gives way when all places are taken, and to whom; over real sockets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"
#include "server/net/connection/conn_private.h"
#include "tests/support/net_server.h"

enum { PLACES = 20 };

static uint64_t accepted(void)
{
    struct net_loop_stats stats = {0};

    for (uint32_t i = 0; i < server.count; i++)
        net_loop_add_stats(server.loops[i], &stats);
    return stats.accepted;
}

/* Returns once it has one; so it is younger than those before. */
static int takes_a_place(const char *url, uint32_t host)
{
    uint64_t before = accepted();
    int fd = net_client_connect_from(url, host);

    SERVER_UNTIL(accepted() == before + 1);
    return fd;
}

static void take_places(const char *url, uint32_t host, int *fds, int count)
{
    for (int i = 0; i < count; i++)
        fds[i] = takes_a_place(url, host);
}

static const char *open_server(enum listener_auth auth)
{
    server.count = 2;
    server.limits.connections = PLACES;
    return server_listen((struct listener_options){.auth = auth});
}

/* It is let in, and somebody else has gone. */
static int is_let_in(const char *url, uint32_t host)
{
    int fd = net_client_connect_from(url, host);

    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_answered(fd, 1));
    SERVER_UNTIL(server_total() == PLACES);
    return fd;
}

static void is_refused(const char *url, uint32_t host)
{
    int fd = net_client_connect_from(url, host);

    SERVER_UNTIL(net_client_ended(fd));
    close(fd);
}

/* All are known by their addresses: nobody is an unauthenticated connection. */
SERVER_TEST(the_address_with_the_most_gives_way)
{
    int origin[PLACES - 1], few, good;

    const char *url = open_server(LISTENER_AUTH_NONE);
    few = takes_a_place(url, 2);
    take_places(url, 1, origin, PLACES - 1);
    good = is_let_in(url, 3);
    assert_false(net_client_ended(few));
    assert_true(net_client_ended(origin[PLACES - 2])); /* the youngest */
    assert_int_equal(net_clients_open(origin, PLACES - 1), PLACES - 2);
    assert_int_equal(server.loops[0]->counters.gave_way + server.loops[1]->counters.gave_way, 1);
    close(few);
    close(good);
    net_clients_close(origin, PLACES - 1);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8);
    assert_int_equal(server.acceptor->open + server.acceptor->leaving, 0);
    assert_int_equal(server.acceptor->origins.by_key.count, 0);
}

/* 16 and 4: the other may have 4 of 16 and no more, and so neither is thrown out in turn. */
SERVER_TEST(two_that_have_many_do_not_throw_each_other_out)
{
    int origin[16], other[4];

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, 16);
    take_places(url, 2, other, 4);
    is_refused(url, 2);
    is_refused(url, 1);
    assert_int_equal(net_clients_open(origin, 16), 16);
    assert_int_equal(net_clients_open(other, 4), 4);
    net_clients_close(origin, 16);
    net_clients_close(other, 4);
}

SERVER_TEST(where_all_have_few_nobody_gives_way)
{
    int fds[PLACES];

    const char *url = open_server(LISTENER_AUTH_NONE);
    for (int i = 0; i < PLACES; i++)
        fds[i] = takes_a_place(url, 1 + (uint32_t)i / 4);
    is_refused(url, 100);
    assert_int_equal(net_clients_open(fds, PLACES), PLACES);
    net_clients_close(fds, PLACES);
}

/* 127.0.0.1 has a place beside its unauthenticated connections, which nobody takes. */
SERVER_TEST(unauthenticated_ones_are_evicted_before_all_others)
{
    int known[PLACES / 2], silent[PLACES / 2], good;

    const char *url = open_server(LISTENER_AUTH_NONE);
    const char *asks = server_listen((struct listener_options){.auth = LISTENER_AUTH_TOKEN});
    take_places(url, 1, known, PLACES / 2);
    take_places(asks, 2, silent, PLACES / 2);
    good = is_let_in(url, 3);
    assert_int_equal(net_clients_open(known, PLACES / 2), PLACES / 2);
    assert_int_equal(net_clients_open(silent, PLACES / 2), PLACES / 2 - 1);
    close(good);
    net_clients_close(known, PLACES / 2);
    net_clients_close(silent, PLACES / 2);
}

/* Those who come beside an origin that is known do not push out each other. */
SERVER_TEST(who_has_just_come_stays_where_one_has_most_places)
{
    int origin[PLACES], newcomers[4];

    const char *url = open_server(LISTENER_AUTH_NONE);
    const char *asks = server_listen((struct listener_options){.auth = LISTENER_AUTH_TOKEN});
    take_places(url, 1, origin, PLACES);
    for (int i = 0; i < 4; i++) {
        newcomers[i] = net_client_connect_from(asks, 2);
        SERVER_UNTIL(net_clients_open(origin, PLACES) == PLACES - 1 - i);
    }
    assert_int_equal(net_clients_open(newcomers, 4), 4);
    net_clients_close(newcomers, 4);
    net_clients_close(origin, PLACES);
}

/* Who has many already pushes out nobody that is about to say who it is. */
SERVER_TEST(a_flood_takes_no_place_of_newcomers_but_of_silent_ones)
{
    int origin[PLACES - 1], newcomer, more;

    const char *url = open_server(LISTENER_AUTH_NONE);
    const char *asks = server_listen((struct listener_options){.auth = LISTENER_AUTH_TOKEN});
    take_places(url, 1, origin, PLACES - 1);
    newcomer = takes_a_place(asks, 2);
    is_refused(url, 1);
    assert_false(net_client_ended(newcomer));
    server.now += AO_S(2);
    server_turn(8);
    more = is_let_in(url, 1);
    assert_true(net_client_ended(newcomer));
    close(more);
    close(newcomer);
    net_clients_close(origin, PLACES - 1);
}

static void hold(int fd, uint8_t id)
{
    const uint8_t request[] = {0x94, 0, id, 0xa4, 'h', 'o', 'l', 'd', 0x90};
    uint32_t held = server.ports[0].held_count + server.ports[1].held_count;

    assert_int_equal(send(fd, request, sizeof request, MSG_NOSIGNAL), sizeof request);
    SERVER_UNTIL(server.ports[0].held_count + server.ports[1].held_count == held + 1);
}

static void release(uint8_t id)
{
    echo_release(&server.ports[0], id);
    echo_release(&server.ports[1], id);
}

SERVER_TEST(of_the_youngest_one_that_is_idle_gives_way)
{
    int origin[PLACES], good[2];

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES);
    hold(origin[PLACES - 1], 1);
    hold(origin[PLACES - 2], 2);
    good[0] = is_let_in(url, 2);
    assert_true(net_client_ended(origin[PLACES - 3]));
    for (int i = 4; i <= SLOT_REQUEST_LOOKS + 1; i++)
        hold(origin[PLACES - i], (uint8_t)i);
    good[1] = is_let_in(url, 3); /* none of those that are asked is idle */
    assert_true(net_client_ended(origin[PLACES - 1]));
    assert_int_equal(server.acceptor->open, PLACES); /* the call still holds on to its connection */
    assert_int_equal(server.acceptor->leaving, 1);
    release(1);
    SERVER_UNTIL(server.acceptor->leaving == 0);
    assert_int_equal(server.acceptor->open, PLACES);
    for (uint8_t id = 2; id <= SLOT_REQUEST_LOOKS + 1; id++)
        release(id);
    net_clients_close(origin, PLACES);
    net_clients_close(good, 2);
}

/* A client that goes and leaves its calls behind has no use for its place. */
SERVER_TEST(one_that_is_closed_but_for_its_calls_gives_way)
{
    int origin[PLACES], good;

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES);
    for (int i = 0; i < PLACES; i++)
        hold(origin[i], (uint8_t)i);
    for (int i = 0; i < PLACES; i++) {
        const struct linger reset = {.l_onoff = 1};
        setsockopt(origin[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(origin[i]);
    }
    SERVER_UNTIL(server_total() == 0);
    server_turn(8);
    assert_int_equal(server.acceptor->open, PLACES);
    good = net_client_connect_from(url, 2);
    net_client_request(good, 1);
    SERVER_UNTIL(net_client_answered(good, 1));
    for (int i = 0; i < PLACES; i++)
        release((uint8_t)i);
    SERVER_UNTIL(server.acceptor->open == 1 && server.acceptor->leaving == 0);
    close(good);
}

/* It has waited for its place while another was given one: it comes behind that, or a list of
 * connections in pages, which goes by ids, would leave out those that came meanwhile. */
SERVER_TEST(ids_are_given_in_the_order_of_places)
{
    int origin[PLACES], waits, other;
    uint64_t last = UINT64_MAX;
    const struct connection *c;

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES); /* the youngest is on the second loop */
    waits = net_client_connect_from(url, 2);
    for (int i = 0; i < 100; i++)
        activator_round(server.activators[0], false);
    assert_int_equal(server.acceptor->slot_request_count, 1);
    for (int i = 0; i < PLACES; i += 2) /* all of the first loop */
        close(origin[i]);
    for (int i = 0; server_connections(0) > 0; i++) {
        assert_true(i < NET_SERVER_TURNS);
        activator_round(server.activators[0], false);
        server.now += AO_US(60);
    }
    other = net_client_connect_from(url, 3);
    for (int i = 0; server_connections(0) == 0; i++) {
        assert_true(i < NET_SERVER_TURNS);
        activator_round(server.activators[0], false);
        server.now += AO_US(60);
    }
    SERVER_UNTIL(server_connections(0) == 2);
    LIST_FOREACH(c, &server.loops[0]->all, link)
    {
        assert_true(conn_id(c) < last);
        last = conn_id(c);
    }
    close(waits);
    close(other);
    for (int i = 1; i < PLACES; i += 2)
        close(origin[i]);
}

/* More at once than slot requests: the others wait in the backlog, and get in. */
static void many_get_in(uint32_t loops)
{
    enum { MANY = 3 * SLOT_REQUESTS_MAX };
    int origin[20 * SLOT_REQUESTS_MAX], good[MANY];

    server.count = loops;
    server.limits.connections = 20 * SLOT_REQUESTS_MAX;
    const char *url = server_listen((struct listener_options){0});
    take_places(url, 1, origin, 20 * SLOT_REQUESTS_MAX);
    for (uint32_t i = 0; i < MANY; i++)
        good[i] = net_client_connect_from(url, 2 + i);
    for (int i = 0; i < MANY; i++) {
        net_client_request(good[i], 1);
        SERVER_UNTIL(net_client_answered(good[i], 1));
    }
    assert_int_equal(server_total(), 20 * SLOT_REQUESTS_MAX);
    assert_int_equal(net_clients_open(origin, 20 * SLOT_REQUESTS_MAX),
                     20 * SLOT_REQUESTS_MAX - MANY);
    net_clients_close(good, MANY);
    net_clients_close(origin, 20 * SLOT_REQUESTS_MAX);
}

SERVER_TEST(many_that_come_at_once_get_in)
{
    many_get_in(2);
}

/* Which takes only part of the slot requests. */
SERVER_TEST(many_that_come_at_once_to_one_loop_get_in)
{
    many_get_in(1);
}

/* As one comes whose name has been found, without a listener.  The other end. */
static int slot_requests_unasked(uint64_t key)
{
    struct acceptor *a = server.acceptor;
    struct conn_slot *slot = calloc(1, sizeof *slot + 1);
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    *slot = (struct conn_slot){.message = {.kind = LOOP_CONNECT, .fd = ends[0]},
                               .id = ++a->next_id,
                               .rules = &a->listeners[0]->rules,
                               .key = key};
    origins_join(&a->origins, key);
    slot->rules->open++;
    slot_request_place(a, slot);
    return ends[1];
}

/* It has closed itself, which the acceptor does not know yet as it asks for the place: what is kept
 * of it stays until the loop has answered. */
SERVER_TEST(one_that_goes_as_its_place_is_asked_for_is_not_forgotten_too_early)
{
    int origin[PLACES], good, at = 0;

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES);
    net_loop_set_away(server.loops[0], true); /* nobody asks it */
    uint64_t youngest = conn_id(LIST_FIRST(&server.loops[1]->all));
    while (at < PLACES && conn_id(LIST_FIRST(&server.loops[1]->all)) == youngest) {
        close(origin[at++]);
        for (int i = 0; i < 8; i++)
            activator_round(server.activators[1], false);
    }
    assert_int_equal(server.acceptor->open, PLACES);
    good = slot_requests_unasked(peer_key_of_user(100000));
    assert_int_equal(server.acceptor->slot_request_count, 1);
    net_loop_set_away(server.loops[0], false);
    SERVER_UNTIL(server.acceptor->slot_request_count == 0);
    assert_false(net_client_ended(good));
    close(good);
    net_clients_close(origin + at, PLACES - at);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8);
    assert_int_equal(server.acceptor->open + server.acceptor->leaving, 0);
}

static void opts_in(int fd)
{
    struct connection *c = LIST_FIRST(&server.loops[0]->all);

    (void)fd;
    conn_mode(c)->push = true;
}

SERVER_TEST(who_takes_notifications_is_told)
{
    static const char begin[] = "\x93\x02\xaeserver.closing\x92\xa4"
                                "BUSY";
    char got[512];
    int origin[PLACES], good;

    server.limits.connections = PLACES;
    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < PLACES; i++) {
        origin[i] = net_client_connect_from(url, 1);
        SERVER_UNTIL(server_total() == (uint64_t)i + 1);
    }
    opts_in(origin[PLACES - 1]);
    good = is_let_in(url, 2);
    ssize_t n = recv(origin[PLACES - 1], got, sizeof got, 0);
    assert_true(n > (ssize_t)sizeof begin);
    assert_memory_equal(got, begin, sizeof begin - 1);
    assert_non_null(memmem(got, (size_t)n, "limits.connections", 18));
    assert_true(net_client_ended(origin[PLACES - 1]));
    int more = is_let_in(url, 3);
    assert_int_equal(recv(origin[PLACES - 2], got, sizeof got, 0),
                     0); /* that takes answers alone */
    close(good);
    close(more);
    net_clients_close(origin, PLACES);
}

/* The loop that has the origin's connections is in a step that does not return: it is asked for
 * nothing, and the others' connections are. */
SERVER_TEST(a_loop_that_is_away_is_not_asked)
{
    int origin[PLACES], good;

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES);
    net_loop_set_away(server.loops[1], true);
    good = net_client_connect_from(url, 2);
    net_client_request(good, 1);
    SERVER_UNTIL(net_client_answered(good, 1));
    assert_int_equal(server_connections(1), PLACES / 2);
    assert_int_equal(server_connections(0), PLACES / 2);
    net_loop_set_away(server.loops[1], false);
    close(good);
    net_clients_close(origin, PLACES);
}

/* What waits for a place when the server ends is closed. */
SERVER_TEST(a_claim_ends_with_the_server)
{
    int origin[PLACES], good;

    const char *url = open_server(LISTENER_AUTH_NONE);
    take_places(url, 1, origin, PLACES);
    good = net_client_connect_from(url, 2);
    for (int i = 0; server.acceptor->slot_request_count == 0; i++) {
        assert_true(i < NET_SERVER_TURNS);
        activator_round(server.activators[0], false);
        server.now += AO_US(60);
    }
    server_close(NULL);
    assert_true(net_client_ended(good));
    close(good);
    net_clients_close(origin, PLACES);
}

SERVER_TEST(users_are_counted_as_addresses_are)
{
    char directory[] = "/tmp/ergon-requests-XXXXXX";
    char url[80];
    int origin[PLACES], good;

    assert_non_null(mkdtemp(directory));
    snprintf(url, sizeof url, "unix://%s/s", directory);
    const char *tcp = open_server(LISTENER_AUTH_NONE);
    assert_non_null(server_listen((struct listener_options){.url = url, .unix_mode = 0600}));
    for (int i = 0; i < PLACES; i++) {
        origin[i] = net_client_connect(url);
        SERVER_UNTIL(server_total() == (uint64_t)i + 1);
    }
    assert_int_equal(origins_largest(&server.acceptor->origins)->key, peer_key_of_user(getuid()));
    good = is_let_in(tcp, 2);
    assert_true(net_client_ended(origin[PLACES - 1]));
    int more[KEPT_PLACES + 1]; /* as the same user, who runs the server */
    for (int i = 0; i < KEPT_PLACES; i++) {
        more[i] = net_client_connect(url);
        SERVER_UNTIL(server_total() == (uint64_t)(PLACES + i + 1));
    }
    more[KEPT_PLACES] = net_client_connect(url);
    SERVER_UNTIL(net_client_ended(more[KEPT_PLACES]));
    int before = net_clients_open(origin, PLACES) + net_clients_open(more, KEPT_PLACES);
    int other = net_client_connect_from(tcp, 3);
    net_client_request(other, 1);
    SERVER_UNTIL(net_client_answered(other, 1));
    assert_int_equal(server.acceptor->kept, KEPT_PLACES); /* and takes none of the others' */
    assert_int_equal(net_clients_open(origin, PLACES) + net_clients_open(more, KEPT_PLACES),
                     before - 1);
    close(other);
    close(good);
    net_clients_close(more, KEPT_PLACES + 1);
    net_clients_close(origin, PLACES);
    server_close(NULL);
    rmdir(directory);
}
