/* Walks through the connections of all loops, over real sockets. */
#include <unistd.h>

#include "server/net/connection/conn_private.h"
#include "server/net/connection/oversight.h"
#include "server/net/connection/walk.h"
#include "tests/support/net_server.h"

enum { FDS = 600 };

static struct seen {
    struct conn_walk walk;
    uint32_t count, most, cost;
    uint64_t ids[FDS];
    bool ended, dropped;
    struct connection *kill; /* what is closed at the first visit */
} seen;

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    if (seen.kill != NULL)
        conn_kill(seen.kill, "a test wants it");
    seen.kill = NULL;
    assert_true(seen.count < FDS);
    seen.ids[seen.count++] = conn_id(c);
    w->enough = seen.count == seen.most;
    return seen.cost;
}

static void end(struct conn_walk *w)
{
    seen.ended = true;
}

static void drop(struct conn_walk *w)
{
    seen.dropped = true;
}

static void prepare(uint32_t home)
{
    seen = (struct seen){.walk = {.loops = server.loops,
                                  .loop_count = server.count,
                                  .home = home,
                                  .visit = visit,
                                  .end = end,
                                  .drop = drop},
                         .cost = 1};
}

static void connect_many(int *fds, int count)
{
    const char *url = server_listen((struct listener_options){0});

    for (int i = 0; i < count; i++)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == (uint64_t)count);
}

static void close_all(const int *fds, int count)
{
    net_clients_close(fds, count);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(each_connection_of_each_loop_is_seen_once)
{
    int fds[30];
    uint64_t sum = 0;

    server.count = 3;
    connect_many(fds, 30);
    for (uint32_t home = 0; home < 3; home++, sum = 0) {
        prepare(home);
        conn_walk_start(&seen.walk);
        SERVER_UNTIL(seen.ended);
        assert_int_equal(seen.count, 30);
        for (int i = 0; i < 30; i++)
            sum += seen.ids[i];
        assert_int_equal(sum, 30 * 31 / 2);
        assert_int_equal(seen.walk.away, 0);
    }
    close_all(fds, 30);
}

SERVER_TEST(pages_go_on_where_the_one_before_has_ended)
{
    int fds[30];
    uint64_t sum = 0;
    uint32_t pages = 0;
    struct conn_walk before = {0};

    server.count = 3;
    connect_many(fds, 30);
    do {
        prepare(1);
        seen.most = 7;
        seen.walk.at = before.at;
        seen.walk.below = before.last;
        conn_walk_start(&seen.walk);
        SERVER_UNTIL(seen.ended);
        for (uint32_t i = 0; i < seen.count; i++)
            sum += seen.ids[i];
        before = seen.walk;
        pages++;
    } while (before.enough);
    assert_int_equal(pages, 5);
    assert_int_equal(sum, 30 * 31 / 2);
    close_all(fds, 30);
}

/* A step does so much and no more, and what closes between two steps is not looked at. */
SERVER_TEST(a_walk_goes_in_bounded_steps)
{
    int fds[FDS];

    server.count = 1;
    connect_many(fds, FDS);
    prepare(0);
    seen.cost = 16;
    conn_walk_start(&seen.walk);
    server_turn(1);
    assert_int_equal(seen.count, WALK_COST_A_STEP / 16);
    seen.kill = seen.walk.next;
    uint64_t killed = conn_id(seen.walk.next), next = conn_id(LIST_NEXT(seen.walk.next, link));
    conn_kill(seen.kill, "a test wants it");
    seen.kill = NULL;
    server_turn(1);
    assert_int_equal(seen.ids[WALK_COST_A_STEP / 16], next);
    assert_true(next < killed);
    SERVER_UNTIL(seen.ended);
    assert_int_equal(seen.count, FDS - 1);
    close_all(fds, FDS);
}

SERVER_TEST(a_loop_that_is_away_is_passed_over)
{
    int fds[30];

    server.count = 3;
    connect_many(fds, 30);
    net_loop_set_away(server.loops[1], true);
    prepare(0);
    conn_walk_start(&seen.walk);
    SERVER_UNTIL(seen.ended);
    assert_int_equal(seen.count, 20);
    assert_int_equal(seen.walk.away, 1);
    net_loop_set_away(server.loops[1], false);
    close_all(fds, 30);
}

/* Walks of those that look again and again. */
enum { LOOKERS = 8, COST = 16 };
static struct conn_walk lookers[LOOKERS];

static uint32_t look_on(struct conn_walk *w, struct connection *c)
{
    return COST;
}

static void look_again(struct conn_walk *w)
{
    if (LIST_EMPTY(&server.loops[0]->all))
        return;
    w->at = 0;
    conn_walk_start(w);
}

/* Returns in how many rounds one has ended that comes when these look already. */
static uint32_t rounds_beside_lookers(bool closes)
{
    int fds[FDS];
    uint32_t rounds = 0;

    server.count = 1;
    connect_many(fds, FDS);
    for (int i = 0; i < LOOKERS; i++) {
        lookers[i] = (struct conn_walk){
            .loops = server.loops, .loop_count = 1, .visit = look_on, .end = look_again};
        conn_walk_start(&lookers[i]);
    }
    server_turn(3);
    prepare(0);
    seen.cost = COST;
    seen.walk.closes = closes;
    conn_walk_start(&seen.walk);
    for (; !seen.ended; rounds++) {
        assert_true(rounds < 10 * FDS);
        server_turn(1);
    }
    assert_int_equal(seen.count, FDS);
    close_all(fds, FDS);
    server_turn(FDS); /* until nobody looks any more */
    return rounds;
}

enum { ROUNDS_ALONE = FDS * COST / WALK_COST_A_STEP + 1 };

SERVER_TEST(looks_take_turns)
{
    assert_in_range(rounds_beside_lookers(false), 1, (LOOKERS + 1) * ROUNDS_ALONE + 1);
}

SERVER_TEST(closings_take_half_of_the_turns)
{
    assert_in_range(rounds_beside_lookers(true), 1, 2 * ROUNDS_ALONE + 1);
}

SERVER_TEST(as_the_server_ends_a_walk_is_dropped)
{
    int fds[10];

    server.count = 2;
    connect_many(fds, 10);
    prepare(1);
    conn_walk_start(&seen.walk); /* on its way to the first loop, in its list */
    server_close(NULL);
    assert_true(seen.dropped && !seen.ended);
    for (int i = 0; i < 10; i++)
        close(fds[i]);
}
