/* The semaphore on its home activator.  The `value` of a record is the number of permits that it
 * wants, and then holds.  Records in the queue are always valid: a waiter that was cancelled or
 * faulted, or whose deadline has passed, has left it. */
#include <stdlib.h>

#include "base/check.h"
#include "server/runtime/sync/semaphore_remote.h"

static uint32_t permits_of(const struct ao_wait *w)
{
    return (uint32_t)(uintptr_t)w->value;
}

/* Grants permits in order of arrival, while there are enough.  Each grant may change the queue,
 * since a select that has a winner withdraws its other records. */
static void serve(struct ao_sem *s)
{
    for (struct ao_wait *w; !s->closed && (w = s->waiters.first);) {
        if (permits_of(w) > s->permits)
            return;
        s->permits -= permits_of(w);
        ao_wait_remove(&s->waiters, w);
        ao_wait_settle(w, AO_WAIT_READY, w->value);
    }
}

/* Records behind it may want fewer permits, and can be granted now. */
static void leave(struct ao_wait *w)
{
    struct ao_sem *s = w->on;
    ao_wait_remove(&s->waiters, w);
    serve(s);
}

static void give_back(struct ao_wait *w)
{
    ao_sem_release_n(w->on, permits_of(w));
}

static const struct ao_wait_class sem_wait_class = {.leave = leave, .give_back = give_back};

void ao_sem_init(struct ao_sem *s, uint32_t permits)
{
    *s = (struct ao_sem){.permits = permits};
}

void ao_sem_fini(struct ao_sem *s)
{
    struct ao_sem_remote *r = s->remote;
    ao_sem_close(s);
    s->remote = NULL;
    if (!r)
        return;
    r->sem = NULL; /* acquires that arrive from now on are settled CLOSED */
    ao_sem_remote_unref(r);
}

void ao_sem_close(struct ao_sem *s)
{
    s->closed = true;
    ao_wait_close_all(&s->waiters);
}

bool ao_sem_try_acquire(struct ao_sem *s)
{
    return ao_sem_try_acquire_n(s, 1);
}

bool ao_sem_try_acquire_n(struct ao_sem *s, uint32_t n)
{
    require(n > 0, "0 permits are asked for");
    if (s->closed || s->waiters.first || s->permits < n)
        return false;
    s->permits -= n;
    return true;
}

void ao_sem_acquire(struct ao_sem *s, struct ao_wait *w)
{
    ao_sem_acquire_n(s, 1, w);
}

void ao_sem_acquire_n(struct ao_sem *s, uint32_t n, struct ao_wait *w)
{
    void *wanted = (void *)(uintptr_t)n;
    require(n > 0, "0 permits are asked for");
    if (s->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else if (ao_sem_try_acquire_n(s, n)) {
        ao_wait_grant(w, &sem_wait_class, s, wanted);
    } else {
        ao_wait_pend(w, &sem_wait_class, s);
        w->value = wanted;
        ao_wait_push(&s->waiters, w);
    }
}

void ao_sem_release(struct ao_sem *s)
{
    require(s->permits < UINT32_MAX, "there are as many permits as can be counted");
    s->permits++;
    serve(s);
}

void ao_sem_release_n(struct ao_sem *s, uint32_t n)
{
    require(n > 0, "0 permits are released");
    require(n <= UINT32_MAX - s->permits, "there are as many permits as can be counted");
    s->permits += n;
    serve(s);
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
    require(!p->wait.listened, "a select cannot keep a permit");
    ao_sem_acquire_n_scoped(s, 1, p);
}

void ao_sem_acquire_n_scoped(struct ao_sem *s, uint32_t n, struct ao_permit *p)
{
    require(!p->wait.listened, "a select cannot keep a permit");
    p->wait.kept = true;
    ao_sem_acquire_n(s, n, &p->wait);
}

void ao_permit_release(struct ao_permit *p)
{
    ao_wait_cancel(&p->wait);
    p->wait.outcome = AO_WAIT_NONE;
}

/* --- References to its remote --- */

struct ao_sem_remote *ao_sem_remote_ref(struct ao_sem_remote *r)
{
    /* Relaxed: the caller has a reference. */
    uint32_t refs = atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    require(refs > 0 && refs < UINT32_MAX, "there is no reference, or there are too many");
    return r;
}

void ao_sem_remote_unref(struct ao_sem_remote *r)
{
    /* Orders each holder's last use before the free; pairs with itself on the other threads. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    require(!r->sem || r->sem == &r->own, "the last reference is the semaphore's own");
    port_unref(r->home);
    free(r);
}
