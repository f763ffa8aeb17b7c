/* The life of the record of a wait.
 *
 * Usually: prepare attaches it to its object, a start function makes it pending, and the object
 * parks; settle wakes the object, and resume detaches the record.  If the start function settles it
 * at once, park detaches it, and the step continues.
 *
 * A wait ends early by its deadline or another wake (resume finds it pending), by the end of the
 * object (ao_wait_cancelled), or by a select that has another winner (ao_wait_cancel).
 *
 * A record is attached from prepare until its object has seen the outcome.  So if the object ends
 * in between, a grant is found and given back.  A scoped permit stays attached. */
#include <ergon/wait.h>

#include "base/check.h"
#include "server/runtime/sync/wait_internal.h"

const char *ao_wait_outcome_text(enum ao_wait_outcome outcome)
{
    switch (outcome) {
    case AO_WAIT_NONE:
        return "nothing was started";
    case AO_WAIT_PENDING:
        return "pending";
    case AO_WAIT_READY:
        return "ready";
    case AO_WAIT_DEADLINE:
        return "deadline passed";
    case AO_WAIT_CANCELLED:
        return "cancelled";
    case AO_WAIT_CLOSED:
        return "closed";
    case AO_WAIT_REFUSED:
        return "out of memory";
    }
    return "unknown";
}

static void attach(struct ao *ao, struct ao_wait *w)
{
    w->attached = ao->waits;
    ao->waits = w;
}

/* A no-op if the record is not attached. */
static void detach(struct ao *ao, struct ao_wait *w)
{
    struct ao_wait **at = &ao->waits;
    while (*at && *at != w)
        at = &(*at)->attached;
    if (*at)
        *at = w->attached;
    w->attached = NULL;
}

/* Leaves the queue, or gives back what the record holds; notifies nobody. */
static void end(struct ao_wait *w, enum ao_wait_outcome outcome)
{
    if (w->outcome == AO_WAIT_PENDING) {
        w->outcome = (uint8_t)outcome;
        w->cls->leave(w);
    } else if (w->outcome == AO_WAIT_READY && w->held) {
        w->held = false;
        if (w->cls && w->cls->give_back) {
            w->outcome = (uint8_t)outcome;
            w->cls->give_back(w);
        }
    }
}

/* The object has seen the outcome. */
static void consume(struct ao *self, struct ao_wait *w)
{
    w->parked = false;
    if (w->kept && w->outcome == AO_WAIT_READY)
        return;
    w->held = false;
    detach(self, w);
}

void ao_wait_prepare(struct ao *self, struct ao_wait *w)
{
    require(w->kept || !w->held, "the owner has not looked at what the record was granted");
    require(w->outcome != AO_WAIT_PENDING, "the record waits for something already");
    if (w->kept)
        ao_wait_cancel(w); /* a permit that it still holds from an earlier wait */
    *w = (struct ao_wait){.waiter = self};
    attach(self, w);
}

/* Sleeps even without a deadline, which cancels earlier wakes of this step. */
static bool go_to_sleep(struct ao *self, struct ao_wait *w, ao_time deadline)
{
    int error = ao_sleep_until(self, deadline);
    if (error == 0)
        return w->parked = true;
    end(w, error == AO_E_TIMED ? AO_WAIT_REFUSED : AO_WAIT_CANCELLED);
    consume(self, w);
    return error != AO_E_TIMED; /* retired, or its activator closes: the step is its last */
}

bool ao_wait_park(struct ao *self, struct ao_wait *w, ao_time deadline)
{
    require(w->outcome != AO_WAIT_NONE, "the start function was given another record");
    require(!w->listened && w->waiter == self, "the record is another object's");
    if (w->outcome == AO_WAIT_PENDING) {
        if (deadline > ao_now(self))
            return go_to_sleep(self, w, deadline);
        end(w, AO_WAIT_DEADLINE);
    }
    consume(self, w);
    return false;
}

void ao_wait_resume(struct ao *self, struct ao_wait *w)
{
    if (w->outcome == AO_WAIT_PENDING)
        end(w, ao_why(self) & AO_WHY_DUE ? AO_WAIT_DEADLINE : AO_WAIT_CANCELLED);
    consume(self, w);
}

