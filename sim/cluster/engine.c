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
#include "sim/trace.h"

enum { OUTAGE_MS = 12000, LAG_MS = 2000, RACE_MS = 2000, LATE_MS = 1500, LOOK_MS = 2 };

static bool calm, rests;
static struct {
    bool breaks, cuts, fails, cancels, lags, dies, stands, parts, races, straggles;
    uint64_t pause;
} shape;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_FAULTS, n);
}

static const char *any_node(void)
{
    static const char *const names[] = {"a", "b", "c"};
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
    if (!shape.breaks)
        return;
    sim_tell("connections of %s to PostgreSQL break", node ? node : "all");
    pg_break(sim_postgres(), node);
}

static void cut(void)
{
    const char *node = any_node();
    unsigned ways = 1 + (unsigned)below(PG_TO_ENGINE | PG_TO_NODE);
    if (!shape.cuts)
        return;
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

/* The owner is cut off until another node is in the middle of its take-over; then that one is, so
 * that what the owner has sent meanwhile comes in between. */
static void race(void)
{
    char owner[CLUSTER_NAME_MAX], taker[CLUSTER_NAME_MAX];
    if (!shape.races || !find_owner(owner))
        return;
    sim_tell("the owner %s is cut off from PostgreSQL until another node takes over", owner);
    pg_cut(sim_postgres(), owner, -1, PG_TO_ENGINE | PG_TO_NODE);
    if (await_taker(taker, below(2))) {
        sim_tell("%s takes over, and is cut off in the middle", taker);
        pg_cut(sim_postgres(), taker, -1, PG_TO_ENGINE);
    }
    pg_cut(sim_postgres(), owner, -1, 0);
    sim_sleep_for(1 + below(SIM_MS(RACE_MS)));
    if (*taker)
        pg_cut(sim_postgres(), taker, -1, 0);
}

/* What the owner has sent comes in long after its connections broke, and meanwhile statements may
 * fail for a reason that ends what is sent again. */
static void straggle(void)
{
    char owner[CLUSTER_NAME_MAX];
    uint64_t later = below(SIM_MS(LATE_MS));
    if (!shape.straggles || !find_owner(owner))
        return;
    pg_cut(sim_postgres(), owner, -1, PG_TO_ENGINE);
    sim_sleep_for(1 + below(SIM_MS(200)));
    sim_tell("connections of %s to PostgreSQL break, and what it sent is late", owner);
    pg_break_late(sim_postgres(), owner, later);
    pg_cut(sim_postgres(), owner, -1, 0);
    if (below(4) == 0)
        return;
    pg_fail(sim_postgres(), "53100", 2);
    sim_sleep_for(1 + below(later + 1));
    pg_fail(sim_postgres(), "", 0);
}

static void fail(void)
{
    static const char *const states[] = {"57014", "40001", "55P03", "57P01", "53100"};
    const char *state = states[below(sizeof states / sizeof *states)];
    if (!shape.fails)
        return;
    sim_tell("statements of PostgreSQL fail: %s", state);
    pg_fail(sim_postgres(), state, 1 + below(4));
    wait_a_while();
    pg_fail(sim_postgres(), "", 0);
}

static void cancel(void)
{
    if (!shape.cancels)
        return;
    sim_tell("commits of PostgreSQL do not wait for a standby");
    pg_cancel_waits(sim_postgres());
}

static void lag(void)
{
    if (!shape.lags)
        return;
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
    if (!shape.dies)
        return;
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
    if (!shape.stands)
        return;
    sim_tell("PostgreSQL stands still");
    pg_freeze(sim_postgres(), primary, true);
    wait_a_while();
    pg_freeze(sim_postgres(), primary, false);
}

/* The primary goes on, as it does not know: nodes reach both. */
static void part(void)
{
    int primary = pg_primary(sim_postgres());
    if (!shape.parts)
        return;
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

static void run(void *arg)
{
    static void (*const faults[])(void) = {break_links, cut,         fail, cancel, lag,
                                           die,         stand_still, part, race,   straggle};
    (void)arg;
    for (;;) {
        sim_sleep_for(1 + below(shape.pause));
        rests = calm;
        if (calm)
            sim_sleep(SIM_NEVER);
        else
            faults[below(sizeof faults / sizeof *faults)]();
    }
}

void sim_engine_shape(void)
{
    static const uint64_t pauses[] = {SIM_MS(1000), SIM_MS(4000), SIM_MS(15000)};
    bool *const faults[] = {&shape.breaks, &shape.cuts,     &shape.fails,  &shape.cancels,
                            &shape.lags,   &shape.dies,     &shape.stands, &shape.parts,
                            &shape.races,  &shape.straggles};
    for (size_t n = 0; n < sizeof faults / sizeof *faults; n++)
        *faults[n] = sim_one_in(SIM_SHAPE, 4);
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

bool sim_engine_rests(void)
{
    return rests;
}
