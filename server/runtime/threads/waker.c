/* Why no wake-up is lost.
 *
 * Two words are shared: the input (a ring's tail, the inbox's top, the request to stop), which the
 * producer writes, and `sleeping`, which the sleeper writes.
 *
 *   sleeper    S1  sleeping := 1          producer   P1  input := item
 *              S2  full fence                        P2  full fence
 *              S3  load the input                    P3  load sleeping
 *
 * Both fences are sequentially consistent, so one of them comes first in the order that all threads
 * agree on.
 *
 *   S2 before P2: what comes after P2 sees what comes before S2.  P3 sees 1, the producer
 *     exchanges it to 0 and calls wake().  The wake is remembered by the poller ("a blocked poll(),
 *     or else the next one, returns"), so it does not matter whether the sleeper blocks already.
 *   P2 before S2: S3 sees the item, and the sleeper does not block.
 *
 * Without either fence the processor may let a load overtake the store before it (the store waits
 * in the store buffer): both would load too early, and see nothing.  That is the mutant of
 * tests/model/wake.pml.
 *
 * There is at most one wake() per sleep: only the thread that exchanges 1 for 0 calls it.  If the
 * sleep ended by other means, and the wake() comes after the sleeper has retracted, the next poll()
 * returns early.  That is harmless, since all inputs are checked after each poll.
 *
 * An input that is published while `sleeping` is 0 needs no wake: the sleeper is running, and
 * passes S1 to S3 before it blocks. */
#include "server/runtime/threads/waker.h"

#include <ergon/poller.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAKER_BY_EXCHANGE
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WAKER_BY_EXCHANGE
#endif

/* The thread sanitizer does not support fences.  Under it both sides use a read-modify-write of
 * `sleeping`.  That gives the same order (the later of the two sees the earlier, and all before
 * it), but every producer writes the sleeper's cache line. */
#ifdef WAKER_BY_EXCHANGE

static void announce(struct waker *w)
{
    atomic_exchange_explicit(&w->sleeping, 1, memory_order_acq_rel);
}

static bool asleep(struct waker *w)
{
    return atomic_fetch_add_explicit(&w->sleeping, 0, memory_order_acq_rel) != 0;
}

#else

static void announce(struct waker *w)
{
    /* Orders S1 before S3; pairs with the fence in asleep(). */
    atomic_store_explicit(&w->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static bool asleep(struct waker *w)
{
    /* Orders P1 before P3; pairs with the fence in announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&w->sleeping, memory_order_relaxed) != 0;
}

#endif

void waker_init(struct waker *w, void (*wake)(void *arg), void *arg)
{
    atomic_init(&w->sleeping, 0);
    w->wake = wake;
    w->arg = arg;
}

static void wake_poller(void *arg)
{
    struct poller *poller = arg;
    poller->wake(poller);
}

void waker_init_poller(struct waker *w, struct poller *poller)
{
    waker_init(w, wake_poller, poller);
}

void waker_announce(struct waker *w)
{
    announce(w);
}

bool waker_announced(const struct waker *w)
{
    return atomic_load_explicit(&w->sleeping, memory_order_relaxed) != 0;
}

void waker_retract(struct waker *w)
{
    /* Relaxed: a producer that still sees 1 sends a wake too many, which is harmless. */
    atomic_store_explicit(&w->sleeping, 0, memory_order_relaxed);
}

bool waker_notify(struct waker *w)
{
    if (!asleep(w))
        return false;
    /* The exchange chooses one among several producers; it orders nothing that the fence in
     * asleep() did not. */
    if (!atomic_exchange_explicit(&w->sleeping, 0, memory_order_relaxed))
        return false;
    w->wake(w->arg);
    return true;
}
