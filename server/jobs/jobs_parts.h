/* The inside of struct jobs: one part for each room.  Whoever works on a single room takes its part
 * (the table, the scheduler) and not the whole.
 *
 *     core/     what a job is, its table, its transitions and their effects; its history
 *     sched/    what is run next, and what holds a job back
 *     life/     submitted, started, returned, timed out, kept for a time, forgotten
 *     persist/  jobs as rows: to the store and back
 *     cron/, semaphores/, events/, feed/
 *               the subsystems (subsystem.h): jobs by calendar, semaphores and events that clients
 *               share by name, what happened to all jobs
 *     effects   what follows from what has happened, in one stated order
 *     operations/, verbs/
 *               requests of the loops, the clients that wait for jobs; what each method does
 *     settings  what the configuration says of tasks; new_limits: those that a reload changes
 *
 * Each room calls those above it in this list, and none below.  Thread: the jobs'. */
#ifndef ERGON_JOBS_PARTS_H
#define ERGON_JOBS_PARTS_H

#include "server/jobs/jobs.h"
#include "server/jobs/new_limits.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/operations/waiters.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/subsystem.h"
#include "server/jobs/verbs/watch.h"

struct audit;
struct board;
#define X(name) struct name;
JOBS_SUBSYSTEMS(X)
#undef X

struct jobs {
    struct jobs_options options;
    struct tasks *tasks;
    struct store *store; /* NULL: none */
    struct activator *activator;
    struct ao ao; /* operations that came, writes that came back, work in small steps */
    struct job_table table;
    struct scheduler sched;
    struct ao clock_watch; /* see clock.h */
    struct journal journal;
    struct jobs_channel *channels;
    struct turns turns;           /* operations that came, and what follows them */
    struct waiters_due due;       /* operations that are to be answered */
    struct waiters_pass pass;     /* through the waiters of a job */
    struct event_batches batches; /* of watchers that are pushed to */
    uint32_t work;                /* of this step, see jobs_worked() */
    struct board *board;          /* NULL: none, since there is no store */
/* The states of the subsystems. */
#define X(name) struct name *name;
    JOBS_SUBSYSTEMS(X)
#undef X
    /* subsystems_task_lost(): effects.c, which the subsystems use, must not use them. */
    void (*task_lost)(struct jobs *jobs, const struct job *job);
    struct audit *audit; /* under way; NULL: none */
    size_t wanted;       /* bytes that a new job needs, and that are made room for: room_trim() */
    struct turns sweeps; /* under way */
    struct sync sync;
    struct new_limits new_limits;
};

enum {
    CLOCK_WATCH_MS = 500,
    STEP_WORK =
        10000,    /* of a step, in pieces of about 100 ns: a millisecond; then the next round */
    EDGE_WORK = 3 /* of what one waits for: made, or dropped */
};

/* Something was done: so much work, in the order of magnitude.  What can be put off is done while
 * there is time, and otherwise in the next step. */
static inline void jobs_worked(struct jobs *jobs, size_t work)
{
    jobs->work += work < STEP_WORK ? (uint32_t)work : STEP_WORK;
}

static inline bool jobs_have_time(const struct jobs *jobs)
{
    return jobs->work < STEP_WORK;
}

/* Something waits for a time of the wall clock. */
static inline void jobs_watch_clock(struct jobs *jobs)
{
    if (ao_state(&jobs->clock_watch) == AO_STATE_INACTIVE && ao_current() != &jobs->clock_watch)
        ao_sleep_for(&jobs->clock_watch, AO_MS(CLOCK_WATCH_MS));
}

/* Can a durable job be taken now? */
static inline bool jobs_store_usable(const struct jobs *jobs)
{
    return jobs->store && jobs->journal.error == STORE_OK;
}

#endif
