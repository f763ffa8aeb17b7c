/* An operation: what a loop wants of the jobs, and how the answer comes back.
 *
 * The rpc layer makes an operation on its loop, fills in the arguments of its kind (arguments.h),
 * and gives it to the jobs through a channel (channel.h).  It comes back with its reply: at once,
 * when a commit is on disk, or when what it waits for has happened.  Each operation is answered
 * exactly once.  Who does not want the answer any more drops the operation: then it comes back
 * soon, CANCELLED, unless it was on its way already.
 *
 * Thread: the loop's or the jobs', as the headings say; never both at once.
 *
 * Whose: the loop's until it is given; the jobs' until it came back; then the loop's, which frees
 * it.  Who has it may read and write it; the fields of the loop are the loop's all the time. */
#ifndef ERGON_JOBS_OPERATION_H
#define ERGON_JOBS_OPERATION_H

#include "base/block.h"
#include "base/slab.h"
#include "server/access/rights.h"
#include "proto/errors.h"
#include "proto/methods.h"
#include "proto/pack.h"
#include "server/jobs/service/arguments.h"
#include "server/jobs/service/sync.h"
#include "server/jobs/service/waiters.h"
#include "server/runtime/threads/lane.h"
#include "server/store/store.h"
#include "server/tasks/call.h"

struct job;
struct jobs;
struct jobs_channel;
struct operation;
struct act;

enum {
    OPERATION_ROOM = 512 /* bytes of its arguments that the operation itself has room for */
};

/* A kind of operation: what is done with one, and what happens to it while it waits for jobs.  All
 * functions are called on the jobs' thread, but `fini`.  Where one is NULL, that event does not
 * concern the kind. */
struct operation_class {
    const char
        *method; /* by which it was asked for: what it may do is asked of the rights to that */
    bool is_submission; /* of struct submission_arguments */
    /* The operation came: it is answered now, joins waiters, or waits for the store. */
    void (*serve)(struct jobs *jobs, struct operation *op);
    /* Instead, of one that may take long: does about so much of it as a turn allows (turns.h).
     * False: it is to be called again. */
    bool (*serve_part)(struct jobs *jobs, struct operation *op);
    void (*fini)(struct operation *op); /* before it is freed, by its loop */

    /* --- Of those that wait for jobs (waiters.h) --- */
    void (*dropped)(struct jobs *jobs, struct operation *op); /* leaves, and answers it */
    /* It was dropped when it had its answer, which nobody has read. */
    void (*answer_dropped)(struct jobs *jobs, struct operation *op);
    /* Something that it waits for has come, see waiters_due(): answers it, or lets it wait on; once
     * it is `over`, it is answered as things stand.  A kind that has this is a long poll. */
    void (*due)(struct jobs *jobs, struct operation *op);
    void (*push_taken)(struct jobs *jobs, struct operation *op); /* by its loop: there is room */
    bool refused_at_stop; /* DRAINING when a server that stops cancels what runs */
    void (*job_ended)(struct jobs *jobs, struct operation *op, struct job *job);
    /* The first row of the job is on disk; or there was an error, and the job is taken back. */
    void (*job_saved)(struct jobs *jobs, struct waiter *w, enum store_error error);
    /* That the job is cancelled is on disk, or could not be written. */
    void (*cancel_saved)(struct jobs *jobs, struct operation *op, struct job *job,
                         enum store_error error);
    void (*history_grew)(struct jobs *jobs, struct operation *op, struct job *job);
};

