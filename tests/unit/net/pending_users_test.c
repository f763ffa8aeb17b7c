/* Who waits for the name of its user, and who does not; over real sockets, with a name service that
 * answers when the test says so. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"
#include "server/net/connection/conn_private.h"
#include "tests/support/heap.h"
#include "tests/support/net_server.h"

enum { ALICE = 70001, BOB, CAROL, DAVE };

/* --- A system with users --- */

static _Atomic bool slow;      /* look-ups of others than who runs the server do not end */
static _Atomic bool fails;     /* and have no answer */
static _Atomic uint32_t looks; /* that have ended */
static uint32_t caller;        /* who connects */

/* In place of the C library's. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *space, size_t size, struct passwd **found)
{
    *found = NULL;
    if (uid == 0 || uid == geteuid())
        return 0;
    while (atomic_load(&slow))
        sched_yield();
    atomic_fetch_add(&looks, 1);
    if (atomic_load(&fails))
        return EIO;
    snprintf(space, size, "user%u", uid);
    *entry = (struct passwd){.pw_name = space};
    *found = entry;
    return 0;
}

/* The same: the peer of a Unix socket is the caller. */
int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
    long code = syscall(SYS_getsockopt, fd, level, option, value, size);

    if (code == 0 && option == SO_PEERCRED)
        ((struct ucred *)value)->uid = caller;
    return (int)code;
}

/* --- The server --- */

static char directory[40], url[80];

static int open_server(void **state)
{
    server_open(state);
    snprintf(directory, sizeof directory, "/tmp/ergon-pending-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(url, sizeof url, "unix://%s/s", directory);
    atomic_store(&slow, true);
    atomic_store(&fails, false);
    atomic_store(&looks, 0);
    caller = ALICE;
    server.limits.auth_timeout = AO_S(1000000);
    return 0;
}

static int close_server(void **state)
{
    atomic_store(&slow, false);
    server_close(state);
    return rmdir(directory);
}

#define PENDING_USERS_TEST(name) TEST_WITH(open_server, close_server, name)

static void listens(uint32_t connections)
{
    server.limits.connections = connections;
    assert_non_null(server_listen((struct listener_options){.url = url, .unix_mode = 0600}));
}

static uint32_t waiting(void)
{
    return server.acceptor->pending_users.count;
}

static int comes_as(uint32_t uid)
{
    caller = uid;
    return net_client_connect(url);
}

/* They have been accepted, and wait. */
static void wait_as(uint32_t uid, int *fds, int count)
{
    uint32_t before = waiting();

    for (int i = 0; i < count; i++) {
        fds[i] = comes_as(uid);
        SERVER_UNTIL(waiting() == before + (uint32_t)i + 1);
    }
}

static bool is_served(int fd)
{
    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_answered(fd, 1) || net_client_ended(fd));
    return !net_client_ended(fd);
}

/* Its name is known from now on. */
static void make_known(uint32_t uid)
{
    atomic_store(&slow, false);
    int fd = comes_as(uid);
    assert_true(is_served(fd));
    close(fd);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8);
    atomic_store(&slow, true);
}

/* --- Nobody stands in another's way --- */

PENDING_USERS_TEST(who_is_known_waits_behind_nobody)
{
    int fds[4 * USERS_ASKED_MAX];

    listens(1000);
    const char *tcp = server_listen((struct listener_options){0});
    make_known(BOB);
    for (uint32_t i = 0; i < 4 * USERS_ASKED_MAX; i++)
        wait_as(80000 + i, &fds[i], 1);
    int known = comes_as(BOB), root = comes_as(0), other = net_client_connect(tcp);
    assert_true(is_served(known));
    caller = 0;
    assert_true(is_served(root));
    assert_true(is_served(other));
    assert_int_equal(waiting(), 4 * USERS_ASKED_MAX);
    assert_int_equal(net_clients_open(fds, 4 * USERS_ASKED_MAX), 4 * USERS_ASKED_MAX);
    atomic_store(&slow, false);
    for (int i = 0; i < 4 * USERS_ASKED_MAX; i++)
        assert_true(is_served(fds[i]));
    assert_int_equal(waiting(), 0);
    net_clients_close(fds, 4 * USERS_ASKED_MAX);
    close(known);
    close(root);
    close(other);
}

PENDING_USERS_TEST(all_of_one_user_share_one_look_up)
{
    enum { MANY = 2 * PENDING_USERS_A_STEP };
    int fds[MANY];

    listens(1000);
    wait_as(ALICE, fds, MANY);
    atomic_store(&slow, false);
    for (int i = 0; i < MANY; i++)
        assert_true(is_served(fds[i]));
    assert_int_equal(atomic_load(&looks), 1);
    assert_int_equal(waiting(), 0);
    net_clients_close(fds, MANY);
}

