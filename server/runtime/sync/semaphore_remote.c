/* The remote of a semaphore.
 *
 * Releases are counted in one atomic, and announced by one letter.  So a release needs no memory,
 * and all releases before home reads the count make one message.  An acquire is a remote wait.
 * Requests are served in the order in which their letters arrive at home. */
#include "server/runtime/sync/semaphore_remote.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include <ergon/activator.h>

#include "base/check.h"
#include "base/clock.h"
#include "server/runtime/sync/remote_wait.h"

/* --- Releases --- */

static void deliver_releases(struct letter *letter, bool dropped)
{
    struct ao_sem_remote *r = ao_of(letter, struct ao_sem_remote, letter);
    /* Acquire: what the releasers did with the permit is before the next holder's use.  Release:
     * the letter's link was read before it is sent again.  Both pair with the other half in
     * send_back(). */
    uint32_t n = atomic_exchange_explicit(&r->returned, 0, memory_order_acq_rel);
    if (!dropped && r->sem)
        ao_sem_release_n(r->sem, n);
    ao_sem_remote_unref(r);
}

static void send_back(struct ao_sem_remote *r, uint32_t n)
{
    /* The reference of the letter, taken before home can see the count. */
    ao_sem_remote_ref(r);
    /* Release: the use of the permit before its return.  Acquire: home is done with the letter.
     * Both pair with the exchange in deliver_releases().  The change from 0 sends the letter. */
    uint32_t before = atomic_fetch_add_explicit(&r->returned, n, memory_order_acq_rel);
    require(n <= UINT32_MAX - before, "there are as many permits as can be counted");
    if (before == 0)
        port_send(r->home, &r->letter);
    else
        ao_sem_remote_unref(r);
}

void ao_sem_remote_release(struct ao_sem_remote *r)
{
    send_back(r, 1);
}

void ao_sem_remote_release_n(struct ao_sem_remote *r, uint32_t n)
{
    require(n > 0, "0 permits are released");
    send_back(r, n);
}

/* --- Acquires --- */

/* The value of a wait is its number of permits. */
static void *as_value(uint32_t n)
{
    return (void *)(uintptr_t)n;
}

static uint32_t as_permits(const void *value)
{
    return (uint32_t)(uintptr_t)value;
}

static void start(void *object, void *value, struct ao_wait *proxy)
{
    struct ao_sem_remote *r = object;
    if (r->sem)
        ao_sem_acquire_n(r->sem, as_permits(value), proxy);
    else
        ao_wait_settle(proxy, AO_WAIT_CLOSED, NULL);
}

/* A semaphore of ao_sem_remote_new() has no owner that would close it. */
static void close_for_all(void *object)
{
    struct ao_sem_remote *r = object;
    if (r->sem)
        ao_sem_close(r->sem);
}

static void give_back_remote(struct ao_wait *w)
{
    ao_sem_remote_release_n(w->on, as_permits(w->value));
}

static const struct ao_wait_class granted_wait = {.give_back = give_back_remote};

static void arrived(void *object, void *value, struct ao_wait *w)
{
    ao_wait_grant(w, &granted_wait, object, value);
}

static void undo(void *object, void *value)
{
    ao_sem_remote_release_n(object, as_permits(value));
}

static void hold(void *object)
{
    ao_sem_remote_ref(object);
}

static void drop(void *object)
{
    ao_sem_remote_unref(object);
}

static const struct remote_wait_class acquire_class = {.start = start,
                                                       .close = close_for_all,
                                                       .arrived = arrived,
                                                       .undo = undo,
                                                       .hold = hold,
                                                       .drop = drop};

void ao_sem_remote_acquire(struct ao_sem_remote *r, struct ao_port *here, struct ao_wait *w)
{
    ao_sem_remote_acquire_n(r, 1, here, w);
}

