/* The arguments of each kind of operation, which the rpc layer fills in from the request.
 *
 * Pure data.  Spans, specs and ids are borrowed: they lie in the operation's memory, or are valid
 * until the operation is back.  operation_new() zeroes all arguments but those of submissions. */
#ifndef ERGON_JOBS_ARGUMENTS_H
#define ERGON_JOBS_ARGUMENTS_H

#include "server/jobs/actors/watchers.h"
#include "server/jobs/batches/batch.h"
#include "server/jobs/core/walk.h"
#include "server/jobs/cron/cron_spec.h"
#include "server/jobs/events/named_events.h"
#include "server/jobs/feed/feed_readers.h"
#include "server/jobs/life/change.h"
#include "server/jobs/semaphores/holds.h"
#include "server/jobs/verbs/contents.h"

struct actor_listing;

enum { OPERATION_IDS_MAX = 1024 /* tasks that one operation may wait for */ };

/* The outcome of one spec of a submission. */
struct submission_outcome {
    uint64_t id;
    enum ergon_error error; /* ERGON_OK: it became a job, or joined one */
    char *text;             /* of an error; malloc'ed; NULL: the error's meaning */
    uint8_t durable;        /* enum job_durable: that of the job */
    bool duplicate, coalesced;
    bool numbers;    /* it changed such as have to be on disk before the answer */
    bool hardens;    /* it joined a job, and is answered when that job is as durable as the spec */
    uint32_t before; /* the previous outcome that names the same job, plus 1; 0: none */
};

/* operation_task_submit: one -> {id, state, durable, duplicate, coalesced}
 * operation_task_submit_many -> [as above, or {error: "NAME: text"}]
 * operation_task_call: one -> its result or error; dropping the operation cancels the job */
struct submission_arguments {
    struct job_spec *specs; /* `count` */
    uint32_t count;
    struct submission_outcome *outcomes; /* of the jobs: `count`, `outcome` or malloc'ed; NULL */
    struct submission_outcome outcome;   /* of one */
    struct job_spec spec;                /* room for `specs`, of one */
    uint32_t taken;                      /* the jobs': specs submitted so far, in parts */
    bool joins;   /* the jobs': some spec joined a job and is read again after its commit */
    bool numbers; /* the jobs': some job changed `numbers` */
    /* Of actor.call alone: the job whose turn calls, and the number of its attempt; 0: none does.
     */
    uint64_t caller;
    uint32_t caller_attempt;
    void *reading; /* the loop's, while it reads the specs; the jobs never read it */
};

/* operation_task_get -> the task; operation_task_forget -> {id, forgotten}; operation_task_cancel
 * -> {id, state, cancelled}; operation_task_retry -> {id, state}; operation_task_explain -> {id,
 * method, state, reason, text, ...} */
struct job_arguments {
    uint64_t id;
    unsigned parts;            /* operation_task_get: of enum view_part */
    struct contents_copy copy; /* operation_task_get: the jobs' */
    /* operation_task_cancel, the jobs': the end of the job is being committed; the run goes on for
     * other callers that share it. */
    bool ends, leaves;
};

/* operation_cluster_board -> how many crashes were counted */
struct board_arguments {
    struct span node;
    uint64_t epoch; /* under which its board was written */
    /* Raw: `pairs` of an id and an attempt, all unsigned integers.  The jobs count those that are
     * left. */
    struct span begun;
    uint32_t pairs;
    uint32_t counted; /* the jobs' */
};

/* operation_task_change, operation_task_run_now -> {id, state, priority, due} */
struct change_arguments {
    uint64_t id;
    struct job_change change; /* operation_task_change */
};

/* operation_task_wait -> {ended: [task], open: [id]} */
struct wait_arguments {
    uint64_t *ids;
    uint32_t count;
    bool any, with_result;
    ao_time timeout; /* of the long poll; 0: none */
};

/* operation_task_watch -> {id, missed, events, next, ended} */
struct watch_arguments {
    uint64_t id;
    uint32_t from, max; /* events: the number of the first, and how many at most */
    bool push;          /* they are sent as they come, and the answer comes at the end */
    bool pushing;       /* the jobs': a push is under way */
    ao_time timeout;    /* of the long poll; 0: none */
};

/* The tasks for which all of these conditions hold. */
struct task_filter {
    int state;                              /* enum job_state; -1 any */
    struct span method, tenant, key, actor; /* empty: any */
    uint64_t batch;                         /* id; 0: any */
    ao_time older, newer;                   /* age at least, at most; 0: not given */
};

enum { LIST_BYTES_MAX = 256 * 1024 /* a page ends after the task with which it exceeds this */ };

/* operation_task_list -> {tasks, next}; operation_queue_tenants -> {tenants, next}: it reads only
 * the cursor, a number that the previous page returned; 0: the first page */
struct list_arguments {
    struct task_filter filter;
    uint64_t cursor; /* an id: the page begins after it; 0: with the newest task */
    uint32_t max;
    unsigned parts; /* of enum view_part */
    struct contents_search contains;
    /* --- The jobs', of operation_task_list */
    struct job_walk walk, up; /* to the next job of the page; upwards, to where it begins */
    uint32_t found, visits;   /* so far */
    bool seeks;               /* the begin of the page is not found yet */
    uint64_t now;             /* Unix ns, when the page was begun */
};

