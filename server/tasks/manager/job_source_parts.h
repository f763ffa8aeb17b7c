/* Kept tasks, for the files of this folder: what an attempt has beside its struct task, and the
 * manager's side of the door. */
#ifndef ERGON_TASKS_KEPT_PARTS_H
#define ERGON_TASKS_KEPT_PARTS_H

#include "server/tasks/executors/executor.h"
#include "server/tasks/job_source.h"

struct manager;
struct manager_kind;

/* In its task's own memory, before the handler's state and result. */
struct attempt {
    void *owner;
    uint64_t id;
    struct executor *executor; /* manager's: it was given to; NULL: in the common queue */
    ao_time after;             /* ns; valid with `again` */
    uint32_t attempt;
    bool again; /* the handler asked for it */
    bool told;  /* the handler knows that it is cancelled */
    /* enum attempt_stage.  Orders nothing (relaxed): a figure that its executor writes. */
    _Atomic uint8_t stage;
    /* Bytes of its notes that nobody has taken yet.  Orders nothing (relaxed): a bound, the notes
     * are published by their list. */
    _Atomic uint32_t noted;
};

/* By whoever runs it: a figure for people. */
static inline void attempt_enter(const struct task *t, enum attempt_stage stage)
{
    if (__builtin_expect(task_is(t, TASK_ATTEMPT), 0))
        atomic_store_explicit(&t->attempt->stage, (uint8_t)stage, memory_order_relaxed);
}

/* --- The manager's thread --- */

/* Asks the source whether it has something for `room` places.  It is asked again after a no when it
 * says job_source_wake(), or one of its attempts has returned. */
bool job_source_ready(struct manager *m, struct manager_kind *k, uint32_t room);

/* The next attempt, to be given at once; NULL: none after all, or no memory. */
struct task *job_source_take(struct manager *m, struct manager_kind *k);

/* Tells the source on the edge. */
void job_source_tell_full(struct manager *m, struct manager_kind *k, bool full);

void job_source_stop(struct manager *m, bool cancel); /* nothing is taken from now on */

/* It is back: the source is told of its notes, then of its return.  The task stays the caller's. */
void job_source_receive(struct manager *m, struct task *t);

void job_source_take_notes(struct manager *m);
void job_source_free_notes(struct manager *m); /* after all threads have ended */

/* --- Its handler's thread --- */

/* False: no memory, or more than NOTES_MAX bytes are on their way. */
bool attempt_post(struct task *t, const struct attempt_note *note);

#endif
