/* An operation carries a request from a loop to the jobs, and its answer back.
 *
 * The rpc layer makes an operation on its loop, fills in the arguments of its kind (arguments.h),
 * and gives it to the jobs through a channel (channel.h).  The jobs return it with its reply: at
 * once, when a commit is on disk, or when what it waits for has happened.  Each operation is
 * answered exactly once.  A loop that no longer wants the answer drops the operation: the jobs then
 * return it soon, CANCELLED, unless it was on its way back already.
 *
 * Thread: the loop's or the jobs', as the headings say; never both at once.
 *
 * Ownership: the loop owns an operation until it gives it to the jobs; the jobs own it until they
 * return it; then the loop owns it again, and frees it.  Only the owner reads or writes it, except
 * for the loop's own fields, which belong to the loop all the time. */
#ifndef ERGON_JOBS_OPERATION_H
#define ERGON_JOBS_OPERATION_H

#include "base/block.h"
#include "base/slab.h"
#include "proto/errors.h"
#include "proto/methods.h"
#include "proto/pack.h"
#include "server/access/rights.h"
#include "server/jobs/operations/arguments.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/operations/waiters.h"
#include "server/runtime/threads/lane.h"
#include "server/store/store.h"
#include "server/tasks/call.h"

struct job;
struct jobs;
struct jobs_channel;
struct operation;
struct act;

enum {
    OPERATION_ROOM = 512 /* bytes of arguments that fit into the operation itself */
};

/* A kind of operation: how the jobs serve it, and what they call while it waits for jobs.  All
 * functions but `fini` are called on the jobs' thread.  A NULL function means that the kind ignores
 * that event. */
struct operation_class {
    const char *method;  /* whose rights decide what the operation may do */
    bool is_submission;  /* its arguments are struct submission_arguments */
    bool is_call;        /* and it waits for the end of its job */
    bool shows_contents; /* its answer has what operation_sees() allows */
    bool is_everywhere;  /* it is served by a node of a cluster that does not own the tasks, too */
    /* It is served soon: what it is about is brought into the processor's caches.  Called twice,
     * with other work in between.  NULL: it is about nothing that matters. */
    void (*nears)(struct jobs *jobs, struct operation *op);
    /* Serves a new operation: answers it, makes it join jobs, or has it wait for the store. */
    void (*serve)(struct jobs *jobs, struct operation *op);
    /* Instead of `serve`, for a kind that may take long: does about one turn's work (turns.h).
     * Returns false if it is to be called again. */
    bool (*serve_part)(struct jobs *jobs, struct operation *op);
    void (*fini)(struct operation *op); /* on the loop's thread, before the loop frees it */

    /* --- For kinds that wait for jobs (waiters.h) --- */
    /* It leaves the jobs, and answers; or stays until it has been answered. */
    void (*dropped)(struct jobs *jobs, struct operation *op);
    /* The loop dropped it when it had been answered, so the client never gets the answer. */
    void (*answer_dropped)(struct jobs *jobs, struct operation *op);
    /* Something that it waits for has happened, see waiters_due(): answers it, or lets it wait on.
     * An operation whose time is `over` is answered with what is known.  A kind that has this is a
     * long poll. */
    void (*due)(struct jobs *jobs, struct operation *op);
    void (*push_taken)(struct jobs *jobs, struct operation *op); /* the loop has sent the push */
    bool refused_at_stop; /* when a server that stops cancels what runs */
    void (*job_ended)(struct jobs *jobs, struct operation *op, struct job *job);
    /* The first row of the job is on disk; or the write failed, and the job is withdrawn. */
    void (*job_saved)(struct jobs *jobs, struct waiter *w, enum store_error error);
    /* The cancellation of the job is on disk, or could not be written. */
    void (*cancel_saved)(struct jobs *jobs, struct operation *op, struct job *job,
                         enum store_error error);
    void (*history_grew)(struct jobs *jobs, struct operation *op, struct job *job);

    /* --- For kinds that wait for the disk (sync.h) --- */
    /* Answers it: it is in effect, but that could not be written.  NULL: STORE, which clients
     * repeat.
     */
    void (*unwritten)(struct jobs *jobs, struct operation *op, enum store_error error);
};

