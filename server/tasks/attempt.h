/* What an attempt of a job has beside its struct task.
 *
 *                  attempt_claim()
 *     assigned ---------------------> running <--> parked --> over, on its way home
 *         |
 *         +--- attempt_withdraw() --> withdrawn: dropped where it is
 *
 * Thread: that of the owner of the task, but where a field says otherwise. */
#ifndef ERGON_TASKS_ATTEMPT_H
#define ERGON_TASKS_ATTEMPT_H

#include "server/tasks/job_source.h"
#include "server/tasks/task.h"

struct tasks_shared;

/* In the task's own memory, before the handler's state and result. */
struct attempt {
    void *owner;               /* the source's; borrowed until the attempt has returned */
    uint64_t id;               /* of the job; 0: it is a plain call of another node */
    struct attempt_mark *mark; /* the source's; or NULL */
    struct task_trace *trace;  /* of a task that has TASK_TRACED */
    struct attempt_turn *turn; /* of an actor: the source's, and this task's until it has returned;
                                * or the task's, with what it submits; or NULL */
    const struct attempt_batches *batches; /* in the task's own memory; NULL: none */
    ao_time timeout;                       /* ns, from its begin; AO_NEVER */
    ao_time after;                         /* ns; valid with `again` */
    uint32_t attempt;
    bool again;       /* the handler asked for it */
    bool sends;       /* `turn` is its own, without an actor */
    bool refused;     /* some of what it was to submit was: it may not answer a result */
    bool cancel_seen; /* the handler knows that it is cancelled */
    uint8_t loss;     /* enum attempt_loss; of a lost one the task's text says why */
    /* enum attempt_stage.  Its executor and the source leave ASSIGNED by compare-and-swap, so
     * that one of them does.  Release in attempt_claim(), so that `began` is before it; acquire in
     * attempt_stage() and in a withdrawal that fails. */
    _Atomic uint8_t stage;
    /* Its executor's clock.  Orders nothing (relaxed): `stage` publishes it. */
    _Atomic ao_time began;
    /* Bytes of its notes that nobody has taken yet.  Orders nothing (relaxed): a bound, the notes
     * are published by their list. */
    _Atomic uint32_t noted;
};

/* By the executor that is about to run an attempt, at this time: false, it was withdrawn and does
 * not run. From then on its deadline is no later than its timeout wants. */
bool attempt_claim(struct task *t, ao_time now);

/* Its handler is done with it: so it is no cause of what comes later. */
static inline void attempt_over(const struct task *t)
{
    if (__builtin_expect(task_is(t, TASK_ATTEMPT), 0) && t->attempt->mark)
        atomic_store_explicit(&t->attempt->mark->stage, MARK_OVER, memory_order_release);
}

/* By the executor that runs it: where it is, for people. */
static inline void attempt_enter(const struct task *t, enum attempt_stage stage)
{
    if (__builtin_expect(!task_is(t, TASK_ATTEMPT), 1))
        return;
    atomic_store_explicit(&t->attempt->stage, (uint8_t)stage, memory_order_relaxed);
    if (t->attempt->mark)
        atomic_store_explicit(&t->attempt->mark->place,
                              stage == ATTEMPT_PARKED ? MARK_PARKED : MARK_HERE,
                              memory_order_relaxed);
}

/* The turn in which submissions of the attempt are gathered; where it has none, one without an
 * actor is made.  NULL without memory. */
struct attempt_turn *attempt_sends(struct attempt *a);
/* It has returned, or never does: such a turn is freed. */
void attempt_drop_sends(struct attempt *a);

/* --- Names for people: the id of the job, or, of a task that is no attempt, its number --- */

enum { TASK_NAME_MAX = 34 };

/* Any thread; in a signal handler too: nothing is locked or allocated.  `job`: the id of the job,
 * or 0. */
void task_name(const struct tasks_shared *shared, uint64_t number, uint64_t job,
               char buf[TASK_NAME_MAX]);

/* The same, of a task that runs, by its executor. */
void task_own_name(const struct task *t, char buf[TASK_NAME_MAX]);

#endif