/* operation_task_cancel_matching -> {matched, cancelled, dry_run}; operation_task_retry_matching ->
 * {matched, retried, dry_run}; operation_task_forget_matching -> {matched, forgotten, dry_run,
 * limits, rates}: how many limits and rates remain afterwards */
struct sweep_arguments {
    struct task_filter filter;
    bool dry_run; /* counts, and changes nothing */
    /* --- The jobs' */
    const struct sweep_kind *kind;
    struct job_walk walk;
    uint64_t upto, now; /* the last id that it visits; Unix ns, when it began */
    uint64_t matched, done;
    bool durable;           /* it changed an fsync task */
    bool visited;           /* it has visited all jobs */
    uint64_t bucket;        /* of the tenants, whose limits and rates are counted after all jobs */
    uint64_t limits, rates; /* so far */
};

/* operation_cron_list: the jobs' own. */
struct cron_list_arguments {
    struct cron_walk walk;
    uint32_t count; /* so far */
};

/* operation_sem_create -> {name, permits}; _delete -> was there one; _acquire -> {hold, fence,
 * permits, waited_ms}; _release -> true; _renew, _resume -> {fence}; _explain -> the figures of
 * _list, holders, waiters */
enum semaphore_durable { SEMAPHORE_UNSAID, SEMAPHORE_FLEETING, SEMAPHORE_DURABLE };
struct semaphore_arguments {
    struct span name;
    struct span tenant;          /* explain, revoke: whose; empty: the caller's */
    uint64_t fence;              /* revoke */
    uint64_t conn;               /* its id: acquire, resume */
    uint8_t secret[HOLD_SECRET]; /* acquire: of the new hold, by chance */
    uint32_t permits;            /* acquire */
    uint8_t durable;             /* create, acquire: enum semaphore_durable */
    uint32_t of;                 /* create: how many; acquire: if there is none; 0: not given */
    ao_time wait, grace;         /* acquire */
    ao_time ttl;                 /* 0: not given */
    struct hold *waits;          /* the jobs': that it waits with */
};

/* operation_sem_list: the jobs' own. */
struct semaphore_list_arguments {
    struct semaphore_walk walk;
    uint32_t count; /* so far */
};

/* operation_event_set -> {seq}; operation_event_wait -> {seq, value}, or {seq, timeout: true} */
struct event_arguments {
    struct span name;
    struct span value;         /* set: raw */
    ao_time timeout;           /* wait: of the long poll; 0: none */
    struct event_waiter waits; /* wait: `from`, 0: the next one; the rest is the jobs' */
    struct named_event *at;    /* the jobs': that it waits for */
};

/* operation_actor_get -> {actor, stage, ...}; _explain -> the same, {reason, text}; _start, _stop,
 * _wake, _drop -> {stage}; _watch -> {version, stage, state, state_hidden}, or {version, stage,
 * timeout: true}; _forget -> was there such a reminder */
struct actor_arguments {
    struct span name, tenant;   /* tenant empty: the caller's */
    struct span reason;         /* stop */
    struct span reminder;       /* forget: its name */
    bool reset;                 /* start: with no state */
    bool with_state;            /* get */
    ao_time timeout;            /* watch: of the long poll; 0: none */
    struct actor_watcher waits; /* watch: `from`, 0: the next one; the rest is the jobs' */
    struct actor *at;           /* watch: the jobs': at which it waits */
};

/* operation_actor_list -> {actors, next}, in the order of type, key and tenant */
struct actor_list_arguments {
    struct span type, prefix, tenant; /* empty: any */
    struct span cursor;               /* `next` of the page before; empty: the first page */
    int stage;                        /* enum actor_stage; -1: any */
    uint32_t max;
    bool busiest; /* of those in memory the `max` with the most messages that wait, and these first
                   */
    struct actor_listing *listing; /* the jobs'; malloc'ed */
};

/* operation_batch_create, _close, _get, _cancel -> the batch; operation_batch_list -> {batches,
 * next} */
struct batch_arguments {
    uint64_t id;
    uint64_t parent;                     /* create: 0: none; list: 0: any */
    struct span tenant;                  /* create: whose; list: empty: any */
    struct span calls[BATCH_CALL_COUNT]; /* create: raw [method, params, options]; empty: none */
    ao_time keep;                        /* create */
    ao_time wait;                        /* get: of the long poll; 0: none */
    struct batch_watcher watcher;        /* get: the jobs' */
    uint64_t cursor;                     /* list: an id: the page begins behind it; 0: the first */
    int state;                           /* list: enum batch_state; -1: any */
    uint32_t max;                        /* list */
    uint8_t durable;                     /* create: enum job_durable */
};

/* operation_queue_list: the jobs' own. */
struct queue_list_arguments {
    const struct job_queue *next; /* to be shown; NULL: none is left */
    uint32_t count;               /* so far */
};

/* operation_queue_explain, _pause, _resume, _drain: of which method; operation_cron_delete,
 * _pause, _resume: of which tenant's */
struct name_arguments {
    struct span name, tenant;
};

#endif