void ao_sem_remote_acquire_n(struct ao_sem_remote *r, uint32_t n, struct ao_port *here,
                             struct ao_wait *w)
{
    require(n > 0, "0 permits are asked for");
    remote_wait_start(&acquire_class, r, as_value(n), r->home, here, w);
}

void ao_sem_remote_acquire_scoped(struct ao_sem_remote *r, struct ao_port *here,
                                  struct ao_permit *p)
{
    require(!p->wait.listened, "a select cannot keep a permit");
    ao_sem_remote_acquire_n_scoped(r, 1, here, p);
}

void ao_sem_remote_acquire_n_scoped(struct ao_sem_remote *r, uint32_t n, struct ao_port *here,
                                    struct ao_permit *p)
{
    require(!p->wait.listened, "a select cannot keep a permit");
    p->wait.kept = true;
    ao_sem_remote_acquire_n(r, n, here, &p->wait);
}

/* --- From threads that run no activator --- */

struct thread_wait *sem_remote_wait(struct ao_sem_remote *r, uint32_t n, struct thread_bell bell)
{
    return thread_wait_start(&acquire_class, r, as_value(n), r->home, bell);
}

static void post(void *answered)
{
    sem_post(answered);
}

/* False: the deadline has passed. */
static bool sleep_until(sem_t *answered, ao_time deadline)
{
    const struct timespec until = clock_spec(deadline);
    int waited;
    do
        waited = deadline == AO_NEVER ? sem_wait(answered)
                                      : sem_clockwait(answered, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    return waited == 0;
}

/* If the answer comes just after the deadline, the thread sleeps a little more: home may be about
 * to post the semaphore, which is on this stack. */
static enum ao_wait_outcome wait_here(struct ao_sem_remote *r, uint32_t n, ao_time deadline)
{
    sem_t answered;
    sem_init(&answered, 0, 0); /* cannot fail: the value is small */
    struct thread_wait *t = sem_remote_wait(r, n, (struct thread_bell){post, &answered});
    enum ao_wait_outcome outcome = AO_WAIT_REFUSED;
    if (t && !sleep_until(&answered, deadline)) {
        if (thread_wait_leave(t)) {
            t = NULL;
            outcome = AO_WAIT_DEADLINE;
        } else {
            sleep_until(&answered, AO_NEVER);
        }
    }
    if (t)
        outcome = thread_wait_take(t);
    sem_destroy(&answered);
    return outcome;
}

enum ao_wait_outcome ao_sem_remote_acquire_blocking(struct ao_sem_remote *r, uint32_t n,
                                                    ao_time limit)
{
    ao_time now = clock_monotonic();
    require(n > 0, "0 permits are asked for");
    require(!activator_current(), "the thread of an activator must not wait: park the object");
    if (limit == 0)
        return AO_WAIT_DEADLINE; /* an answer takes at least a round of another thread */
    return wait_here(r, n, clock_after(now, limit));
}

/* --- Making one --- */

/* The caller has the only reference. */
static struct ao_sem_remote *make(struct ao_port *port)
{
    struct ao_sem_remote *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->letter.deliver = deliver_releases;
    atomic_init(&r->returned, 0);
    atomic_init(&r->refs, 1);
    r->home = port_ref(port);
    return r;
}

struct ao_sem_remote *ao_sem_share(struct ao_sem *s, struct ao_port *port)
{
    struct ao_sem_remote *r = s->remote;
    require(!r || r->home == port, "the semaphore is shared through another port");
    if (!r) {
        r = make(port);
        if (!r)
            return NULL;
        r->sem = s;
        s->remote = r; /* the semaphore's own reference */
    }
    return ao_sem_remote_ref(r);
}

struct ao_sem_remote *ao_sem_remote_new(struct ao_port *port, uint32_t permits)
{
    struct ao_sem_remote *r = make(port);
    if (!r)
        return NULL;
    ao_sem_init(&r->own, permits);
    r->sem = &r->own;
    return r;
}
