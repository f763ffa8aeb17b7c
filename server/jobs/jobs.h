/* The jobs: what is submitted and kept.  They know the state of every submitted task from its
 * submission until it is forgotten, decide which is run next, and say why one is where it is.
 *
 * They are one active object on the manager's activator, which never blocks: a disk is the affair
 * of the store, executors are that of the manager (server/tasks/job_source.h), and connections that
 * of the loops (server/jobs/operations/channel.h).  Thread: that activator's, or the one that
 * builds, as each function says. */
#ifndef ERGON_JOBS_H
#define ERGON_JOBS_H

#include <ergon/activator.h>

#include "base/figure.h"
#include "base/histogram.h"
#include "base/span.h"
#include "server/jobs/core/states.h"
#include "server/jobs/settings.h"

struct cluster;
struct cron_spec;
struct job_spec;
struct jobs;
struct store;
struct tasks;
struct registry;
struct tracer; /* server/tracing/tracer.h */

struct jobs_tenant {
    const char *name;
    uint32_t weight; /* tasks in a turn */
};

/* What the jobs ask a cluster (server/cluster/view.h), and tell it.  All functions are called on
 * the jobs' thread, and must not block. */
struct jobs_cluster {
    const char *node; /* the name of this one */
    const struct cluster *cluster;
    bool (*may_act)(const struct cluster *cluster); /* cluster_may_act() */
    /* The tasks were read, and are served here from now on. */
    void (*owns)(void *arg);
    /* They cannot be read: the text says why.  Nothing is served here any more.  `away`: the
     * database broke off, and the rows may be sound. */
    void (*load_failed)(void *arg, const char *text, bool away);
    void (*load_waits)(void *arg, const char *text); /* for what; empty: it goes on */
    /* Another node owns them: nothing is written any more. */
    void (*deposed)(void *arg);
    void *arg; /* of the last three */
};

struct jobs_options {
    struct tasks *tasks;       /* borrowed; the jobs make themselves its source */
    struct registry *registry; /* borrowed */
    struct store *store;       /* borrowed, opened and not started; NULL: nothing is durable */
    /* enum job_durable: jobs of FSYNC and above are refused where the store gives less; 0: any. */
    uint8_t store_require;
    /* enum job_durable: of tasks of a cron of the store that names none; 0: FSYNC. */
    uint8_t default_durable;
    uint64_t (*wall)(void *arg); /* Unix ns; NULL: the system's clock */
    /* Of the machine, since any time; NULL: the system's; ns.  With the same argument. */
    uint64_t (*suspended)(void *arg);
    void *wall_arg;
    struct jobs_settings settings;
    /* Patterns, as in server/access/rights.h, of methods that workers will offer: their tasks wait
     * for that.  Borrowed; NULL: none. */
    const char *worker_methods;
    struct tracer *tracer;             /* borrowed: it gets the spans; NULL: there is none */
    const struct jobs_tenant *tenants; /* copied; others have the weight 1 */
    uint32_t tenant_count;
    /* Reads the options of a cron, a raw map as the store has it, into a spec that has its
     * defaults; its spans may point into the map.  False: it cannot be read.  Not NULL where there
     * is a store. */
    bool (*read_cron_options)(struct span options, struct cron_spec *spec);
    /* Reads the options of what a turn sends, likewise (spec_read_turn_options()); a text says what
     * is wrong.  NULL: turns send none with options. */
    bool (*read_turn_options)(struct span options, struct job_spec *spec, char *error, size_t size);
    /* Borrowed; NULL: there is no cluster, and what the store has belongs to this process.  Not
     * NULL with a store that loads in chunks. */
    const struct jobs_cluster *cluster;
};

/* On the thread that builds; the manager's activator does not run yet.  NULL and a text: there is
 * no memory, and nothing was kept of what was passed in. */
struct jobs *jobs_new(const struct jobs_options *options, char *error, size_t size);

/* Reads the store back: what was open is queued with the next attempt, delays and crons go on.  Of
 * a store that loads in chunks only the board is looked at.
 * Before the start.  Blocks.  0, or -1 and a text: an error of store_load(), a task whose state is
 * none, no memory.  The file is as it was, and jobs_free() is all that may follow. */
int jobs_recover(struct jobs *jobs, char *error, size_t size);

/* Starts the store, too.  Before the activators run.  0, or -1 and errno, as store_start() says. */
int jobs_start(struct jobs *jobs);

/* --- In a cluster --- */

struct jobs_take_over {
    uint64_t epoch;               /* under which the store is written from now on */
    uint32_t boards;              /* boards that were lost, with this take-over */
    uint64_t id_mark, fence_mark; /* no id and no fence above these was given */
    bool keeps_board;             /* the board of this node says what had begun here */
};

/* This process has taken over: it reads the store back in small steps, and calls `owns` or
 * `load_failed`.  Until then operations that concern tasks are refused as BUSY.  Called once, on
 * any thread but the jobs', between jobs_start() and jobs_stop(); blocks for the board's file. */
