/* Waiting: one record for one pending wait, and one protocol that everything awaitable follows.
 *
 * A sequence (<ergon/seq.h>) awaits with AO_AWAIT: it prepares a record, a start function of the
 * thing waited for (ao_sem_acquire, ao_mailbox_receive, ...) settles it at once or makes it
 * pending, and the object parks.  Later the thing settles the record, which wakes the object.
 *
 *      NONE --start--> PENDING --settle--> READY, CLOSED        resumes in its next step
 *                         |-------deadline-----> DEADLINE        resumes; nothing is held
 *                         |-------a foreign wake, the object's end-> CANCELLED
 *
 * An object that becomes inactive, faults or is retired leaves every queue at once, and what was
 * granted to it but not yet consumed goes to the next in the queue.  Whatever else ends its sleep
 * (ao_wake(), a message of a lane) cancels the wait: the step sees AO_WAIT_CANCELLED.
 *
 * Misuse: a record that is prepared before its last outcome was looked at, started twice, parked
 * on by another object, settled twice, or queued twice.
 *
 * Thread: the home activator of the waiter, which is that of the thing waited for too; between
 * activators see ao_sem_remote and ao_mailbox_remote.  Nothing here blocks or allocates.
 * Memory: the record belongs to the waiter and must stand still while it is pending or attached; so
 * must the thing waited for, to which an object that ends gives back what it did not use. */
#ifndef ERGON_WAIT_H
#define ERGON_WAIT_H

#include <ergon/ao.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ao_wait_outcome {
    AO_WAIT_NONE,      /* zeroed: nothing was started */
    AO_WAIT_PENDING,   /* waits; the outcome is open */
    AO_WAIT_READY,     /* got what it waited for; `value` is valid */
    AO_WAIT_DEADLINE,  /* the deadline passed first; nothing is held */
    AO_WAIT_CANCELLED, /* something else ended the sleep or the object; nothing is held */
    AO_WAIT_CLOSED,    /* what it waited for was closed */
    AO_WAIT_REFUSED    /* not started: out of memory, or the step had set a deadline by hand */
};
const char *ao_wait_outcome_text(enum ao_wait_outcome outcome); /* constant text */

struct ao_wait;

/* What a kind of waitable gives its records.  Constant. */
struct ao_wait_class {
    /* `w` is PENDING and goes before its time: take it out of the queue. */
    void (*leave)(struct ao_wait *w);
    /* `w` is READY and its object ends before it used what was granted: give it to the next.  NULL:
     * nothing can be given back; the record stays READY and keeps its value. */
    void (*give_back)(struct ao_wait *w);
};

/* What is called in place of waking an object; for what waits on behalf of another (a select). */
struct ao_wait_listener {
    void (*settled)(struct ao_wait_listener *self, struct ao_wait *w);
};

/* One pending wait; zeroed is a fresh one.  Readers use `outcome` and `value` only. */
struct ao_wait {
    struct ao_wait *prev; /* in the queue of what it waits for; valid while it stands there */
    struct ao_wait *next;
    struct ao_wait *attached; /* next record of the same object; head is ao.waits */
    union {
        struct ao *waiter;                 /* valid from ao_wait_prepare() */
        struct ao_wait_listener *listener; /* valid if `listened` */
    };
    const struct ao_wait_class *cls; /* valid from PENDING or READY */
    void *on;                        /* private to the waitable: usually itself */
    void *value;                     /* what was got; or what is offered, while PENDING */
    uint8_t outcome;                 /* enum ao_wait_outcome */
    bool listened;                   /* a listener is called, no object is woken */
    bool parked;                     /* the object sleeps on it: settling must wake it */
    bool kept;                       /* stays attached when it resumes READY (a scoped permit) */
    bool held;                       /* READY, and the object has not used it yet, or keeps it */
};
static_assert(sizeof(struct ao_wait) <= 64, "a record stands in the state of every waiter");

/* --- For waiters; AO_AWAIT calls these three in this order --- */

/* A fresh record of `self`, which is being stepped.  It must not be pending; what it still keeps
 * goes back. */
void ao_wait_prepare(struct ao *self, struct ao_wait *w);

/* After the start: true when the step must return AO_PARK now.  False: the outcome is known.  A
 * deadline that is not later than now counts as passed at once. */
bool ao_wait_park(struct ao *self, struct ao_wait *w, ao_time deadline);

/* First thing of the step that follows: the outcome is final afterwards. */
void ao_wait_resume(struct ao *self, struct ao_wait *w);

/* Ends a wait before its time, or returns what it holds: pending, granted or kept.  The outcome is
 * CANCELLED, or READY where nothing can be given back.  Of any other record a no-op. */
void ao_wait_cancel(struct ao_wait *w);

/* --- For those who write something awaitable --- */

/* Within a start function: the answer comes later.  `w` was prepared. */
void ao_wait_pend(struct ao_wait *w, const struct ao_wait_class *cls, void *on);

/* The answer, at once (within a start function) or later.  Later, `w` must have left its queue.
 * `outcome` is READY, CLOSED or REFUSED.  `cls` and `on` as in ao_wait_pend() must be set when what
 * was granted can be given back; ao_wait_grant() does both for an immediate grant. */
void ao_wait_settle(struct ao_wait *w, enum ao_wait_outcome outcome, void *value);
void ao_wait_grant(struct ao_wait *w, const struct ao_wait_class *cls, void *on, void *value);

/* The queue of an awaitable thing: first in, first out; zeroed is empty. */
struct ao_wait_queue {
    struct ao_wait *first; /* a ring; the last is first->prev */
};
void ao_wait_push(struct ao_wait_queue *q, struct ao_wait *w);
struct ao_wait *ao_wait_pop(struct ao_wait_queue *q); /* NULL when empty */
void ao_wait_remove(struct ao_wait_queue *q, struct ao_wait *w);
void ao_wait_close_all(struct ao_wait_queue *q); /* settles each, in order, as CLOSED */

/* --- A completion: something that happens once and leaves a value ---
 *
 * The simplest thing to await; what ends elsewhere (a nested call) is one.  Several may await it.
 */
struct ao_completion {
    struct ao_wait_queue waiters;
    void *value; /* valid once complete */
    bool done;   /* complete or closed */
    bool closed;
};
void ao_completion_init(struct ao_completion *c);                     /* zeroed is the same */
void ao_completion_await(struct ao_completion *c, struct ao_wait *w); /* start function */

/* Settles everyone READY with `value` (borrowed).  AO_E_STATE when it is done already. */
int ao_completion_complete(struct ao_completion *c, void *value);

/* It will never happen: settles everyone CLOSED.  AO_E_STATE when it is done already. */
int ao_completion_close(struct ao_completion *c);

#ifdef __cplusplus
}
#endif

#endif
