/* The port by which the keeper of jobs (server/jobs) gives work to the task manager.
 *
 * A job is no struct task: it may wait for days.  When an executor of its pool has room the
 * manager asks the source for the next one to run and makes a struct task of that attempt, at home
 * with the manager.  Plain calls and jobs take turns.  When the struct task has come home,
 * whether or not anybody still waits for it, it is returned to the source: an attempt that is given
 * returns exactly once, unless the source has withdrawn it, and none returns that has not begun.
 *
 * Thread: the manager's, for everything here that does not say otherwise.  An attempt's struct task
 * is the manager's: from `given` until it has returned or is withdrawn the source may name it, and
 * no more. */
#ifndef ERGON_TASKS_JOB_SOURCE_H
#define ERGON_TASKS_JOB_SOURCE_H

#include "server/tasks/call.h"
#include "server/tasks/registry.h"

struct tasks;
struct task;
struct trace_link;
struct attempt_turn; /* turn.h */
struct actor_offer;  /* actor_offer.h */

/* Where an attempt is.  It leaves ASSIGNED once: its executor begins it, or the source withdraws
 * it, whichever is first. */
enum attempt_stage { ATTEMPT_ASSIGNED, ATTEMPT_RUNNING, ATTEMPT_PARKED, ATTEMPT_WITHDRAWN };

/* How far an attempt has come, for the next process: memory of the source's, which may
 * outlive it.  All accesses are relaxed or release; nobody but a later process reads what the
 * executor writes. */
/* Where one that has begun is: with an executor of this process; with a worker, in another process;
 * parked, so that no code of its runs. */
enum mark_place { MARK_HERE, MARK_AT_WORKER, MARK_PARKED };
enum mark_stage { MARK_FREE, MARK_GIVEN, MARK_BEGUN, MARK_OVER };
struct attempt_mark {
    /* When its handler began, of the executors' clock.  Orders nothing (relaxed): `stage` publishes
     * it. */
    _Atomic uint64_t began;
    /* enum mark_stage.  Release wherever it is written, so that the words beside it were written
     * before; it is read by the next process. */
    _Atomic uint32_t stage;
    /* enum mark_place.  Relaxed, by the worker loop once it has begun, and by the executor that
     * parks it. */
    _Atomic uint32_t place;
};

/* The batches that a job has to do with, by their ids; 0: none. */
struct attempt_batches {
    uint64_t member_of;
    uint64_t callback_of; /* which has submitted it */
};

/* One attempt, as it is to be run. */
struct attempt_spec {
    struct method *method;
    struct span params; /* raw; read in place, so it stays until the attempt has returned */
    ao_time deadline;   /* absolute; what ergon_time_left() and nested calls go by; AO_NEVER */
    ao_time timeout;    /* from the begin of its handler, for the same; AO_NEVER */
    uint64_t id;        /* of the job; 0: it is a plain call of another node */
    struct attempt_batches batches;
    ao_time ready; /* since when the job has waited for this attempt; 0: not known */
    uint32_t attempt;
    void *owner;               /* the source's */
    struct attempt_mark *mark; /* the source's, until it has returned or is withdrawn; or NULL */
    const struct trace_link *trace; /* that it belongs to: copied as it is given; NULL: none */
    /* Of a message to an actor: the source's again when it has returned or is withdrawn.  Of a task
     * with a checkpoint: one without an actor, whose state that is, and which is given away
     * (turn.h).  Else NULL. */
    struct attempt_turn *turn;
};

/* Was the worker lost that had the attempt?  Then its outcome says nothing. */
enum attempt_loss {
    LOSS_NONE,
    LOSS_UNSENT,     /* before the stream had a byte of its request: it has not begun */
    LOSS_IN_COMPANY, /* with others that the worker had: it may have run */
    LOSS_ALONE       /* it was the only one that the worker had */
};

/* How an attempt ended. */
struct attempt_end {
    void *owner;
    enum attempt_loss loss;
    struct span why; /* of a loss, for people: "worker w17 at 10.0.0.7: connection reset" */
    uint32_t attempt;
    struct attempt_mark *mark; /* as it was given */
    struct attempt_turn *turn; /* likewise; or, with what it submits, the task's: turn.h */
    ao_time began;             /* when its handler did */
    bool cancel_seen;          /* its handler asked whether it is cancelled, and it was */
    bool again;                /* the handler asked to be run again, `after` ns from now */
    ao_time after;
    struct outcome *outcome; /* valid during the call; its block may be taken */
};

/* What a handler said meanwhile.  Spans are valid during the call. */
enum note_kind {
    NOTE_PROGRESS,
    NOTE_PARTIAL,   /* `data` is a part of the result */
    NOTE_CHECKPOINT /* `data` is for the next attempt; a nil: there is none any more */
};
enum { CHECKPOINT_MAX = 64 << 10 /* bytes; a longer part of a result is noted without its data */ };
struct attempt_note {
    void *owner;
    uint32_t attempt;
    enum note_kind kind;
    uint64_t done, total; /* of progress; total 0: unknown */
    struct span text;     /* of progress */
    struct span data;     /* raw MessagePack */
};

/* A worker, for people.  Spans are valid during the call; but for `worker`, they may be empty. */
struct source_label {
    struct span worker, name, host, version; /* worker: "w17" */
};