void jobs_become_owner(struct jobs *jobs, const struct jobs_take_over *take);

/* Handlers that had begun and had not returned when the last process of this node died, as its
 * board says, which was written under *epoch (0: there is none that is to be believed).  Returns
 * how many they are; from jobs_recover() on they stay as they are.  Any thread. */
struct jobs_begun {
    uint64_t id;
    uint32_t attempt;
};
uint32_t jobs_old_board(const struct jobs *jobs, const struct jobs_begun **begun, uint64_t *epoch);
/* After the activators' runs have ended, while the loops are still there: what is on its way to the
 * store is committed, and every operation answered. */
void jobs_stop(struct jobs *jobs);
void jobs_free(struct jobs *jobs); /* before tasks_free(); NULL is fine */

/* Any thread, once they run: from a step that comes soon they go by these limits. */
void jobs_set_limits(struct jobs *jobs, const struct jobs_limits *limits);

/* Any thread that has an attempt of the job, by its owner (job_source.h): whose the job is.  It
 * lasts until the attempt has returned. */
struct span jobs_owner_tenant(const void *owner);

/* As struct actors_shown; `messages`: that have a place. */
struct jobs_actors {
    uint64_t resident, bytes, messages, done, bad, failed, loads, unread, passivated, deadlocks,
        last_deadlock;
};

/* Any thread; figures. */
struct jobs_info {
    uint64_t tasks, bytes; /* held */
    uint64_t kept_bytes;   /* of these, by tasks that have ended */
    struct jobs_limits limits;
    uint64_t by_state[JOB_STATE_COUNT];
    uint64_t submitted, starts, retries, fenced;
    uint64_t semaphores, held, waiting; /* held, waiting: by and for clients */
    uint64_t events;                    /* that clients have named */
    uint64_t batches;
    struct jobs_actors actors;
    uint64_t feed_events, feed_bytes; /* of the feed: since the start; that it takes */
    bool has_store;                   /* the rest is of the store */
    const char *store_engine;         /* "sqlite", "postgresql"; constant */
    uint8_t store_level;              /* enum job_durable: that an `fsync` task reaches now */
    uint64_t store_lag; /* ns that the standby is behind; 0: there is none, or not known */
    uint64_t commits, operations, store_bytes;
    uint64_t durable;         /* tasks held that have a row there, or will have one */
    uint64_t commit_ns;       /* of the last commit */
    uint64_t store_under_way; /* operations that have not come back from the store */
    uint64_t store_unfolded;  /* see store_info() */
    struct histogram_sum commit_times;
    bool store_room_known;
    uint64_t store_room;     /* bytes that its file system has left */
    uint64_t store_backup;   /* Unix ms of the last backup; 0: there is none */
    const char *store_error; /* why it cannot write, or could not lately; constant; NULL: it can */
    bool store_failing;      /* the last try failed: durable submissions are refused */
    uint64_t crons;
    struct histogram_sum cron_late; /* how long after its time a cron's task was submitted */
};
void jobs_info(const struct jobs *jobs, struct jobs_info *out);
/* How the plain ones of struct jobs_info are shown: the n-th; NULL: there are no more. */
const struct figure *jobs_figure(size_t n);
/* Has the store look at its file system, as store_look() says: any thread; nothing without one. */
void jobs_look(struct jobs *jobs);

/* The tenants that have most open jobs, to be shown: any thread.  Returns how many there are
 * in `out`; all tenants together have *open jobs.  Names are cut where they must be. */
enum { JOBS_TENANTS = 100 };
struct jobs_tenant_shown {
    char name[128];
    uint64_t open;
};
uint32_t jobs_tenants(const struct jobs *jobs, struct jobs_tenant_shown out[JOBS_TENANTS],
                      uint64_t *open);

/* The types of actors, likewise: returns the next after `before`, or the first after NULL. */
struct actor_type;
struct jobs_actor_type_info {
    char name[64];
    uint64_t active, sleeping, stopped; /* actors that have a record in memory */
};
const struct actor_type *jobs_actor_type_info(const struct jobs *jobs,
                                              const struct actor_type *before,
                                              struct jobs_actor_type_info *out);

/* The queues, to be shown: any thread, while the jobs are there.  Returns the next after
 * `before`, or the first after NULL; NULL: there are no more.  Of those that are added meanwhile
 * some are left out. */
struct job_queue;
struct jobs_queue_info {
    const char *method;
    bool paused, draining;
    uint64_t by_state[JOB_STATE_COUNT];
    uint64_t submitted, done, failed; /* since the start; failed: goes down where one is retried */
    uint64_t oldest; /* when the oldest that is open was submitted, Unix ns; 0: none is */
};
const struct job_queue *jobs_queue_info(const struct jobs *jobs, const struct job_queue *before,
                                        struct jobs_queue_info *out);

/* The jobs' thread.  May rows go to the store that a node of the version before would not
 * understand?  Not before the upgrade of its database is finished.  True without a store. */
bool jobs_store_upgraded(const struct jobs *jobs);

#endif
