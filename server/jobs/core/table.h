/* The table of jobs: all jobs, by id and by key; their queues and tenants; how many there are of
 * each state, and what they weigh.  It knows neither store nor executors nor the waiters of a job:
 * what has happened to a job is recorded as effects, which others apply (effects.h).
 *
 * Thread: the jobs', which is the manager's activator.  Nothing here blocks. */
#ifndef ERGON_JOBS_TABLE_H
#define ERGON_JOBS_TABLE_H

#include <ergon/activator.h>

#include "base/counter.h"
#include "base/hash_table.h"
#include "base/pairing_heap.h"
#include "base/slab.h"
#include "server/jobs/feed/feed.h"
#include "server/jobs/core/job.h"
#include "server/jobs/core/kept.h"
#include "server/jobs/core/open_jobs.h"
#include "server/jobs/core/tenant_board.h"
#include "server/jobs/core/keys.h"
#include "server/jobs/core/worker_labels.h"

struct job_census;
struct fair_share;
struct job_walk;
struct method;
struct named_event;
struct operation;
struct registry;

/* What workers have to do with a method. */
struct job_offer {
    bool now;      /* there are some that offer it */
    uint64_t at;   /* Unix ns, when they last began or ceased to; 0: none ever did */
    uint64_t left; /* likewise, when the last one went; 0: since the start none has */
    char *who;     /* went then, and why; malloc'ed, for people; NULL: not known */
};

/* Jobs that are held, by how far they had come: so each tenant's go on in order of arrival. */
enum held_kind {
    HELD_CALLED, /* picked before, and here again: taken back, or granted what they waited for */
    HELD_PICKED, /* they are picked now */
    HELD_NEW,    /* they have never been in the queue */
    HELD_KINDS
};

/* The jobs of one method. */
struct job_queue {
    struct hash_link link; /* first: by name */
    struct job_table *table;
    struct job_queue *next; /* all, in order of their making */
    struct span name;
    struct method *method; /* NULL: neither module nor worker has it; its jobs wait in `held` */
    struct job_offer offer;
    /* The jobs' thread writes these, and `by_state`, `submitted`, `done` and `failed`; others show
     * them.  They order nothing (relaxed). */
    _Atomic bool paused, draining;
    bool saved_paused, saved_draining; /* what the file says, as far as it came back */
    uint64_t saved_offer;              /* likewise, of offer.at */
    bool saving;                       /* a write that says so is on its way */
    bool secret, saved_secret;    /* nobody is shown parameters of its jobs; what the file says */
    struct operation *operations; /* that wait for that write, by `next` */
    struct job_list held[HELD_KINDS]; /* while it is paused, or does not run: go on in this order */
    struct job_queue *next_moving;    /* while `moves`: in the scheduler's list */
    bool moves;                       /* what is held goes on, in small steps */
    struct open_jobs open;
    counter by_state[JOB_STATE_COUNT]; /* jobs */
    counter submitted, done, failed;   /* since the start */
    /* The one that was made before it; set before the release of `shown_queues`. */
    const struct job_queue *shown_next;
};

/* That clients of the tenant name; see events/named_events.h. */
struct named_events {
    struct pairing_heap idle; /* for which nobody waits: that was set longest ago goes first */
    uint32_t count;
};

/* One owner of work.  A share is made when it is first needed, and freed with the tenant. */
struct tenant {
    struct hash_link link; /* first */
    uint32_t weight;       /* jobs in a turn; does not change while a job of it is queued */
    uint32_t jobs;         /* that name it; and rates, names of crons, semaphores, events */
    uint32_t crons;        /* names that it has given to crons */
    uint32_t batches;      /* that it has */
    uint32_t semaphores;   /* that it has */
    uint32_t holds;        /* of these: held, or waited for */
    uint32_t limits;       /* names of these that are in use: sched/limits.h */
    uint32_t rates;        /* likewise */
    struct named_events events;
    uint32_t open;        /* of these, those that do not count as ended: see tenant_count_open() */
    uint64_t open_bytes;  /* that these take, and all else that it has */
    uint64_t read_bytes;  /* that ended jobs take whose results others read: tenant_count_read() */
    uint64_t actor_bytes; /* of its actors in memory that cannot leave it: actors/residents.h */
    uint16_t shown;       /* its mark on the board of tenants */
    struct kept kept;     /* the others */
    struct span name;
    struct feed_tenant *fed; /* its name, for the feed: feed.h; NULL: not yet */
    /* By the pool's index: FAIR_LEVELS each, malloc'ed; NULL: not yet. */
    struct fair_share **shares;
    uint32_t share_room;
};

/* What was submitted, and how much of that has ended how: of durable jobs, or of those in memory.
 */
struct job_sums {
    uint64_t submitted, ended[JOB_STATE_COUNT]; /* ended: of the states that are not open */
};

/* Both clocks, as they were looked at in a round. */
struct clock_look {
    uint64_t round; /* its number and one more; 0: not yet */
    ao_time now;
    uint64_t wall;
};

struct job_table {
    struct activator *activator;
    const struct ao_class *timer_class; /* of each job's timer */
    struct registry *registry;          /* borrowed */
    uint64_t (*wall)(void *arg);        /* Unix ns */
    void *wall_arg;
    uint64_t wall_ahead; /* ns, of the activator's clock, when that was last looked at */
    struct clock_look look;
    bool clock_held;  /* see clock_hold() */
    uint64_t created; /* Unix ns: the latest of all jobs there were */
    void (*leapt)(struct job_table *table, int64_t by); /* the wall clock did, by so many ns */
    uint32_t history_max;                               /* events that are kept of one job */
    bool recovering; /* jobs come from the store: nothing is counted or noted */
    bool reading;    /* of a cluster: more rows will come, so what uses a limit is not known */

