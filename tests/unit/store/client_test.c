/* Which operations go to the store together.  The client's clock stands still, unless a test moves
 * it: nothing waits too long. */
#include <sqlite3.h>

#include <sched.h>
#include <stdlib.h>

#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"

enum { ENOUGH = 128, ROUNDS_MAX = 10000000 };

struct world {
    struct store_world at;
    struct ao_clock clock;
    ao_time now;
    struct round_hook busy; /* runs in each round: there is more to do */
    uint64_t pushed;
};

static ao_time time_of(void *world)
{
    return ((struct world *)world)->now;
}

static int set_up(void **state)
{
    store_world_make_of(state, sizeof(struct world));
    struct world *w = *state;
    w->now = AO_S(1);
    w->clock = (struct ao_clock){.now = time_of, .arg = w};
    w->at.client.clock = &w->clock;
    store_world_open(&w->at);
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    client_close(&w->at.client);
    return store_world_remove(state);
}

#define CLIENT_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

static void run_busy(struct round_hook *hook)
{
    activator_at_round_end(ao_of(hook, struct world, busy)->at.client.activator, hook);
}

/* In a round that is not the last one before a rest. */
static void push_busily(struct world *w, uint32_t count)
{
    w->busy.run = run_busy;
    activator_at_round_end(w->at.client.activator, &w->busy);
    while (count-- > 0)
        client_push(&w->at.client, client_put(++w->pushed, "m"));
    activator_round(w->at.client.activator, true);
}

static void become_free(struct world *w)
{
    activator_forget_hook(w->at.client.activator, &w->busy);
}

static uint64_t commits(const struct world *w)
{
    struct store_info info;
    store_info(w->at.client.store, &info);
    return info.commits;
}

CLIENT_TEST(few_go_when_the_client_has_nothing_more_to_do)
{
    for (int n = 0; n < 5; n++)
        push_busily(w, 3);
    become_free(w);
    client_wait(&w->at.client);
    assert_int_equal(commits(w), 1);
}

static void run(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static bool committing(const struct world *w)
{
    return atomic_load_explicit(&w->at.client.store->committing, memory_order_relaxed);
}

/* Somebody else writes, so that the commit cannot begin. */
CLIENT_TEST(what_comes_during_a_commit_waits_for_its_end)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(w->at.path, &db), SQLITE_OK);
    run(db, "BEGIN IMMEDIATE");
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    while (!committing(w))
        activator_round(w->at.client.activator, false);
    for (int n = 0; n < 5; n++) {
        client_push(&w->at.client, client_put(++w->pushed, "m"));
        activator_round(w->at.client.activator, false); /* it would rest */
    }
    assert_int_equal(w->at.client.store->gathered_count, 5);
    run(db, "COMMIT");
    sqlite3_close(db);
    client_wait(&w->at.client);
    assert_int_equal(commits(w), 2);
}

static void rest(struct world *w)
{
    for (int round = 0; round < 3; round++)
        activator_round(w->at.client.activator, false);
}

static void push_and_wait(struct world *w, uint32_t count)
{
    while (count-- > 0)
        client_push(&w->at.client, client_put(++w->pushed, "m"));
    client_wait(&w->at.client);
}

CLIENT_TEST(fewer_than_have_come_back_wait_for_a_moment)
{
    push_and_wait(w, 3);
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    rest(w);
    assert_int_equal(w->at.client.store->gathered_count, 1);
    w->now += AO_US(29);
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    rest(w);
    w->now += AO_US(29); /* since the last one */
    rest(w);
    assert_int_equal(w->at.client.store->gathered_count, 2);
    w->now += AO_US(1);
    client_wait(&w->at.client);
    assert_int_equal(commits(w), 2);
}

CLIENT_TEST(however_many_come_one_by_one_the_wait_ends)
{
    push_and_wait(w, 100);
    for (int n = 0; n < 5; n++) {
        client_push(&w->at.client, client_put(++w->pushed, "m"));
        rest(w);
        w->now += AO_US(29);
    }
    rest(w);
    assert_int_equal(w->at.client.store->gathered_count, 0);
    client_wait(&w->at.client);
}

CLIENT_TEST(what_came_back_long_ago_is_not_followed)
{
    push_and_wait(w, 3);
    w->now += AO_MS(1);
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    rest(w);
    assert_int_equal(w->at.client.store->gathered_count, 0);
    client_wait(&w->at.client);
}

CLIENT_TEST(a_busy_client_waits_for_a_while)
{
    push_busily(w, 3);
    w->now += AO_US(499);
    push_busily(w, 3);
    assert_int_equal(w->at.client.store->gathered_count, 6);
    w->now += AO_US(1);
    activator_round(w->at.client.activator, true);
    assert_int_equal(w->at.client.store->gathered_count, 0);
    become_free(w);
    client_wait(&w->at.client);
}

CLIENT_TEST(who_waited_in_vain_does_not_wait_again_at_once)
{
    push_and_wait(w, 3);
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    rest(w);
    w->now += AO_US(31);
    client_wait(&w->at.client);
    push_and_wait(w, 3);
    client_push(&w->at.client, client_put(++w->pushed, "m"));
    client_wait(&w->at.client); /* the clock stands: this would not end */
    assert_int_equal(commits(w), 4);
}

CLIENT_TEST(many_go_at_once)
{
    push_busily(w, ENOUGH);
    for (int n = 0; n < ROUNDS_MAX && w->at.client.back < ENOUGH; n++) {
        activator_round(w->at.client.activator, true);
        sched_yield();
    }
    assert_int_equal(w->at.client.back, ENOUGH);
    become_free(w);
}