PENDING_USERS_TEST(they_go_on_in_the_order_in_which_they_came)
{
    const struct connection *c;
    int fds[3], last = INT_MAX;

    listens(1000);
    wait_as(ALICE, fds, 3);
    atomic_store(&slow, false);
    SERVER_UNTIL(server_total() == 3);
    LIST_FOREACH(c, &server.loops[0]->all, link) /* the youngest first; so are descriptors */
    {
        assert_true(c->stream.fd < last);
        last = c->stream.fd;
    }
    net_clients_close(fds, 3);
}

/* --- It has an end --- */

static void waits_no_longer_than(ao_time limit)
{
    int fds[2];

    listens(1000);
    wait_as(ALICE, fds, 1);
    server.now += limit / 2;
    wait_as(BOB, fds + 1, 1);
    server.now += limit / 2 - AO_MS(100);
    server_turn(100);
    assert_int_equal(waiting(), 2);
    server.now += AO_MS(100);
    SERVER_UNTIL(waiting() == 1);
    assert_true(net_client_ended(fds[0]));
    assert_false(net_client_ended(fds[1]));
    atomic_store(&slow, false); /* and the answer is kept */
    assert_true(is_served(fds[1]));
    int again = comes_as(ALICE);
    assert_true(is_served(again));
    assert_int_equal(atomic_load(&looks), 2);
    close(again);
    net_clients_close(fds, 2);
}

PENDING_USERS_TEST(who_waits_for_too_long_is_refused)
{
    server.limits.auth_timeout = AO_S(1000);
    waits_no_longer_than(AO_S(1000));
}

PENDING_USERS_TEST(there_is_a_limit_where_newcomers_have_none)
{
    int fd;

    server.limits.auth_timeout = 0;
    listens(1000);
    wait_as(ALICE, &fd, 1);
    server.now += NAME_WAIT - AO_MS(100);
    server_turn(100);
    assert_int_equal(waiting(), 1);
    server.now += AO_MS(100);
    SERVER_UNTIL(net_client_ended(fd));
    close(fd);
}

PENDING_USERS_TEST(without_an_answer_all_of_the_user_are_refused)
{
    int fds[5], other;

    listens(1000);
    atomic_store(&fails, true);
    wait_as(ALICE, fds, 5);
    wait_as(BOB, &other, 1);
    atomic_store(&slow, false);
    SERVER_UNTIL(waiting() == 0);
    assert_int_equal(net_clients_open(fds, 5), 0);
    assert_true(net_client_ended(other));
    close(other);
    net_clients_close(fds, 5);
}

static void note(void *arg)
{
    *(bool *)arg = true;
}

PENDING_USERS_TEST(a_drain_waits_for_no_names)
{
    bool drained = false;
    int fds[2 * PENDING_USERS_A_STEP];

    listens(1000);
    wait_as(ALICE, fds, 2 * PENDING_USERS_A_STEP);
    net_drain(server.acceptor, note, &drained);
    SERVER_UNTIL(drained && waiting() == 0);
    assert_int_equal(net_clients_open(fds, 2 * PENDING_USERS_A_STEP), 0);
    net_clients_close(fds, 2 * PENDING_USERS_A_STEP);
}

PENDING_USERS_TEST(the_end_closes_those_that_wait)
{
    int fds[3];

    listens(1000);
    wait_as(ALICE, fds, 2);
    wait_as(BOB, fds + 2, 1);
    atomic_store(&slow, false);
    server_close(NULL);
    assert_int_equal(net_clients_open(fds, 3), 0);
    net_clients_close(fds, 3);
}

static void forget_names(void)
{
    char error[100];

    assert_int_equal(net_reload(server.acceptor, NULL, error, sizeof error), 0);
}

PENDING_USERS_TEST(a_reload_asks_again_for_those_that_wait)
{
    int fd;

    listens(1000);
    wait_as(ALICE, &fd, 1);
    forget_names();
    server_turn(8);
    atomic_store(&slow, false);
    assert_true(is_served(fd));
    assert_int_equal(atomic_load(&looks), 2);
    close(fd);
}

PENDING_USERS_TEST(without_memory_one_is_refused_and_nothing_else)
{
    int fd;

    listens(1000);
    for (int at = 1; at <= 2; at++) {
        fd = comes_as(ALICE);
        heap_fail_at(at);
        SERVER_UNTIL(net_client_ended(fd));
        assert_true(heap_failed());
        close(fd);
    }
    assert_int_equal(waiting(), 0);
    assert_int_equal(server.acceptor->listeners[0]->rules.open, 0);
    wait_as(ALICE, &fd, 1);
    atomic_store(&slow, false);
    assert_true(is_served(fd));
    close(fd);
}

/* --- Places --- */

enum { PLACES = 40 };

PENDING_USERS_TEST(a_listener_counts_them)
{
    int fds[5], more;

    server.limits.connections = 1000;
    assert_non_null(
        server_listen((struct listener_options){.url = url, .unix_mode = 0600, .connections = 5}));
    wait_as(ALICE, fds, 5);
    more = comes_as(BOB);
    SERVER_UNTIL(net_client_ended(more));
    atomic_store(&slow, false);
    for (int i = 0; i < 5; i++)
        assert_true(is_served(fds[i])); /* each has the place that it had */
    close(more);
    net_clients_close(fds, 5);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8);
    assert_int_equal(server.acceptor->listeners[0]->rules.open, 0);
}

