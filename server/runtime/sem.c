#include <ergon/sem.h>

#include <assert.h>

#include "server/runtime/sem_remote.h"

static void leave(struct ao_wait *w)
{
    struct ao_sem *s = w->on;
    ao_wait_remove(&s->waiters, w);
}

static void give_back(struct ao_wait *w)
{
    ao_sem_release(w->on);
}

static const struct ao_wait_class sem_wait_class = {.leave = leave, .give_back = give_back};

void ao_sem_init(struct ao_sem *s, uint32_t permits)
{
    *s = (struct ao_sem){.permits = permits};
}

void ao_sem_fini(struct ao_sem *s)
{
    ao_sem_close(s);
    if (s->remote)
        sem_remote_part(s->remote);
    s->remote = NULL;
}

void ao_sem_close(struct ao_sem *s)
{
    s->closed = true;
    ao_wait_close_all(&s->waiters);
}

bool ao_sem_try_acquire(struct ao_sem *s)
{
    if (s->closed || s->permits == 0)
        return false;
    s->permits--;
    return true;
}

void ao_sem_acquire(struct ao_sem *s, struct ao_wait *w)
{
    if (s->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else if (ao_sem_try_acquire(s)) {
        ao_wait_grant(w, &sem_wait_class, s, NULL);
    } else {
        ao_wait_pend(w, &sem_wait_class, s);
        ao_wait_push(&s->waiters, w);
    }
}

/* Who waits is found alive: a waiter that was cancelled, faulted or whose deadline passed has left
 * the queue. */
void ao_sem_release(struct ao_sem *s)
{
    struct ao_wait *w = ao_wait_pop(&s->waiters);
    if (w)
        ao_wait_settle(w, AO_WAIT_READY, NULL);
    else
        s->permits++;
}

uint32_t ao_sem_waiting(const struct ao_sem *s)
{
    uint32_t n = 0;
    const struct ao_wait *w = s->waiters.first;
    if (w)
        do
            n++;
        while ((w = w->next) != s->waiters.first);
    return n;
}

void ao_sem_acquire_scoped(struct ao_sem *s, struct ao_permit *p)
{
    assert(!p->wait.listened && "a select cannot keep a permit");
    p->wait.kept = true;
    ao_sem_acquire(s, &p->wait);
}

void ao_permit_release(struct ao_permit *p)
{
    ao_wait_cancel(&p->wait);
    p->wait.outcome = AO_WAIT_NONE;
}