/* A pool is named by its index. */
struct job_source {
    void *arg;
    /* Has the source a job of this pool that could be given now?  `room`: places that executors of
     * the pool have, never 0.  Called often: a few loads.  After a no, here or in take(), it is
     * asked again when job_source_wake() was called or an attempt of the pool has returned. */
    bool (*ready)(void *arg, uint32_t pool, uint32_t room);
    /* Fills `run` with the next attempt, by the source's order.  False: there is none after all. */
    bool (*take)(void *arg, uint32_t pool, struct attempt_spec *run);
    /* The attempt of the last take() was given: `t` is valid until `returned`, or until it is
     * withdrawn.  NULL: there was no memory, and the attempt has not begun. */
    void (*given)(void *arg, const struct attempt_spec *run, struct task *t);
    /* What follows from it waits for `settle`. */
    void (*returned)(void *arg, const struct attempt_end *r);
    /* So many have returned as had come home: the consequences of all of them are applied at once.
     * One by one each would find the code of the one before gone from the processor's cache.  NULL:
     * nothing follows. */
    void (*settle)(void *arg);
    void (*noted)(void *arg, const struct attempt_note *note); /* always before its `returned` */
    /* The executors of this pool are full, or have room again: what explains a wait. */
    void (*full)(void *arg, uint32_t pool, bool full);
    /* From now on there are workers that offer this method, or none any more.  `last`, for people:
     * the last worker that went, and why ("worker w17 at 10.0.0.7: connection reset"); empty: that
     * is not known.  Before the first `true` nothing of the method's pool is asked. */
    void (*offered)(void *arg, struct method *method, bool workers, struct span last);
    /* A worker has joined: returns the number by which attempt_label() names it to the source from
     * now on.  NULL: that is 0, as for all that is no worker. */
    uint16_t (*joined)(void *arg, const struct source_label *label);
    /* It has left, and so has each attempt that it was given: the number is the source's again. */
    void (*left)(void *arg, uint16_t label);
    /* A worker has said that parameters of this method are secret, or are not, before it is
     * registered. */
    void (*secret)(void *arg, struct method *method, bool secret);
    /* A worker offers a type of actors, before it is registered; its methods are marked as such
     * (method_set_actor()).  False without memory.  NULL: the source has no actors. */
    bool (*typed)(void *arg, const struct actor_offer *offer);
    bool (*keeps_actors)(void *arg); /* may a type be durable now?  NULL with `typed` */
    /* A turn of a handler of this process calls an actor (TASK_MESSAGE): the task, whose method is
     * the message's, and whose parameters are those of turn_call_pack(), is the source's until
     * job_source_called().  NULL: the source takes none. */
    void (*call)(void *arg, struct task *t);
    /* The server drains: nothing is taken any more.  With `cancel`: what runs is to be flagged. */
    void (*stop)(void *arg, bool cancel);
    /* Writes the task's name, for its handler; at most 33 bytes with the terminator.  Any thread.
     */
    const char *(*name)(uint64_t id, char *buf);
    const char *(*batch_name)(uint64_t id, char *buf); /* the same of a batch */
};

/* Before the threads start; the struct is copied. */
void tasks_set_job_source(struct tasks *t, const struct job_source *source);
/* The one that was set, for a source that takes its place and passes on to it; valid until then. */
const struct job_source *tasks_job_source(const struct tasks *t);
/* The pool that runs attempts of this method, once tasks_new() has returned. */
uint32_t job_source_pool(const struct method *m);
struct activator *tasks_manager_activator(struct tasks *t);
/* Bytes that the parameters of an attempt may have. */
uint64_t job_source_params_max(const struct tasks *t);

/* The task of `call` has ended: its result, or its failure, is in it, and it goes home. */
void job_source_called(struct tasks *t, struct task *call);

/* The source has got something to give to this pool. */
void job_source_wake(struct tasks *t, uint32_t pool);

/* Nobody wants this attempt, which has begun, any more, or it is too late: it is flagged. */
enum attempt_flag { ATTEMPT_CANCEL, ATTEMPT_LATE };
void attempt_flag(struct tasks *t, struct task *attempt, enum attempt_flag flag);

/* Takes an attempt back whose handler has not begun.  True: it never will, and does not return: the
 * source names it no more, and its parameters and its mark are the source's again.  Its place at
 * the executor is free when that one comes to it.  False: it has begun. */
bool attempt_withdraw(struct tasks *t, struct task *attempt, const struct attempt_mark **mark);

enum attempt_stage attempt_stage(const struct task *attempt);
ao_time attempt_began(const struct task *attempt); /* of one that is not ASSIGNED any more */
/* For people: a worker, by the name that attempt_executor() has of it. */
struct source_worker {
    char name[24];
    uint32_t outstanding, slots;
};
/* Those that offer the method, at most `most` of them; returns how many there are in all. */
uint32_t job_source_workers(struct tasks *t, const struct method *m, struct source_worker *out,
                            uint32_t most);

/* What the source called the worker that has it (`joined`); 0: it is no worker's. */
uint16_t attempt_label(const struct task *attempt);

/* The executor that has it, for people: "blocking 3". */
void attempt_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size);

#endif