    struct hash_table ids;
    struct key_table keys, shared; /* by `key`; by `coalesce` of the open ones */
    struct job *first, *last;      /* all, by id */
    struct slab cells[JOB_CELLS];  /* with bodies of more and more bytes */
    uint64_t next_id;
    uint64_t last_stamp; /* of fences of holds and numbers of events: ids.h */
    uint32_t boards;     /* of a cluster: boards that were lost, as rows that are written say */
    uint64_t count, bytes;
    uint64_t open, open_bytes; /* of these, of jobs that do not count as ended, and of rates */
    uint64_t read_bytes;       /* of all tenants */
    struct kept_table kept;    /* the others */

    struct job *effects, *effects_last; /* jobs that have effects, in the order of the first one */

    uint64_t seed[2]; /* of the hashes of names, which come from strangers */
    struct hash_table tenants;
    struct tenant *recent_tenant; /* looked up last; NULL */
    struct hash_table queue_names;
    struct job_queue *queues, *queues_last; /* all, in order of their making */
    struct job_queue *recent_queue;         /* looked up last; NULL */
    /* The last, for other threads: release where it is made, acquire in jobs_queue_info(), so that
     * a queue is seen whole.  None goes before the table does. */
    _Atomic(const struct job_queue *) shown_queues;

    struct feed feed; /* zeroed by table_init() */
    struct worker_labels labels;
    struct job_sums durable, in_memory;
    struct job_census *census; /* a count that is under way; NULL */
    struct job_walk *walks;    /* that are under way: walk.h */
    counter shown_tasks, shown_bytes, submitted, by_state[JOB_STATE_COUNT];
    /* Of all jobs those that have a row in the store, or will have one. */
    counter shown_durable;
    struct tenant_board board; /* zeroed by table_init() */
};

struct job_table_options {
    struct activator *activator;        /* borrowed, as all here */
    const struct ao_class *timer_class; /* its `retired` is job_timer_retired() */
    struct registry *registry;
    uint64_t (*wall)(void *arg);
    void *wall_arg;
    void (*leapt)(struct job_table *table, int64_t by);
    uint32_t history_max;
    uint64_t kept_least; /* bytes that a job counts for at least, among those that are kept */
};

void table_init(struct job_table *table, const struct job_table_options *options);
void table_fini(struct job_table *table); /* all jobs were freed */

/* --- Time --- */

static inline ao_time table_now(const struct job_table *table)
{
    return activator_now(table->activator); /* of this round */
}

static inline uint64_t table_wall(const struct job_table *table)
{
    return table->wall(table->wall_arg); /* Unix ns */
}

/* Times of two clocks are turned into each other so that nothing is early: all are rounded up, by
 * the time that passes between two looks at a clock.  Each looks at the clock first, once a round.
 */

/* So long after this moment, which may be later than the begin of the round; 0: now, AO_NEVER:
 * never. */
ao_time table_time_after(struct job_table *table, ao_time duration);
/* The Unix time in ns of a time of the activator's clock. */
uint64_t table_wall_of(struct job_table *table, ao_time when);
/* The time of the activator's clock of a Unix time, also of a past one; the earliest that it
 * returns is 1, since 0 means that there is none. */
ao_time table_time_of(struct job_table *table, uint64_t unix_ns);

/* If the wall clock was set since the last look, or the machine was suspended, by more than a
 * second: calls `leapt`. */
void table_look_at_clock(struct job_table *table);

/* --- Jobs --- */

/* A job of this spec, in no state yet and in no table; its limit, rate and dependencies are the
 * caller's affair.  The spec's spans are copied, or its message is the job's, which is freed with
 * it. NULL without memory. */
struct job *job_new(struct job_table *table, const struct job_spec *spec, uint64_t id);

/* Frees a job that nothing refers to any more and that has no effects. */
void job_free(struct job_table *table, struct job *job);
void job_timer_retired(struct ao *timer); /* of a job that was freed in its own timer's step */

/* Puts the job into the list of all and the table of ids; ids come in ascending order. */
void table_enter(struct job_table *table, struct job *job);
/* Puts the job into the tables of keys; one that has ended is shared with nobody. */
void table_enter_keys(struct job_table *table, struct job *job, bool open);
/* Takes the job out of all tables and counts; of one that is in none a no-op. */
void table_leave(struct job_table *table, struct job *job);
/* NULL: there is none, or no more. */
struct job *table_find(const struct job_table *table, uint64_t id);

/* Around what changes the bytes of a job: `was` is its job_bytes() before; or what a part of it
 * was, and is. */
void table_weigh(struct job_table *table, const struct job *job, size_t was);
void table_weigh_part(struct job_table *table, const struct job *job, size_t was, size_t is);
/* What a tenant has beside jobs, a rate or a cron: it counts with its open jobs, whose share it
 * takes from. */
void table_weigh_other(struct job_table *table, struct tenant *tenant, size_t was, size_t is);

/* The account of a job, and its move when its durability becomes another. */
static inline struct job_sums *table_account(struct job_table *table, const struct job *job)
{
    return job->durable == DURABLE_NONE ? &table->in_memory : &table->durable;
}
void table_set_durable(struct job_table *table, struct job *job, enum job_durable durable);

#endif
