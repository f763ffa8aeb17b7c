#include "sim/cluster/nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cluster/cluster.h"
#include "server/tasks/registry.h"
#include "sim/chance.h"
#include "sim/cluster/engine.h"
#include "sim/cluster/handlers.h"
#include "sim/cluster/jobs.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/peers.h"
#include "sim/pg/faults.h"
#include "sim/points.h"
#include "sim/postgres.h"
#include "sim/schedule.h"
#include "sim/settings.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    MOST = 3,
    AGAIN_MS = 8000, /* until a process is started again, at most */
    SOON_MS = 200,
    FREEZE_MS = 12000,
    CUT_MS = 15000,
    CLOCK_MS = 3000, /* by which clocks differ at first */
    LEAP_MS = 8000,
    OWNERS_MAX = 1000 /* before the world began */
};

extern const struct ergon_module_info *const demo_module; /* linked in */

static struct keeper {
    uint64_t starts_at; /* SIM_NEVER: it runs */
    bool doomed;        /* it is to die at once */
    bool stops;         /* it is to stop in order */
    bool hurries;       /* then it is started again soon */
} keepers[MOST];
static uint32_t count;
static uint64_t ends;
static bool calm, over, has_store;
static bool rests; /* no fault is under way, and none begins */
static struct {
    bool kills, powers, stops, drains, freezes, cuts, resets, clocks;
    uint64_t pause;
} shape;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_FAULTS, n);
}

static enum sim_owner owner(uint32_t n)
{
    return SIM_NODE + n;
}

uint32_t sim_nodes_count(void)
{
    return count;
}

uint64_t sim_nodes_epoch(void)
{
    struct engine_owner owner = {0};
    if (has_store)
        pg_see_owner(sim_postgres(), &owner);
    return owner.epoch;
}

uint64_t sim_nodes_changes(void)
{
    return sim_nodes_epoch() + ends;
}

bool sim_nodes_have_store(void)
{
    return has_store;
}

/* --- Configuration --- */

static int add_modules(struct registry *r, char *error, size_t size)
{
    return module_add(r, demo_module, error, size) == 0
               ? module_add(r, sim_handlers_module, error, size)
               : -1;
}

static void configure(struct sim_flags *f, uint32_t n)
{
    char error[400] = "", address[32], name[2] = {(char)('a' + n)};
    snprintf(address, sizeof address, "unix://" SIM_PEER_PATH "%u", (unsigned)n);
    if (has_store) {
        sim_flag_set(f, "--store", SIM_POSTGRES);
        sim_flag_set(f, "--cluster", SIM_POSTGRES_CLUSTER);
        sim_flag_set(f, "--cluster-node", name);
        sim_flag_set(f, "--cluster-listen", address);
    }
    if (!sim_nth_configure(n, f->words, add_modules, error, sizeof error))
        sim_finding("the configuration is not accepted: %s", error);
}

void sim_nodes_shape(void)
{
    static const uint64_t pauses[] = {SIM_MS(1000), SIM_MS(4000), SIM_MS(15000)};
    struct sim_flags flags;
    bool *const faults[] = {&shape.kills,   &shape.powers, &shape.stops,  &shape.drains,
                            &shape.freezes, &shape.cuts,   &shape.resets, &shape.clocks};
    for (size_t n = 0; n < sizeof faults / sizeof *faults; n++)
        *faults[n] = sim_one_in(SIM_SHAPE, 3);
    shape.pause = pauses[sim_below(SIM_SHAPE, 3)];
    count = 2 + (uint32_t)sim_below(SIM_SHAPE, MOST - 1);
    has_store = !sim_one_in(SIM_SHAPE, 32);
    if (has_store)
        sim_postgres_open();
    if (has_store && sim_one_in(SIM_SHAPE, 2))
        pg_age(sim_postgres(), 100 + (uint32_t)sim_below(SIM_SHAPE, OWNERS_MAX));
    if (!has_store)
        sim_jobs_apart();
    sim_engine_shape();
    sim_peers_shape(SIM_MS(1) << sim_below(SIM_SHAPE, 7));
    sim_flags_draw(&flags);
    if (strcmp(sim_flag_value(&flags, "--blocking"), "0") == 0)
        sim_flag_set(&flags, "--blocking", "1"); /* handlers are of that kind */
    if (strcmp(sim_flag_value(&flags, "--tasks-crashes"), "0") == 0)
        sim_flag_set(&flags, "--tasks-crashes",
                     "3"); /* else what kills its node does so for ever */
    for (uint32_t n = 0; n < count; n++) {
        configure(&flags, n);
        if (shape.clocks)
            sim_clock_set(owner(n), (int64_t)sim_below(SIM_SHAPE, SIM_MS(2 * CLOCK_MS)) -
                                        (int64_t)SIM_MS(CLOCK_MS));
    }
}