/* The kinds, one for each method; those of methods that the jobs do not serve are not defined.
 * Any kind can be answered MEMORY, DRAINING when the server has stopped (calls also UNSURE), and
 * CANCELLED when the loop dropped it while it waited.  The other errors of each kind are:
 *
 *   submit         the errors of job_submit(); STORE if the first row of an fsync job is not taken;
 *                  UNSURE: there is a job, but numbers that it changed could not be written
 *   submit_many    none: each outcome has an error of its own, one of submit's
 *   call           the errors of submit; the errors of the job: CANCELLED, DEADLINE, FAILED with
 *                  the handler's own code; TOO_LARGE if the result was not kept
 *   get, wait, watch, explain, queue_explain
 *                  NOT_FOUND
 *   cancel         NOT_FOUND; STORE: the job is cancelled, but that could not be written
 *   retry          NOT_FOUND; BAD_PARAMS: the job is open, or done; STORE; UNSURE: it is queued,
 * but that could not be written forget         NOT_FOUND; BAD_PARAMS: the job is open; BUSY: an
 * abandoned attempt has not returned yet, or the job's last change is being written; STORE change
 * NOT_FOUND; BAD_PARAMS: the job does not wait; STORE run_now        NOT_FOUND; BAD_PARAMS: the job
 * has ended; STORE cancel_matching, forget_matching STORE retry_matching STORE, UNSURE, as of retry
 *   queue_pause, queue_resume, queue_drain
 *                  NOT_FOUND; STORE: the change is in effect, but a restart forgets it
 *   cron_put       BAD_PARAMS, TOO_LARGE, BUSY (too many crons), STORE: an existing cron of this
 *                  name is unchanged
 *   cron_delete    STORE: the cron goes on
 *   cron_pause, cron_resume
 *                  NOT_FOUND; STORE: the change is in effect, but a restart forgets it
 *   cron_run       NOT_FOUND; the errors of job_submit(); STORE if the row of an fsync job is not
 *                  taken
 *   sem_create     DENIED, BUSY, MEMORY
 *   sem_acquire    the errors of sem_create; NOT_FOUND, BAD_PARAMS (more permits than the semaphore
 *                  has), DEADLINE; CANCELLED: its connection is gone
 *   sem_delete     DENIED
 *   sem_release    DENIED, FENCED
 *   sem_renew, sem_resume
 *                  the errors of sem_release; CANCELLED: its connection is gone
 *   sem_explain    NOT_FOUND
 *   sem_revoke     FENCED
 *   event_set, event_wait
 *                  DENIED, BUSY, MEMORY
 *   cluster_board  STORE
 *   events         BAD_PARAMS: there is no feed, or the cursor is not from this server
 *   actor_tell, actor_call
 *                  the errors of task_submit, task_call
 *   actor_remind   the errors of task_submit; NOT_FOUND
 *   actor_get, actor_explain, actor_start, actor_stop, actor_wake, actor_drop,
 *   actor_forget   NOT_FOUND
 *   actor_watch    NOT_FOUND (it may not be seen, or there is no such type), BUSY, STORE
 *   batch_create   DENIED, NOT_FOUND and BAD_PARAMS (of the parent), BUSY, TOO_LARGE, STORE
 *   batch_close, batch_cancel
 *                  NOT_FOUND; STORE: the change is in effect, but a restart forgets it
 *   batch_get      NOT_FOUND
 *   batch_add      as submit_many
 *   batch_list, list, queue_list, queue_tenants, cron_list, sem_list, actor_list, actor_types,
 * audit none
 */
#define X(id, ...) extern const struct operation_class operation_##id;
ERGON_METHODS(X)
#undef X
extern const struct operation_class operation_task_cancel_matching, operation_task_retry_matching,
    operation_task_forget_matching; /* sweep.c */
/* Made for a connection before its first acquire or resume.  The jobs keep it as long as the
 * connection lives; it has no result. */
extern const struct operation_class operation_sem_holder; /* semaphores.c */

struct operation_item {
    struct lane_item item; /* first */
    enum { ITEM_OPERATION, ITEM_DROP, ITEM_PUSH } kind;
    struct operation_item *next; /* in a queue of the jobs: turns.h */
};

/* The events that a watcher is sent while its operation stays open.  Only one push is under way at
 * a time. */
struct operation_push {
    struct operation_item item; /* first */
    struct blob *events;        /* notifications, one after the other; a reference; NULL: none */
    uint32_t from;              /* the number of the first event */
};

/* Valid when the operation is the loop's again. */
struct operation_reply {
    enum ergon_error error;  /* ERGON_OK: operation_result() */
    uint32_t short_result;   /* bytes of `text` that hold the result; 0: `result` holds it */
    struct pack result;      /* begun by the jobs; zeroed: nil */
    char code[33];           /* the handler's own code of a failure; empty: the error's name */
    char text[JOB_TEXT_MAX]; /* of an error, or a result that is short */
};

/* The members that few operations need come last, and are not even zeroed for submissions, of which
 * there are many. */
struct operation {
    struct operation_item item; /* first */
    const struct operation_class *cls;
    struct slab *cells; /* from which it was taken; NULL: malloc'ed */

    /* --- The loop's own: the jobs never read these --- */
    struct call call; /* in the connection's list of calls in flight */
    void *loop;
    struct act *act;   /* of the audit log; NULL: none */
    bool may_be_done;  /* by a lost owner: a refusal may be UNSURE, answer_is_unsure() */
    bool gone;         /* the loop dropped it */
    bool answered;     /* the jobs returned it */
    bool dropped_back; /* the jobs returned its drop */
    uint64_t holds;    /* bytes that its connection is charged for it */
    struct operation_item drop;
    struct operation_push push; /* the loop's while it is under way */

