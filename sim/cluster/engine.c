#include "sim/cluster/engine.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/chance.h"
#include "sim/cluster/nodes.h"
#include "sim/pg/faults.h"
#include "sim/postgres.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    OUTAGE_MS = 12000,
    LAG_MS = 2000,
    RACE_MS = 1000,
    LATE_MS = 4000,
    LOOK_MS = 2,
    TAKEN_MS =
        40000, /* until another node owns, at most: some count 15 s after a reconnect first */
    OWNED_MS = 12000,
    RELAY_MS = 8000, /* a node's clock may be wrong by 10 s */
    SERVES_MS = 1000
};

static bool calm, rests, waits;
enum { FAULTS = 13 };
static struct {
    void (*faults[FAULTS])(void);
    uint32_t count;
    uint64_t pause;
} shape;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_FAULTS, n);
}

static const char *const names[] = {"a", "b", "c"};

static const char *any_node(void)
{
    return names[below(sim_nodes_count())];
}

/* Most outages are short. */
static void wait_a_while(void)
{
    sim_sleep_for(1 + below(SIM_MS(OUTAGE_MS) >> below(6)));
}

static void break_links(void)
{
    const char *node = below(2) ? any_node() : NULL;
    sim_tell("connections of %s to PostgreSQL break", node ? node : "all");
    pg_break(sim_postgres(), node);
}

static void cut(void)
{
    const char *node = any_node();
    unsigned ways = 1 + (unsigned)below(PG_TO_ENGINE | PG_TO_NODE);
    sim_tell("%s is cut off from PostgreSQL (%u)", node, ways);
    pg_cut(sim_postgres(), node, -1, ways);
    wait_a_while();
    sim_tell("%s is no longer cut off from PostgreSQL", node);
    pg_cut(sim_postgres(), node, -1, 0);
}

static bool find_owner(char name[CLUSTER_NAME_MAX])
{
    struct engine_owner owner;
    pg_see_owner(sim_postgres(), &owner);
    memcpy(name, owner.node, CLUSTER_NAME_MAX);
    return *name != '\0';
}

/* False: no node has begun to take over for a while. */
static bool await_taker(char name[CLUSTER_NAME_MAX], bool taken)
{
    uint64_t until = sim_now() + SIM_MS(OUTAGE_MS);
    const char *taker;
    while (!(taker = pg_taker(sim_postgres(), taken)) && sim_now() < until)
        sim_sleep_for(1 + below(SIM_MS(LOOK_MS)));
    snprintf(name, CLUSTER_NAME_MAX, "%s", taker ? taker : "");
    return taker != NULL;
}

static void cut_whole(const char *node, bool on)
{
    pg_cut(sim_postgres(), node, -1, on ? PG_TO_ENGINE | PG_TO_NODE : 0);
}

/* Another one has taken over, and has loaded: its first batch says so. */
static bool has_owner_but(const char *former)
{
    struct engine_owner owner;
    pg_see_owner(sim_postgres(), &owner);
    return *owner.node && strcmp(owner.node, former) != 0 && owner.tries == 0;
}

/* Until another one owns, and has for a while. */
static void await_owner_but(const char *former, uint64_t most_ms, uint64_t serves_ms)
{
    uint64_t until = sim_now() + SIM_MS(most_ms);
    while (!has_owner_but(former) && sim_now() < until)
        sim_sleep_for(SIM_MS(100));
    if (has_owner_but(former))
        sim_sleep_for(1 + below(SIM_MS(serves_ms)));
}

/* The owner's messages are held up until another node is in the middle of its take-over; then that
 * node is cut off, so that batches of the owner come in between. */