/* --- Lives --- */

static void start_again(struct keeper *k)
{
    uint64_t most = SIM_MS(k->hurries ? SOON_MS : AGAIN_MS);
    k->starts_at = sim_now() + 1 + (calm ? 0 : below(most));
    k->hurries = false;
}

static void end(uint32_t n, enum sim_end how)
{
    sim_tell("node %c: %s", 'a' + (int)n,
             how == SIM_STOP   ? "stops"
             : how == SIM_KILL ? "is killed"
                               : "loses power");
    sim_nth_end(n, how);
    ends++;
    keepers[n].doomed = keepers[n].stops = false;
    start_again(&keepers[n]);
}

/* A node that gives its place up says why in its row. */
static void check_note(uint32_t n)
{
    char name[2] = {(char)('a' + n)};
    struct engine_node node;
    if (has_store && pg_see_node(sim_postgres(), name, &node) && strstr(node.note, "damaged"))
        sim_finding("kept: node %s cannot read what a former owner wrote: %s", name, node.note);
}

/* One that ends by itself, by status 75, is started again; so is one that could not start. */
static void keep(uint32_t n)
{
    struct keeper *k = &keepers[n];
    if (k->starts_at <= sim_now()) {
        k->starts_at = SIM_NEVER;
        sim_tell("node %c starts", 'a' + (int)n);
        if (!sim_nth_start(n) && k->starts_at == SIM_NEVER)
            end(n, SIM_KILL);
    } else if (k->starts_at == SIM_NEVER && (k->stops || sim_nth_leaves(n))) {
        if (sim_nth_leaves(n))
            check_note(n);
        if (sim_nth_leaves(n))
            sim_tell("node %c leaves (%" PRIx32 ")", 'a' + (int)n, sim_nth_leaves(n));
        sim_nth_end(n, SIM_STOP);
        ends++;
        k->stops = false;
        if (k->starts_at == SIM_NEVER) /* else it was killed meanwhile */
            start_again(k);
    }
}

static void run_keeper(void *arg)
{
    uint32_t n = (uint32_t)((struct keeper *)arg - keepers);
    for (;;) {
        keep(n);
        sim_wait_for(&keepers[n], sim_now() + SIM_MS(100));
    }
}

void sim_nodes_kill(uint32_t node)
{
    keepers[node].doomed = true;
    sim_wake_all(keepers);
}

static void run_reaper(void *arg)
{
    (void)arg;
    for (;;) {
        for (uint32_t n = 0; n < count; n++)
            if (keepers[n].doomed)
                end(n, SIM_KILL);
        sim_wait_for(keepers, SIM_NEVER);
    }
}

struct sim_link *sim_nodes_connect(uint32_t *node)
{
    uint32_t from = (uint32_t)sim_below(SIM_DEEDS, count);
    for (uint32_t n = 0; n < count; n++) {
        *node = (from + n) % count;
        if (sim_nth_up(*node))
            return sim_nth_connect(*node);
    }
    return NULL;
}

bool sim_nodes_all_up(void)
{
    for (uint32_t n = 0; n < count; n++)
        if (!sim_nth_up(n))
            return false;
    return true;
}