void ao_wait_cancel(struct ao_wait *w)
{
    bool pending = w->outcome == AO_WAIT_PENDING;
    end(w, AO_WAIT_CANCELLED);
    if (w->listened)
        return;
    if (w->waiter)
        detach(w->waiter, w);
    if (pending && w->parked)
        ao_wake(w->waiter);
}

void ao_wait_cancelled(struct ao_wait *head)
{
    head->waiter->waits = NULL;
    /* The newest record comes first: a pending wait leaves its queue before older permits are given
     * back, so that none of them is granted to the object that ends. */
    while (head) {
        struct ao_wait *next = head->attached;
        head->attached = NULL;
        end(head, AO_WAIT_CANCELLED);
        head = next;
    }
}

void ao_wait_pend(struct ao_wait *w, const struct ao_wait_class *cls, void *on)
{
    require(w->outcome == AO_WAIT_NONE, "the record was not prepared, or started twice");
    w->cls = cls;
    w->on = on;
    w->outcome = AO_WAIT_PENDING;
}

void ao_wait_settle(struct ao_wait *w, enum ao_wait_outcome outcome, void *value)
{
    require(w->outcome == AO_WAIT_PENDING || w->outcome == AO_WAIT_NONE,
            "the record is settled already");
    require(outcome == AO_WAIT_READY || outcome == AO_WAIT_CLOSED || outcome == AO_WAIT_REFUSED,
            "the outcome is none that can be given");
    w->outcome = (uint8_t)outcome;
    w->value = value;
    w->held = outcome == AO_WAIT_READY;
    if (w->listened)
        w->listener->settled(w->listener, w);
    else if (w->parked)
        ao_wake(w->waiter);
}

void ao_wait_grant(struct ao_wait *w, const struct ao_wait_class *cls, void *on, void *value)
{
    w->cls = cls;
    w->on = on;
    ao_wait_settle(w, AO_WAIT_READY, value);
}

/* --- The queue of an awaitable thing --- */

void ao_wait_push(struct ao_wait_queue *q, struct ao_wait *w)
{
    struct ao_wait *first = q->first;
    require(!w->next, "the record is in a queue already");
    if (!first) {
        q->first = w->prev = w->next = w;
        return;
    }
    w->prev = first->prev;
    w->next = first;
    first->prev->next = w;
    first->prev = w;
}

void ao_wait_remove(struct ao_wait_queue *q, struct ao_wait *w)
{
    require(q->first && w->next, "the record is in no queue");
    if (q->first == w)
        q->first = w->next == w ? NULL : w->next;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->prev = w->next = NULL;
}

struct ao_wait *ao_wait_pop(struct ao_wait_queue *q)
{
    struct ao_wait *w = q->first;
    if (w)
        ao_wait_remove(q, w);
    return w;
}

void ao_wait_close_all(struct ao_wait_queue *q)
{
    for (struct ao_wait *w; (w = ao_wait_pop(q));)
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
}

/* --- Completion: the simplest awaitable thing --- */

static void completion_leave(struct ao_wait *w)
{
    struct ao_completion *c = w->on;
    ao_wait_remove(&c->waiters, w);
}

static const struct ao_wait_class completion_wait = {.leave = completion_leave};

void ao_completion_init(struct ao_completion *c)
{
    *c = (struct ao_completion){0};
}

void ao_completion_await(struct ao_completion *c, struct ao_wait *w)
{
    if (c->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else if (c->done) {
        ao_wait_grant(w, &completion_wait, c, c->value);
    } else {
        ao_wait_pend(w, &completion_wait, c);
        ao_wait_push(&c->waiters, w);
    }
}

int ao_completion_complete(struct ao_completion *c, void *value)
{
    if (c->done)
        return AO_E_STATE;
    c->done = true;
    c->value = value;
    for (struct ao_wait *w; (w = ao_wait_pop(&c->waiters));)
        ao_wait_settle(w, AO_WAIT_READY, value);
    return 0;
}

int ao_completion_close(struct ao_completion *c)
{
    if (c->done)
        return AO_E_STATE;
    c->done = c->closed = true;
    ao_wait_close_all(&c->waiters);
    return 0;
}
