#include "server/jobs/clock.h"

#include <assert.h>

#include "base/log.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/timers.h"
#include "server/jobs/persist/codec.h"

static void set_back_done(struct jobs *jobs, struct store_op *write)
{
    journal_notice(jobs, write);
}

/* Operations stay in order: the rows before it have times of the old clock, those behind it of the
 * new one. */
static void set_rows_back(struct jobs *jobs, uint64_t by)
{
    struct store_op *write =
        jobs->store ? codec_write_new(jobs, STORE_SET_BACK, 0, set_back_done) : NULL;
    if (!write)
        return;
    write->back = by;
    store_push(jobs->store, write);
}

static void set_back(struct jobs *jobs, uint64_t by)
{
    timers_set_back(&jobs->sched, by);
    set_rows_back(jobs, by);
}

void clock_leapt(struct job_table *table, int64_t by)
{
    struct jobs *jobs = ao_of(table, struct jobs, table);
    uint64_t length = by > 0 ? (uint64_t)by : (uint64_t)-by;
    assert(!table->clock_held);
    log_warn(by > 0 ? "the clock went forward: what became due is begun"
                    : "the clock was set back: what is left of delays stays",
             LOG_UINT("seconds", length / AO_S(1)));
    if (by > 0)
        timers_advance(&jobs->sched, length);
    else
        set_back(jobs, length);
    subsystems_clock_leapt(jobs, by);
}

void clock_hold(struct jobs *jobs, bool held)
{
    struct job_table *table = &jobs->table;
    uint64_t wall = table_wall(table);
    if (held)
        table->wall_ahead = wall - activator_clock(jobs->activator);
    table->clock_held = held;
}

void clock_recover(struct jobs *jobs)
{
    assert(jobs->table.clock_held);
    uint64_t last = store_committed_at(jobs->store);
    uint64_t now = table_wall_of(&jobs->table, activator_clock(jobs->activator));
    if (last <= now)
        return;
    log_warn(
        "the clock is behind the store's last commit: delays go on with the time that was left",
        LOG_UINT("seconds", (last - now) / AO_S(1)));
    enum store_error error = store_set_back(jobs->store, last - now);
    if (error != STORE_OK)
        log_error("times in the store could not be set back",
                  LOG_STR("why", store_error_text(error)));
}

/* --- The watch --- */

static bool anything_waits(const struct jobs *jobs)
{
    uint64_t open = 0;
    for (unsigned state = 0; state < JOB_STATE_COUNT; state++)
        if (job_state_open((enum job_state)state))
            open += counter_read(&jobs->table.by_state[state]);
    return open > 0 || subsystems_follow_wall(jobs);
}

static enum ao_verdict watch_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, clock_watch);
    table_look_at_clock(&jobs->table);
    subsystems_clock_watched(jobs);
    if (!anything_waits(jobs))
        return AO_DONE;
    ao_sleep_for(self, AO_MS(CLOCK_WATCH_MS));
    return AO_PARK;
}

const struct ao_class clock_watch_class = {.name = "clock", .step = watch_step};