/* They take all places, and those beyond; who is known gets in all the same. */
PENDING_USERS_TEST(of_those_that_wait_the_youngest_give_way_to_who_is_known)
{
    int fds[PLACES + PENDING_USERS_MORE], known[2], same;

    listens(PLACES);
    const char *tcp = server_listen((struct listener_options){0});
    make_known(BOB);
    wait_as(ALICE, fds, PLACES + PENDING_USERS_MORE);
    assert_int_equal(pending_users_places(&server.acceptor->pending_users), PLACES);
    same = comes_as(ALICE); /* one more of those that are the most */
    SERVER_UNTIL(net_client_ended(same));
    known[0] = comes_as(BOB);
    assert_true(is_served(known[0]));
    known[1] = net_client_connect_from(tcp, 2);
    assert_true(is_served(known[1]));
    assert_int_equal(waiting(), PLACES + PENDING_USERS_MORE - 2);
    assert_true(net_client_ended(fds[PLACES + PENDING_USERS_MORE - 1]));
    assert_true(net_client_ended(fds[PLACES + PENDING_USERS_MORE - 2]));
    atomic_store(&slow, false);
    SERVER_UNTIL(waiting() == 0); /* their places are theirs, and those beyond have none */
    SERVER_UNTIL(server.acceptor->slot_request_count == 0);
    assert_int_equal(net_clients_open(fds, PLACES + PENDING_USERS_MORE), PLACES - 2);
    assert_int_equal(server.acceptor->open, PLACES);
    close(same);
    net_clients_close(known, 2);
    net_clients_close(fds, PLACES + PENDING_USERS_MORE);
}

PENDING_USERS_TEST(of_two_that_wait_neither_shuts_out_the_other)
{
    enum { ALL = PLACES + PENDING_USERS_MORE };
    int fds[ALL], others[ALL];

    listens(PLACES);
    wait_as(ALICE, fds, ALL);
    for (int i = 0; i < ALL; i++) {
        others[i] = comes_as(BOB);
        server_turn(8);
    }
    assert_int_equal(waiting(), ALL);
    assert_int_equal(net_clients_open(fds, ALL), ALL / 2);
    assert_int_equal(net_clients_open(others, ALL), ALL / 2);
    net_clients_close(fds, ALL);
    net_clients_close(others, ALL);
}

/* Their names come together, and there are more of them than slot requests. */
PENDING_USERS_TEST(those_whose_names_come_wait_for_claims)
{
    enum { MANY = 20 * SLOT_REQUESTS_MAX, FEW = PENDING_USERS_MORE };
    int origin[MANY], good[FEW];

    listens(MANY);
    const char *tcp = server_listen((struct listener_options){0});
    for (int i = 0; i < MANY; i++) {
        origin[i] = net_client_connect_from(tcp, 1);
        SERVER_UNTIL(server_total() == (uint64_t)i + 1);
    }
    wait_as(ALICE, good, FEW / 2);
    wait_as(BOB, good + FEW / 2, FEW / 2);
    for (int i = 0; i < SLOT_REQUESTS_MAX; i++) /* as if other callers waited for a loop */
        server.acceptor->slot_request_count++;
    atomic_store(&slow, false);
    SERVER_UNTIL(atomic_load(&looks) == 2);
    server_turn(1000);
    assert_int_equal(waiting(), FEW);
    assert_int_equal(net_clients_open(good, FEW), FEW);
    server.acceptor->slot_request_count = 0;
    forget_names(); /* in between they are forgotten */
    for (int i = 0; i < FEW; i++)
        assert_true(is_served(good[i]));
    assert_int_equal(waiting(), 0);
    assert_int_equal(server_total(), MANY);
    net_clients_close(good, FEW);
    net_clients_close(origin, MANY);
}

/* A slot request that hangs: who waits for it is not kept for ever. */
PENDING_USERS_TEST(who_waits_for_a_claim_for_too_long_is_refused)
{
    int place, fd;

    server.limits.auth_timeout = AO_S(1000);
    listens(1);
    const char *tcp = server_listen((struct listener_options){0});
    place = net_client_connect_from(tcp, 1);
    SERVER_UNTIL(server_total() == 1);
    wait_as(ALICE, &fd, 1);
    server.acceptor->slot_request_count = SLOT_REQUESTS_MAX;
    atomic_store(&slow, false);
    SERVER_UNTIL(atomic_load(&looks) == 1);
    server_turn(100);
    assert_false(net_client_ended(fd));
    server.now += AO_S(1000);
    SERVER_UNTIL(net_client_ended(fd));
    server.acceptor->slot_request_count = 0;
    close(fd);
    close(place);
}
