/* The nested calls of a stepped handler.  They belong to its task: each is a call of the home of
 * the loop that the task runs on, and ends in a completion that the handler awaits.
 *
 * Thread: that loop's. */
#ifndef ERGON_TASKS_NESTED_H
#define ERGON_TASKS_NESTED_H

#include <ergon/wait.h>

#include "server/tasks/task.h"

/* Seen by modules as struct ergon_call. */
struct nested {
    struct nested *next; /* of the same task */
    struct task *task;
    struct home *home;
    struct call *list; /* the call while it is in flight: a list of one */
    struct ao_completion done;
    struct ergon_outcome outcome; /* once done */
    void *block;                  /* that the outcome points into, until it is taken */
    struct tally *tally;          /* a reference: whose its task's is; NULL: nobody's */
    uint64_t held;                /* bytes of the outcome that it was charged */
    bool awaited;                 /* its handler began a wait for it */
    bool taken;                   /* its outcome was */
};

/* One that has not begun; the task's.  NULL without memory. */
struct nested *nested_new(struct task *t, struct home *h);

/* It is charged to the account of its task.  False: there is no room for so many bytes, or no
 * memory (*error). */
bool nested_charge(struct nested *n, uint64_t bytes, enum ergon_error *error);

/* It has ended: as one that was not accepted, or as the `ended` of a call whose owner it is. */
void nested_refuse(struct nested *n, enum ergon_error error);
void nested_ended(void *arg, struct call *call, struct outcome *outcome);

/* Takes the outcome, which lies in the task's memory until its next one is taken, as the call
 * itself does.  One that has not ended is abandoned, and the outcome says so. */
void nested_take(struct nested *n, struct ergon_outcome *out);

/* Whether the task has a call that its handler neither awaited nor took. */
bool nested_is_forgotten(const struct task *t);

/* The handler is done with the task: its calls are abandoned and freed. */
void nested_drop_all(struct task *t);

/* Any thread: copies an outcome that is about to go into `*block`, whose old content is freed;
 * `out` points into it.  A result's own block is taken over.  Without memory `out` says so. */
void outcome_keep(struct outcome *outcome, void **block, struct ergon_outcome *out);

/* The same of an error that is no task's own; all of it is constant. */
struct ergon_outcome outcome_refused(enum ergon_error error);

#endif
