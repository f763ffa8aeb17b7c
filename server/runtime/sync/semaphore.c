/* The semaphore, and its face to other threads.
 *
 * Releases are counted in one atomic and announced by one letter, so that a release needs no memory
 * and any number of them that come before home looks is one message.  An acquire is a remote wait.
 * The order of arrival is the order of the letters at home. */
#include <ergon/sem.h>

#include <stdlib.h>

#include "base/check.h"
#include "server/runtime/sync/remote_wait.h"

struct ao_sem_remote {
    struct letter letter;      /* under way while `returned` is not 0 */
    _Atomic uint32_t returned; /* releases that home has not counted yet */
    _Atomic uint32_t refs;     /* holders, the semaphore, the letter under way */
    struct ao_port *home;
    struct ao_sem *sem; /* home only; NULL once it is gone */
};

/* --- Home --- */

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
    if (w) {
        ao_wait_settle(w, AO_WAIT_READY, NULL);
        return;
    }
    require(s->permits < UINT32_MAX, "there are as many permits as can be counted");
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
    require(!p->wait.listened, "a select cannot keep a permit");
    p->wait.kept = true;
    ao_sem_acquire(s, &p->wait);
}

void ao_permit_release(struct ao_permit *p)
{
    ao_wait_cancel(&p->wait);
    p->wait.outcome = AO_WAIT_NONE;
}

/* --- From other threads --- */

struct ao_sem_remote *ao_sem_remote_ref(struct ao_sem_remote *r)
{
    /* Relaxed: the caller has a reference. */
    uint32_t refs = atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    require(refs > 0 && refs < UINT32_MAX, "nobody holds a reference, or too many do");
    return r;
}

void ao_sem_remote_unref(struct ao_sem_remote *r)
{
    /* Orders each holder's last use before the free; pairs with itself on the other threads. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    require(!r->sem, "the last reference is the semaphore's own");
    free(r);
}

/* --- Releases --- */

static void deliver_releases(struct letter *letter, bool dropped)
{
    struct ao_sem_remote *r = ao_of(letter, struct ao_sem_remote, letter);
    /* Acquire: what the releasers did with the permit is before the next holder's use.  Release:
     * the letter's link was read before it is sent again.  Both pair with the other half in
     * ao_sem_remote_release(). */
    uint32_t n = atomic_exchange_explicit(&r->returned, 0, memory_order_acq_rel);
    if (!dropped && r->sem)
        while (n-- > 0)
            ao_sem_release(r->sem);
    ao_sem_remote_unref(r);
}

void ao_sem_remote_release(struct ao_sem_remote *r)
{
    /* The reference of the letter, taken before home can see the count. */
    ao_sem_remote_ref(r);
    /* Release: the use of the permit before its return.  Acquire: home is done with the letter.
     * Both pair with the exchange in deliver_releases().  0 -> 1 is who sends. */
    if (atomic_fetch_add_explicit(&r->returned, 1, memory_order_acq_rel) == 0)
        port_send(r->home, &r->letter);
    else
        ao_sem_remote_unref(r);
}

/* --- Acquires --- */

static void start(void *object, struct ao_wait *stand_in)
{
    struct ao_sem_remote *r = object;
    if (r->sem)
        ao_sem_acquire(r->sem, stand_in);
    else
        ao_wait_settle(stand_in, AO_WAIT_CLOSED, NULL);
}

static void give_back_remote(struct ao_wait *w)
{
    ao_sem_remote_release(w->on);
}

static const struct ao_wait_class granted_wait = {.give_back = give_back_remote};

static void arrived(void *object, void *value, struct ao_wait *w)
{
    ao_wait_grant(w, &granted_wait, object, value);
}

static void undo(void *object)
{
    ao_sem_remote_release(object);
}

static void hold(void *object)
{
    ao_sem_remote_ref(object);
}

static void drop(void *object)
{
    ao_sem_remote_unref(object);
}

static const struct remote_wait_class acquire_class = {
    .start = start, .arrived = arrived, .undo = undo, .hold = hold, .drop = drop};

void ao_sem_remote_acquire(struct ao_sem_remote *r, struct ao_port *here, struct ao_wait *w)
{
    remote_wait_start(&acquire_class, r, NULL, r->home, here, w);
}

void ao_sem_remote_acquire_scoped(struct ao_sem_remote *r, struct ao_port *here,
                                  struct ao_permit *p)
{
    require(!p->wait.listened, "a select cannot keep a permit");
    p->wait.kept = true;
    ao_sem_remote_acquire(r, here, &p->wait);
}

struct ao_sem_remote *ao_sem_share(struct ao_sem *s, struct ao_port *port)
{
    struct ao_sem_remote *r = s->remote;
    require(!r || r->home == port, "the semaphore is shared through another port");
    if (r)
        return ao_sem_remote_ref(r);
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->letter.deliver = deliver_releases;
    atomic_init(&r->returned, 0);
    atomic_init(&r->refs, 2); /* the caller's and the semaphore's */
    r->home = port;
    r->sem = s;
    s->remote = r;
    return r;
}
