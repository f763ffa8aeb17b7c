#include "sim/faults.h"

#include <inttypes.h>
#include <stdbool.h>

#include "sim/chance.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum { PAUSE_MS = 300, PARTITION_MS = 300 };

static struct {
    bool resets, partitions, leaps, suspends;
} shape;
static bool calm;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_FAULTS, n);
}

static void reset(void)
{
    if (shape.resets)
        sim_net_reset(below(SIM_NEVER >> 16));
}

static void partition(void)
{
    if (!shape.partitions)
        return;
    uint64_t length = below(SIM_MS(PARTITION_MS));
    unsigned ways = 1 + (unsigned)below(SIM_TO_SERVER | SIM_TO_CLIENT);
    bool all = below(2) == 0;
    sim_tell("of %s nothing passes for %" PRIu64 " us (%u)", all ? "all" : "one", length / 1000,
             ways);
    if (all)
        sim_net_stop_all(ways);
    else
        sim_net_stop(ways, below(SIM_NEVER >> 16));
    sim_sleep_for(1 + length);
    sim_net_go();
}

/* Both ways, and now and then by more than the server has been there. */
static void leap(void)
{
    int64_t by = (int64_t)below(SIM_MS(1) << below(22));
    if (shape.leaps)
        sim_clock_leap(below(2) ? by : -by);
}

static void suspend(void)
{
    if (shape.suspends)
        sim_clock_suspend(below(SIM_MS(1) << below(22)));
}

static void run(void *arg)
{
    static void (*const faults[])(void) = {reset, partition, leap, suspend};
    (void)arg;
    for (;;) {
        sim_sleep_for(1 + below(SIM_MS(PAUSE_MS)));
        if (calm)
            sim_sleep(SIM_NEVER);
        else
            faults[below(sizeof faults / sizeof *faults)]();
    }
}

void sim_faults_shape(void)
{
    shape.resets = sim_one_in(SIM_SHAPE, 4);
    shape.partitions = sim_one_in(SIM_SHAPE, 4);
    shape.leaps = sim_one_in(SIM_SHAPE, 8);
    shape.suspends = sim_one_in(SIM_SHAPE, 8);
    sim_memory_shape();
}

void sim_faults_spawn(void)
{
    if (shape.resets || shape.partitions || shape.leaps || shape.suspends)
        sim_spawn(SIM_WORLD, "faults", run, NULL);
}

void sim_faults_calm(void)
{
    calm = true;
    sim_memory_ample(true);
}