void sim_nodes_stop(void)
{
    over = true;
    for (uint32_t n = 0; n < count; n++)
        sim_nth_end(n, SIM_STOP);
}

/* --- Faults --- */

static uint32_t any(void)
{
    return (uint32_t)below(count);
}

static void kill(void)
{
    if (shape.kills)
        end(any(), SIM_KILL);
}

static void cut_power(void)
{
    if (shape.powers)
        end(any(), SIM_POWER);
}

void sim_nodes_ask_to_stop(uint32_t node, bool hurries)
{
    keepers[node].stops |= sim_nth_up(node);
    keepers[node].hurries = hurries;
    sim_wake_all(&keepers[node]);
}

static void stop(void)
{
    uint32_t n = any();
    if (shape.stops)
        sim_nodes_ask_to_stop(n, false);
}

static void freeze(void)
{
    uint32_t n = any();
    uint64_t length = below(SIM_MS(FREEZE_MS));
    if (!shape.freezes)
        return;
    sim_tell("node %c stands still for %" PRIu64 " ms", 'a' + (int)n, length / 1000000);
    sim_jobs_excuse(true);
    sim_freeze(owner(n), true);
    sim_sleep_for(1 + length);
    sim_freeze(owner(n), false);
    sim_jobs_excuse(false);
}

/* Between two nodes, one way or both; or of one node and all others. */
static void cut(void)
{
    uint32_t a = any(), b = any();
    uint64_t length = below(SIM_MS(CUT_MS));
    unsigned ways = 1 + (unsigned)below(3);
    if (!shape.cuts)
        return;
    sim_tell("nothing passes from %c to %s (%u) for %" PRIu64 " ms", 'a' + (int)a,
             a == b   ? "all"
             : b == 0 ? "a"
             : b == 1 ? "b"
                      : "c",
             ways, length / 1000000);
    sim_jobs_excuse(true);
    for (uint32_t n = 0; n < count; n++) {
        if (n == a || (a != b && n != b))
            continue;
        sim_peers_cut(owner(a), owner(n), ways & 1);
        sim_peers_cut(owner(n), owner(a), ways & 2);
    }
    sim_sleep_for(1 + length);
    sim_peers_whole();
    sim_jobs_excuse(false);
}

static void reset(void)
{
    if (shape.resets)
        sim_peers_reset(below(SIM_NEVER >> 16));
}

static void set_clock(void)
{
    int64_t by = (int64_t)below(SIM_MS(1) << below(15));
    if (shape.clocks)
        sim_clock_set(owner(any()), below(2) ? by : -by);
}

void sim_nodes_leap(uint32_t node)
{
    for (uint32_t n = 0; n < count; n++) {
        int64_t by = (int64_t)below(SIM_MS(LEAP_MS) >> below(4));
        sim_clock_set(owner(n), n == node ? -by : by);
    }
}

static void run_faults(void *arg)
{
    static void (*const faults[])(void) = {kill, cut_power, stop, freeze, cut, reset, set_clock};
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

void sim_nodes_spawn(void)
{
    for (uint32_t n = 0; n < count; n++) {
        char name[16];
        keepers[n].starts_at = 1 + sim_below(SIM_SHAPE, SIM_MS(3000));
        snprintf(name, sizeof name, "keeper %c", 'a' + (int)n);
        sim_spawn(SIM_WORLD, name, run_keeper, &keepers[n]);
    }
    sim_spawn(SIM_WORLD, "reaper", run_reaper, NULL);
    sim_spawn(SIM_WORLD, "faults", run_faults, NULL);
    if (has_store)
        sim_engine_spawn();
}

void sim_nodes_calm(void)
{
    calm = true;
    sim_engine_calm();
    while (!rests || (has_store && !sim_engine_rests()))
        sim_sleep_for(SIM_MS(1000));
    for (uint32_t n = 0; n < count; n++) {
        sim_clock_set(owner(n), 0);
        if (keepers[n].starts_at < SIM_NEVER && keepers[n].starts_at > sim_now())
            keepers[n].starts_at = sim_now();
    }
}