/* The kinds, each of the method of its name; those of methods that the jobs do not answer are not
 * defined.  Any of them can be answered MEMORY, DRAINING when the server has stopped, and CANCELLED
 * when it was dropped while it waited.  Beside these:
 *
 *   submit         the errors of job_submit(); STORE if the first row of an fsync job is not taken
 *   submit_many    none: each outcome has an error of its own, one of submit's
 *   call           those of submit; those of the job: CANCELLED, DEADLINE, FAILED with the
 *                  handler's own code; TOO_LARGE if its result was not kept
 *   get, wait, watch, explain, queue_explain
 *                  NOT_FOUND
 *   cancel         NOT_FOUND; STORE: the job is cancelled, but that could not be written
 *   retry          NOT_FOUND; BAD_PARAMS: the job is open, or done; STORE
 *   forget         NOT_FOUND; BAD_PARAMS: the job is open; BUSY: an attempt that was given up has
 *                  still to return, or its last change to be written; STORE
 *   change         NOT_FOUND; BAD_PARAMS: the job does not wait; STORE
 *   run_now        NOT_FOUND; BAD_PARAMS: the job has ended; STORE
 *   cancel_matching, retry_matching, forget_matching
 *                  STORE
 *   queue_pause, queue_resume, queue_drain
 *                  NOT_FOUND; STORE: it is so now, but a restart forgets it
 *   cron_put       BAD_PARAMS, TOO_LARGE, BUSY (too many crons), STORE: a cron of this name goes
 *                  on as it was
 *   cron_delete    STORE: the cron goes on
 *   cron_pause, cron_resume
 *                  NOT_FOUND; STORE: it is so now, but a restart forgets it
 *   sem_create     DENIED, BUSY, MEMORY
 *   sem_acquire    those of sem_create; NOT_FOUND, BAD_PARAMS (more than there are), DEADLINE;
 *                  CANCELLED: its connection is gone
 *   sem_delete     DENIED
 *   sem_release    DENIED, FENCED
 *   sem_renew, sem_resume
 *                  these; CANCELLED: its connection is gone
 *   sem_explain    NOT_FOUND
 *   sem_revoke     FENCED
 *   event_set, event_wait
 *                  DENIED, BUSY, MEMORY
 *   events         BAD_PARAMS: there is no feed, or the cursor is none of this server
 *   list, queue_list, queue_tenants, cron_list, sem_list, audit
 *                  none
 */
#define X(id, ...) extern const struct operation_class operation_##id;
ERGON_METHODS(X)
#undef X
extern const struct operation_class operation_task_cancel_matching, operation_task_retry_matching,
    operation_task_forget_matching; /* sweep.c */
/* Stays with the jobs as long as its connection is there, which acquires and resumes after it, and
 * answers nothing. */
extern const struct operation_class operation_sem_holder; /* semaphores.c */

struct operation_item {
    struct lane_item item; /* first */
    enum { ITEM_OPERATION, ITEM_DROP, ITEM_PUSH } kind;
    struct operation_item *next; /* in a line of the jobs: turns.h */
};

/* Something for an operation that stays open: a watcher's events.  One is under way at a time. */
struct operation_push {
    struct operation_item item; /* first */
    struct blob *events;        /* notifications, one behind the other; a reference; NULL: none */
    uint32_t from;              /* the number of the first event */
};

/* Valid when the operation came back. */
struct operation_reply {
    enum ergon_error error;  /* ERGON_OK: operation_result() */
    uint32_t short_result;   /* bytes of `text` that are the result; 0: `result` is */
    struct pack result;      /* begun by the jobs; zeroed: nil */
    char code[33];           /* of a handler's own failure, else empty: the error's name */
    char text[JOB_TEXT_MAX]; /* of an error */
};

/* What few operations need stands at the end, and is not even zeroed for submissions: they are
 * many. */
struct operation {
    struct operation_item item; /* first */
    const struct operation_class *cls;
    struct slab *cells; /* that it came from; NULL: malloc'ed */

    /* --- The loop's; the jobs do not look --- */
    struct call call; /* in the connection's list of calls in flight */
    void *loop;
    struct act *act;   /* of the audit log; NULL: none */
    bool gone;         /* nobody waits for it any more: dropped */
    bool answered;     /* it came back */
    bool dropped_back; /* so did its drop */
    uint64_t holds;    /* bytes that its connection is charged for it */
    struct operation_item drop;
    struct operation_push push; /* the loop's while it is under way */

