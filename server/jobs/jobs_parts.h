/* The inside of struct jobs: one part for each room.  A file that works on a single room asks for
 * its part (accessors.h) and does not include this.
 *
 *     core/     what a job is, its table, its transitions and their effects; its history
 *     sched/    what is run next, and what holds a job back
 *     life/     submitted, started, returned, timed out, kept for a time, forgotten
 *     persist/  jobs as rows: to the store and back
 *     cron/, semaphores/, events/, batches/, feed/
 *               the subsystems (subsystem.h): jobs by calendar, semaphores and events that clients
 *               share by name, tasks that belong together, what happened to all jobs
 *     effects   what follows from what has happened, in one stated order
 *     operations/, verbs/
 *               requests of the loops, the clients that wait for jobs; what each method does
 *     ownership which node of a cluster has the jobs, and how they come to it
 *     settings  what the configuration says of tasks
 *
 * Each room calls those above it in this list, and none below.  Thread: the jobs'. */
#ifndef ERGON_JOBS_PARTS_H
#define ERGON_JOBS_PARTS_H

#include "base/counter.h"
#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/operations/waiters.h"
#include "server/jobs/ownership.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/subsystem.h"
#include "server/jobs/verbs/boards.h"
#include "server/jobs/verbs/watch.h"

struct audit;
#define X(name) struct name;
JOBS_SUBSYSTEMS(X)
#undef X

enum { NEW_LIMITS_WORDS = sizeof(struct jobs_limits) / sizeof(uint64_t) };
_Static_assert(sizeof(struct jobs_limits) % sizeof(uint64_t) == 0, "it is copied by words");

/* What was wished last, word by word; any thread reads it.  The post orders it before the step that
 * takes it over; of two that come at once a step may see a part of the second, and the next one
 * all. */
struct new_limits {
    counter words[NEW_LIMITS_WORDS];
    struct ao ao;
    struct ao_handle *handle;
};

struct jobs {
    struct jobs_options options;
    struct tasks *tasks;
    struct store *store; /* NULL: none */
    uint8_t most;        /* enum job_durable: of jobs that it takes while it works */
    struct activator *activator;
    struct ao ao; /* operations that came, writes that came back, work in small steps */
    struct job_table table;
    struct scheduler sched;
    struct ao clock_watch; /* see clock.h */
    struct journal journal;
    struct jobs_channel *channels;
    struct turns turns;                 /* operations that came, and what follows them */
    struct waiters_due due;             /* operations that are to be answered */
    struct waiters_pass pass;           /* through the waiters of a job */
    struct waiters_due postponed;       /* operations that were put aside: channel.h */
    struct event_batches event_batches; /* of watchers that are pushed to */
    uint32_t work;                      /* of this step, see jobs_worked() */
/* The states of the subsystems. */
#define X(name) struct name *name;
    JOBS_SUBSYSTEMS(X)
#undef X
    /* subsystems_task_lost(): effects.c, which the subsystems use, must not use them. */
    void (*task_lost)(struct jobs *jobs, const struct job *job);
    struct audit *audit; /* under way; NULL: none */
    struct turns sweeps; /* under way */
    struct sync sync;
    struct new_limits new_limits;
    struct ownership ownership;
    struct node_boards boards;
};

/* Set-up: makes the jobs the source of work of their manager (source.c). */
void source_connect(struct jobs *jobs);

#endif
