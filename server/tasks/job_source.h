/* The port by which whoever keeps jobs (server/jobs) gives work to the task manager.
 *
 * A job is no struct task: it may wait for days.  When an executor of its kind has room the
 * manager asks the source for the next one to run and makes a struct task of that attempt, at home
 * with the manager.  Plain calls and jobs take turns.  When the struct task has come home,
 * whether or not anybody still waits for it, it is returned to the source: an attempt is given
 * exactly once and returns exactly once.
 *
 * Thread: the manager's, for everything here that does not say otherwise.  An attempt's struct task
 * is the manager's: from `given` until `returned` the source may name it, and no more. */
#ifndef ERGON_TASKS_JOB_SOURCE_H
#define ERGON_TASKS_JOB_SOURCE_H

#include "server/tasks/call.h"
#include "server/tasks/registry.h"

struct tasks;
struct task;

/* Where an attempt is: written by its executor, for people. */
enum attempt_stage { ATTEMPT_ASSIGNED, ATTEMPT_RUNNING, ATTEMPT_PARKED };

/* One attempt, as it is to be run. */
struct attempt_spec {
    struct method *method;
    struct span params; /* raw; read in place, so it stays until the attempt has returned */
    ao_time deadline;   /* absolute; what ergon_time_left() and nested calls go by; AO_NEVER */
    uint64_t id;        /* of the job */
    uint32_t attempt;
    void *owner; /* the source's */
};

/* How an attempt ended. */
struct attempt_end {
    void *owner;
    uint32_t attempt;
    bool started;     /* false: it was dropped before its handler began */
    bool cancel_seen; /* its handler asked whether it is cancelled, and it was */
    bool again;       /* the handler asked to be run again, `after` ns from now */
    ao_time after;
    struct outcome *outcome; /* valid during the call; its block may be taken */
};

/* What a handler said meanwhile.  Spans are valid during the call. */
struct attempt_note {
    void *owner;
    uint32_t attempt;
    bool partial;         /* `data` is a part of the result, else progress */
    uint64_t done, total; /* of progress; total 0: unknown */
    struct span text;     /* of progress */
    struct span data;     /* raw MessagePack */
};

struct job_source {
    void *arg;
    /* Has the source a job of this kind that could be given now?  `room`: places that executors of
     * the kind have, never 0.  Called often: a few loads.  After a no, here or in take(), it is
     * asked again when job_source_wake() was called or an attempt of the kind has returned. */
    bool (*ready)(void *arg, enum ergon_kind kind, uint32_t room);
    /* Fills `run` with the next attempt, by the source's order.  False: there is none after all. */
    bool (*take)(void *arg, enum ergon_kind kind, struct attempt_spec *run);
    /* The attempt of the last take() was given: `t` is valid until `returned`.  NULL: there was no
     * memory, and the attempt has not begun. */
    void (*given)(void *arg, void *owner, struct task *t);
    void (*returned)(void *arg, const struct attempt_end *r);
    void (*noted)(void *arg, const struct attempt_note *note); /* always before its `returned` */
    /* The executors of this kind are full, or have room again: what explains a wait. */
    void (*full)(void *arg, enum ergon_kind kind, bool full);
    /* The server drains: nothing is taken any more.  With `cancel`: what runs is to be flagged. */
    void (*stop)(void *arg, bool cancel);
    /* Writes the task's name, for its handler; at most 33 bytes with the terminator.  Any thread.
     */
    const char *(*name)(uint64_t id, char *buf);
};

/* Before the threads start; the struct is copied. */
void tasks_set_job_source(struct tasks *t, const struct job_source *source);
struct activator *tasks_manager_activator(struct tasks *t);

/* The source has got something to give. */
void job_source_wake(struct tasks *t);

/* Nobody wants this attempt any more, or it is too late: it is dropped where it waits, flagged
 * where it runs. */
enum attempt_flag { ATTEMPT_CANCEL, ATTEMPT_LATE };
void attempt_flag(struct tasks *t, struct task *attempt, enum attempt_flag flag);

enum attempt_stage attempt_stage(const struct task *attempt);
/* The executor that has it, for people: "blocking 3". */
void attempt_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size);

#endif