static void race(void)
{
    char owner[CLUSTER_NAME_MAX], taker[CLUSTER_NAME_MAX];
    if (!find_owner(owner))
        return;
    sim_tell("what the owner %s sends to PostgreSQL is held up until another takes over", owner);
    pg_hold(sim_postgres(), owner, true);
    cut_whole(owner, true);
    if (await_taker(taker, below(2))) {
        sim_tell("%s takes over, and is cut off in the middle", taker);
        pg_cut(sim_postgres(), taker, -1, PG_TO_ENGINE);
        pg_release(sim_postgres(), owner, true);
        sim_sleep_for(1 + below(SIM_MS(RACE_MS)));
        pg_cut(sim_postgres(), taker, -1, 0);
        sim_sleep_for(1 + below(SIM_MS(RACE_MS)));
    }
    pg_hold(sim_postgres(), owner, false);
    cut_whole(owner, false);
    pg_release(sim_postgres(), owner, false);
}

/* The owner's messages arrive after their outcome was settled; meanwhile statements may fail by an
 * error that ends the batches that are sent again. */
static void straggle(void)
{
    char owner[CLUSTER_NAME_MAX];
    if (!find_owner(owner))
        return;
    pg_hold(sim_postgres(), owner, true);
    sim_sleep_for(1 + below(SIM_MS(200)));
    sim_tell("connections of %s to PostgreSQL break, and what it sent is late", owner);
    pg_break(sim_postgres(), owner);
    pg_hold(sim_postgres(), owner, false);
    uint64_t settlings = pg_settlings(sim_postgres()), until = sim_now() + SIM_MS(LATE_MS);
    while (pg_settlings(sim_postgres()) == settlings && sim_now() < until)
        sim_sleep_for(1 + below(SIM_MS(LOOK_MS)));
    if (below(2))
        pg_fail(sim_postgres(), "53100", 2);
    sim_sleep_for(1 + below(SIM_MS(1) << below(8)));
    pg_fail(sim_postgres(), "", 0);
    pg_release(sim_postgres(), owner, false);
}

/* The owner is cut off from the database alone, until another one has owned for a while. */
static void isolate(void)
{
    char owner[CLUSTER_NAME_MAX];
    if (!find_owner(owner))
        return;
    if (below(2)) {
        sim_postgres_lag(SIM_MS(LAG_MS));
        sim_sleep_for(1 + below(SIM_MS(LAG_MS)));
    }
    sim_tell("the owner %s is cut off from PostgreSQL", owner);
    cut_whole(owner, true);
    if (below(2))
        sim_nodes_leap((uint32_t)(*owner - 'a'));
    sim_postgres_lag(0);
    await_owner_but(owner, TAKEN_MS, OWNED_MS);
    sim_tell("%s is no longer cut off from PostgreSQL", owner);
    cut_whole(owner, false);
}

static void fail(void)
{
    static const char *const states[] = {"57014", "40001", "55P03", "57P01", "53100"};
    const char *state = states[below(sizeof states / sizeof *states)];
    sim_tell("statements of PostgreSQL fail: %s", state);
    pg_fail(sim_postgres(), state, 1 + below(4));
    wait_a_while();
    pg_fail(sim_postgres(), "", 0);
}

static void cancel(void)
{
    sim_tell("commits of PostgreSQL do not wait for a standby");
    pg_cancel_waits(sim_postgres());
}

static void lag(void)
{
    sim_tell("the standbys of PostgreSQL lag");
    sim_postgres_lag(SIM_MS(LAG_MS));
    wait_a_while();
    sim_postgres_lag(0);
}

static void promote(void)
{
    int next = pg_most_advanced(sim_postgres());
    sim_tell("standby %d of PostgreSQL takes the place of the primary", next);
    pg_promote(sim_postgres(), next);
}

static void die(void)
{
    int primary = pg_primary(sim_postgres());
    sim_tell("PostgreSQL dies");
    pg_kill(sim_postgres(), primary);
    wait_a_while();
    if (below(3) == 0) {
        sim_tell("PostgreSQL starts again");
        pg_start(sim_postgres(), primary);
        return;
    }
    promote();
    wait_a_while();
    pg_follow(sim_postgres(), primary);
}

