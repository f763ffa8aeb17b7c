/* The queue of an awaitable thing, and the simplest awaitable thing. */
#include <ergon/wait.h>

#include "base/check.h"

void ao_wait_push(struct ao_wait_queue *q, struct ao_wait *w)
{
    struct ao_wait *first = q->first;
    require(!w->next, "the record stands in a queue already");
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
    require(q->first && w->next, "the record stands in no queue");
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

/* --- Completion --- */

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