    /* --- On whose behalf --- */
    const struct rights
        *rights;          /* a reference; NULL: nobody's, or the server's own, which may all */
    const char *allow;    /* patterns of what may be called where it came from; NULL: all */
    uint64_t conn;        /* the id of the connection that it came by, for the log; 0: none */
    bool others;          /* rights over others count */
    bool met_own;         /* it was about a job of its own tenant, */
    bool met_others;      /* or of another: operation_meet() */
    struct span tenant;   /* of the rights; empty: none */
    uint32_t line;        /* in which it waits for its turn: of the principal; 0: nobody's */
    struct block memory;  /* of the arguments; none: `room` is enough */
    struct block message; /* in which arguments lie; a job may take it; none: they were copied */

    /* --- The jobs', while they have it --- */
    struct jobs_channel *channel;
    struct operation *next; /* of those that wait for the same row of the store */
    bool begun;             /* a part of it was served, and it is not done */
    struct waiting waiting; /* for jobs: waiters.h */

    struct operation_reply reply; /* zeroed up to `code` */

    /* --- Undefined until written, in a submission --- */
    union {
        struct submission_arguments submission;
        struct job_arguments job;
        struct change_arguments change;
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
        struct holder holder; /* operation_sem_holder: by_conn.hash is the connection's id */
    };
    struct long_poll poll; /* waiters.h */
    struct sync_wait sync; /* sync.h */

    /* --- Undefined until written --- */
    struct waiter first_waiter;
    alignas(8) uint8_t room[OPERATION_ROOM]; /* for the arguments */
};

/* --- For the loop --- */

/* A cell of `cells`, which are of this size, or malloc'ed; NULL without memory. */
struct operation *operation_new(struct slab *cells, const struct operation_class *cls);
void operation_free(struct operation *op); /* on the thread of its cells; NULL is fine */

/* Room for so many bytes of arguments, the operation's; called once.  NULL without memory. */
uint8_t *operation_room(struct operation *op, size_t bytes);

/* What was answered, if there is no error; empty: nil.  Valid as long as the operation. */
struct span operation_result(const struct operation *op);

/* --- For the jobs --- */

/* The arguments of a submission are not needed any more: their memory goes, though the operation
 * may wait for long. */
void operation_drop_arguments(struct operation *op);

/* Both give the operation back to its loop. */

/* Answers with the reply as it stands; with MEMORY, if that could not be packed. */
void operation_finish(struct operation *op);
void operation_refuse(struct operation *op, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void operation_refuse_plain(struct operation *op, enum ergon_error error); /* with its meaning */

/* The operation is about the job, which it may know. */
void operation_meet(struct operation *op, const struct job *job);
/* All that it was about belongs to the tenant of who asked, and it was about something. */
static inline bool operation_met_own_only(const struct operation *op)
{
    return op->met_own && !op->met_others;
}

/* May the operation's method be used on the job; else it does not exist for it. */
bool operation_may_know(const struct operation *op, const struct job *job);
/* May who asked for it have the job run, so is it one that it could submit? */
bool operation_may_run(const struct operation *op, const struct job *job);
/* May a job that it submits wait for `on`: does a right to the job's method reach that, too? */
bool operation_may_wait(const struct operation *op, const struct job *job, const struct job *on);
/* May who asked have it run; false: the operation was answered DENIED. */
bool operation_admit_run(struct operation *op, const struct job *job);
/* May the operation's method be used on the object; on the queue of this method? */
bool operation_may_object(const struct operation *op, const struct rights_object *object);
bool operation_may_queue(const struct operation *op, struct span queue);
/* The job of this id; NULL: the operation was answered NOT_FOUND. */
struct job *operation_find_job(struct jobs *jobs, struct operation *op, uint64_t id);

#endif