    /* --- On whose behalf --- */
    const struct rights
        *rights;          /* a reference; NULL: no limits, as for the server's own operations */
    const char *allow;    /* patterns of the methods that its listener allows; NULL: all */
    uint64_t conn;        /* the id of its connection, for the log; 0: none */
    bool others;          /* rights over other tenants count */
    bool met_own;         /* it concerned a job of its own tenant, see operation_meet() */
    bool met_others;      /* it concerned a job of another tenant */
    struct span tenant;   /* of the rights; empty: none */
    uint32_t turn_queue;  /* the principal's queue in `turns`; 0: the one without a principal */
    struct block memory;  /* of the arguments; none: they fit into `room` */
    struct block message; /* in which arguments lie; a job may take it; none: they were copied */

    /* --- The jobs', while they have it --- */
    struct jobs_channel *channel;
    struct operation *next; /* in a list of operations that wait for the same write */
    bool begun;             /* `serve_part` has done a part of it, and not all */
    struct waiting waiting; /* for jobs: waiters.h */
    struct waiter first_waiter;

    struct operation_reply reply; /* zeroed up to `code` */

    /* --- Undefined until written, in a submission --- */
    union { /* by the kind */
        struct submission_arguments submission;
        struct job_arguments job;
        struct change_arguments change;
        struct board_arguments board;
        struct wait_arguments wait;
        struct watch_arguments watch;
        struct list_arguments list;
        struct feed_arguments feed;
        struct sweep_arguments sweep;
        struct queue_list_arguments queues;
        struct name_arguments named;
        struct cron_spec cron; /* operation_cron_put -> {name, next} */
        struct cron_list_arguments crons;
        struct event_arguments event;
        struct semaphore_arguments semaphore;
        struct semaphore_list_arguments semaphores;
        struct actor_arguments actor;
        struct actor_list_arguments actors;
        struct batch_arguments batch;
        struct holder holder; /* operation_sem_holder: by_conn.hash is the connection's id */
    };
    struct long_poll poll; /* waiters.h */
    struct sync_wait sync; /* sync.h */

    /* --- Undefined until written --- */
    alignas(8) uint8_t room[OPERATION_ROOM]; /* for the arguments */
};

/* --- For the loop --- */

/* Bytes at its begin that most steps look at: all but the texts of a failure and the arguments. */
enum { OPERATION_BUSY = offsetof(struct operation, reply.code) };

/* Takes a cell of `cells` (channel_cells()), or without them a malloc'ed one.  NULL: no memory. */
struct operation *operation_new(struct slab *cells, const struct operation_class *cls);
void operation_free(struct operation *op); /* on the thread of its cells; NULL is fine */

/* Room for `bytes` of arguments, which lives as long as the operation; called once.  NULL: no
 * memory. */
uint8_t *operation_room(struct operation *op, size_t bytes);

/* The result, if there is no error; empty: nil.  Valid as long as the operation. */
struct span operation_result(const struct operation *op);

/* --- For the jobs --- */

/* Frees the arguments of a submission that has read them, since it may wait for long. */
void operation_drop_arguments(struct operation *op);

/* These three return the operation to its loop, which owns it from then on. */

/* Answers with the reply that was filled in; with MEMORY, if its result could not be packed. */
void operation_finish(struct operation *op);
void operation_refuse(struct operation *op, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void operation_refuse_plain(struct operation *op, enum ergon_error error); /* with its meaning */

/* Notes whose job the operation concerns, for the audit log. */
void operation_meet(struct operation *op, const struct job *job);
/* True if it concerned jobs, and all of them belong to the caller's own tenant. */
static inline bool operation_met_own_only(const struct operation *op)
{
    return op->met_own && !op->met_others;
}

/* May the caller use the operation's method on the job?  If not, the job does not exist for it. */
bool operation_may_know(const struct operation *op, const struct job *job);
/* May an answer about `job` name `other`?  It never names jobs of other tenants, nor jobs in queues
 * or with keys that the caller's role does not name. */
bool operation_may_name(const struct operation *op, const struct job *job, const struct job *other);
/* May the caller have the job run, which means: could it submit it? */
bool operation_may_run(const struct operation *op, const struct job *job);
/* May a job that the caller submits wait for `on`?  It may if the right to call the job's method
 * covers `on`, too. */
bool operation_may_wait(const struct operation *op, const struct job *job, const struct job *on);
/* What the caller may see of the job beside its state, which its method shows: a set.
 * SEES_CONTENTS, parameters and tracebacks, takes the right task.params.  SEES_RESULTS, the
 * result and data of partial results, takes that, or operation_may_run(). */
enum operation_sight { SEES_CONTENTS = 1, SEES_RESULTS = 2 };
unsigned operation_sees(const struct operation *op, const struct job *job);
unsigned operation_sees_object(const struct operation *op, const struct rights_object *object);
/* As operation_may_run(); false: the operation was answered DENIED. */
bool operation_admit_run(struct operation *op, const struct job *job);
/* May the caller use the operation's method on the object; on the queue of this method? */
bool operation_may_object(const struct operation *op, const struct rights_object *object);
bool operation_may_queue(const struct operation *op, struct span queue);
/* Finds the job with this id; NULL: the operation was answered NOT_FOUND. */
struct job *operation_find_job(struct jobs *jobs, struct operation *op, uint64_t id);

#endif
