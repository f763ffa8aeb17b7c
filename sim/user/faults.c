#include "sim/user/faults.h"

#include <inttypes.h>

#include "sim/chance.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/user/remote.h"
#include "sim/user/report.h"
#include "sim/user/scenario.h"
#include "sim/user/world.h"

enum { DOWN_MS = 2000, SUSPENDED_MS = 600000, SET_MS = 3600000 };

static const struct sim_scenario *scenario;
static uint64_t next[SIM_FAULTS_COUNT];
static bool calm, busy;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_FAULTS, n);
}

static void end_node(enum sim_end how, const char *text)
{
    sim_story_all("%s", text);
    sim_node_end(how);
    sim_user_node_changed();
    sim_sleep_for(1 + below(SIM_MS(DOWN_MS)));
    sim_user_start();
    sim_story_all("the server is up again");
}

static void suspend(void)
{
    uint64_t ns = 1 + below(SIM_MS(SUSPENDED_MS));
    sim_clock_suspend(ns);
    sim_story_all("the machine was suspended for %" PRIu64 " s", ns / 1000000000);
}

static void set_clock(void)
{
    int64_t ns = (int64_t)below(2 * SIM_MS(SET_MS)) - (int64_t)SIM_MS(SET_MS);
    sim_clock_leap(ns);
    sim_story_all("the wall clock was set by %+" PRId64 " s", ns / 1000000000);
}

static void inject(enum sim_fault fault)
{
    switch (fault) {
    case SIM_FAULT_RESTART:
        end_node(SIM_STOP, "the server is restarted (SIGTERM)");
        break;
    case SIM_FAULT_KILL:
        end_node(SIM_KILL, "the server is killed (kill -9)");
        break;
    case SIM_FAULT_POWER:
        end_node(SIM_POWER, "the server loses power");
        break;
    case SIM_FAULT_CONNECTION_LOST:
        sim_story_all("a connection is reset");
        sim_net_reset(below(SIM_NEVER >> 16));
        break;
    case SIM_FAULT_WORKER_LOST:
    case SIM_FAULT_WORKER_KILLED:
        sim_remote_lose(fault == SIM_FAULT_WORKER_KILLED);
        break;
    case SIM_FAULT_SUSPEND:
        suspend();
        break;
    case SIM_FAULT_CLOCK:
        set_clock();
        break;
    case SIM_FAULTS_COUNT:
        break;
    }
}

static void draw_next(int n)
{
    next[n] = scenario->apart[n] == 0 ? SIM_NEVER : sim_now() + 1 + below(2 * scenario->apart[n]);
}

static int earliest(void)
{
    int first = 0;
    for (int n = 1; n < SIM_FAULTS_COUNT; n++)
        if (next[n] < next[first])
            first = n;
    return first;
}

static void run(void *arg)
{
    (void)arg;
    for (int n = 0; n < SIM_FAULTS_COUNT; n++)
        draw_next(n);
    for (;;) {
        int n = earliest();
        while (sim_now() < next[n] && !calm)
            sim_wait_for(&calm, next[n]);
        while (calm)
            sim_wait_for(&calm, SIM_NEVER);
        busy = true;
        inject((enum sim_fault)n);
        busy = false;
        sim_wake_all(&busy);
        draw_next(n);
    }
}

void sim_user_faults_spawn(const struct sim_scenario *s)
{
    scenario = s;
    sim_spawn(SIM_WORLD, "faults", run, NULL);
}

void sim_user_faults_calm(void)
{
    calm = true;
    sim_wake_all(&calm);
    while (busy)
        sim_wait_for(&busy, SIM_NEVER);
}