static void stand_still(void)
{
    int primary = pg_primary(sim_postgres());
    sim_tell("PostgreSQL stands still");
    pg_freeze(sim_postgres(), primary, true);
    wait_a_while();
    pg_freeze(sim_postgres(), primary, false);
}

/* The primary goes on, as it does not know: nodes reach both. */
static void part(void)
{
    int primary = pg_primary(sim_postgres());
    sim_tell("PostgreSQL is cut off from its standbys");
    pg_separate(sim_postgres(), primary, true);
    wait_a_while();
    if (below(3) == 0) {
        pg_separate(sim_postgres(), primary, false);
        return;
    }
    promote();
    wait_a_while();
    sim_tell("the former primary of PostgreSQL follows");
    pg_separate(sim_postgres(), primary, false);
    pg_follow(sim_postgres(), primary);
}

/* The owner and the primary are on one side, all others on the other, where a standby is promoted.
 */
static void split(void)
{
    int primary = pg_primary(sim_postgres());
    char owner[CLUSTER_NAME_MAX];
    if (!find_owner(owner))
        return;
    sim_tell("the owner %s and the primary of PostgreSQL are cut off from all others", owner);
    pg_separate(sim_postgres(), primary, true);
    for (uint32_t n = 0; n < sim_nodes_count(); n++)
        if (strcmp(names[n], owner) != 0)
            pg_cut(sim_postgres(), names[n], primary, PG_TO_ENGINE | PG_TO_NODE);
    for (int n = 0; n < PG_MACHINES; n++)
        if (n != primary)
            pg_cut(sim_postgres(), owner, n, PG_TO_ENGINE | PG_TO_NODE);
    promote();
    await_owner_but(owner, TAKEN_MS, OWNED_MS);
    sim_tell("the former primary of PostgreSQL follows, and all reach all");
    for (uint32_t n = 0; n < sim_nodes_count(); n++)
        pg_cut(sim_postgres(), names[n], -1, 0);
    pg_separate(sim_postgres(), primary, false);
    pg_follow(sim_postgres(), primary);
}

/* Nodes own one after the other while the wall clocks stand still. */
static void relay(void)
{
    char owner[CLUSTER_NAME_MAX];
    sim_tell("the nodes' wall clocks stand still, and owners hand over");
    sim_clock_stand(true);
    uint64_t until = sim_now() + SIM_MS(RELAY_MS);
    while (sim_now() < until && find_owner(owner)) {
        sim_nodes_ask_to_stop((uint32_t)(*owner - 'a'), true);
        await_owner_but(owner, 1 + (until - sim_now()) / SIM_MS(1), SERVES_MS);
    }
    sim_clock_stand(false);
}

static void do_one(void (*fault)(void))
{
    waits = fault == race || fault == isolate || fault == split || fault == relay;
    fault();
    waits = false;
}

static void run(void *arg)
{
    (void)arg;
    for (;;) {
        sim_sleep_for(1 + below(shape.pause));
        rests = calm;
        if (calm)
            sim_sleep(SIM_NEVER);
        else if (shape.count > 0)
            do_one(shape.faults[below(shape.count)]);
    }
}

void sim_engine_shape(void)
{
    static const uint64_t pauses[] = {SIM_MS(1000), SIM_MS(4000), SIM_MS(15000)};
    static void (*const all[FAULTS])(void) = {break_links, cut,         fail, cancel, lag,
                                              die,         stand_still, part, race,   straggle,
                                              isolate,     split,       relay};
    for (size_t n = 0; n < FAULTS; n++)
        if (sim_one_in(SIM_SHAPE, 4))
            shape.faults[shape.count++] = all[n];
    shape.pause = pauses[sim_below(SIM_SHAPE, 3)];
}

void sim_engine_spawn(void)
{
    sim_spawn(SIM_WORLD, "engine", run, NULL);
}

void sim_engine_calm(void)
{
    calm = true;
}

bool sim_engine_waits(void)
{
    return waits;
}

bool sim_engine_rests(void)
{
    return rests;
}
