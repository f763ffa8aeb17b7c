#include "server/jobs/accessors.h"

#include "server/jobs/jobs_parts.h"
#include "server/jobs/verbs/audit.h"
#include "server/jobs/verbs/steer.h"

struct job_table *jobs_table(const struct jobs *jobs)
{
    return (struct job_table *)&jobs->table;
}

struct scheduler *jobs_scheduler(const struct jobs *jobs)
{
    return (struct scheduler *)&jobs->sched;
}

struct journal *jobs_journal(const struct jobs *jobs)
{
    return (struct journal *)&jobs->journal;
}

struct store *jobs_store(const struct jobs *jobs)
{
    return jobs->store;
}

struct tasks *jobs_tasks(const struct jobs *jobs)
{
    return jobs->tasks;
}

struct activator *jobs_activator(const struct jobs *jobs)
{
    return jobs->activator;
}

const struct jobs_options *jobs_options(const struct jobs *jobs)
{
    return &jobs->options;
}

struct ownership *jobs_ownership(const struct jobs *jobs)
{
    return (struct ownership *)&jobs->ownership;
}

struct jobs *jobs_of(struct job_table *table)
{
    return ao_of(table, struct jobs, table);
}

void jobs_activate(struct jobs *jobs)
{
    ao_activate(&jobs->ao);
}

void jobs_worked(struct jobs *jobs, size_t work)
{
    jobs->work += work < STEP_WORK ? (uint32_t)work : STEP_WORK;
}

uint32_t jobs_work(const struct jobs *jobs)
{
    return jobs->work;
}

bool jobs_have_time(const struct jobs *jobs)
{
    return jobs->work < STEP_WORK;
}

bool jobs_may_act(const struct jobs *jobs)
{
    return !jobs->sched.may_begin || jobs->sched.may_begin(jobs->sched.may_begin_arg);
}

bool jobs_store_usable(const struct jobs *jobs)
{
    return jobs->store && jobs->journal.error == STORE_OK;
}

bool jobs_store_upgraded(const struct jobs *jobs)
{
    return !jobs->store || store_keeps(jobs->store, STORE_KEEPS_BATCHES);
}

const char *jobs_store_trouble(const struct jobs *jobs)
{
    bool fenced = jobs->ownership.state == OWNERSHIP_OWNER && !jobs->sched.acts;
    return fenced && jobs->journal.error == STORE_OK
               ? "this node has not heard of its cluster's database for some seconds, and another "
                 "may own the tasks by now; it goes on by itself"
               : store_error_text(jobs->journal.error);
}

_Static_assert((int)STORE_LEVEL_ASYNC == DURABLE_ASYNC && (int)STORE_LEVEL_FSYNC == DURABLE_FSYNC &&
                   (int)STORE_LEVEL_REPLICATED == DURABLE_REPLICATED,
               "levels of the store are those of jobs");

bool jobs_take_level(const struct jobs *jobs, uint8_t level)
{
    return jobs->journal.error == STORE_OK && level <= jobs->most;
}

const char *jobs_level_trouble(const struct jobs *jobs, uint8_t level)
{
    if (level == DURABLE_REPLICATED &&
        !(jobs->store && store_level_most(jobs->store) == STORE_LEVEL_REPLICATED))
        return "durable: replicated needs a store on PostgreSQL with a synchronous standby; see "
               "docs/cluster.md";
    if (!jobs->store)
        return "this server has no store, so nothing can be durable; configure `store`, or ask for "
               "durable: none";
    if (jobs->journal.error != STORE_OK)
        return jobs_store_trouble(jobs);
    return "the store is less safe than `store_require` asks for; see docs/cluster.md";
}

uint8_t jobs_level_reached(const struct jobs *jobs, uint8_t level)
{
    return level == DURABLE_FSYNC && jobs->store ? (uint8_t)store_level(jobs->store) : level;
}

void jobs_watch_clock(struct jobs *jobs)
{
    if (ao_state(&jobs->clock_watch) == AO_STATE_INACTIVE && ao_current() != &jobs->clock_watch)
        ao_sleep_for(&jobs->clock_watch, AO_MS(CLOCK_WATCH_MS));
}

/* --- Parts of operations/ and verbs/ --- */

struct waiters_due *jobs_due(struct jobs *jobs)
{
    return &jobs->due;
}

struct waiters_pass *jobs_pass(struct jobs *jobs)
{
    return &jobs->pass;
}

struct sync *jobs_sync(struct jobs *jobs)
{
    return &jobs->sync;
}

struct batches *jobs_batches(const struct jobs *jobs)
{
    return jobs->batches;
}

struct event_batches *jobs_event_batches(struct jobs *jobs)
{
    return &jobs->event_batches;
}

struct turns *jobs_sweeps(struct jobs *jobs)
{
    return &jobs->sweeps;
}

struct node_boards *jobs_node_boards(const struct jobs *jobs)
{
    return (struct node_boards *)&jobs->boards;
}

struct audit **jobs_audit(struct jobs *jobs)
{
    return &jobs->audit;
}
