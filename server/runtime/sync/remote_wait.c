#include "server/runtime/sync/remote_wait.h"

#include <assert.h>
#include <stdlib.h>

/* ==== of an object ==== */

struct remote_wait {
    struct letter go;
    struct letter cancel;
    _Atomic uint32_t refs; /* `go`, and `cancel` while it is under way */
    const struct remote_wait_class *cls;
    void *object;
    struct ao_port *home, *here;

    void *value;

    /* Here. */
    struct ao_wait *wait; /* NULL once the waiter has left */

    /* Home; `outcome` passes to here with the answer. */
    struct ao_wait_listener listener;
    struct port_guest guest; /* while the proxy is pending, if the class has a `close` */
    struct ao_wait proxy;
    enum ao_wait_outcome outcome;
};

static void drop_reference(struct remote_wait *r)
{
    /* Orders the other side's last use before the free; both sides count with it.  Relaxed would
     * let the free overtake that use. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
        return;
    r->cls->drop(r->object);
    free(r);
}

/* --- Here --- */

static void deliver_cancel(struct letter *letter, bool dropped);

static void leave(struct ao_wait *w)
{
    struct remote_wait *r = w->on;
    r->wait = NULL;
    /* Relaxed: the reference of `go` is held meanwhile, and the letter publishes. */
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    r->cancel.deliver = deliver_cancel;
    port_send(r->home, &r->cancel);
}

static const struct ao_wait_class remote_wait_record = {.leave = leave};

static void deliver_answer(struct letter *letter, bool dropped)
{
    struct remote_wait *r = ao_of(letter, struct remote_wait, go);
    struct ao_wait *w = r->wait;
    r->wait = NULL;
    if (dropped)
        ; /* there is no waiter any more */
    else if (!w && r->outcome == AO_WAIT_READY)
        r->cls->undo(r->object, r->value);
    else if (w && r->outcome == AO_WAIT_READY)
        r->cls->arrived(r->object, r->value, w);
    else if (w)
        ao_wait_settle(w, r->outcome, NULL);
    drop_reference(r);
}

/* --- Home --- */

static void answer(struct remote_wait *r)
{
    r->outcome = r->proxy.outcome;
    r->go.deliver = deliver_answer;
    port_send(r->here, &r->go);
}

static void leave_port(struct remote_wait *r)
{
    if (r->cls->close)
        port_leave(&r->guest);
}

static void settled(struct ao_wait_listener *listener, struct ao_wait *proxy)
{
    struct remote_wait *r = ao_of(listener, struct remote_wait, listener);
    (void)proxy;
    leave_port(r);
    if (port_goes(r->home))
        drop_reference(r); /* there is no waiter any more */
    else
        answer(r);
}

static void port_goes_now(struct port_guest *guest)
{
    struct remote_wait *r = ao_of(guest, struct remote_wait, guest);
    r->cls->close(r->object);
}

static void deliver_start(struct letter *letter, bool dropped)
{
    struct remote_wait *r = ao_of(letter, struct remote_wait, go);
    if (dropped) {
        drop_reference(r);
        return;
    }
    r->listener.settled = settled;
    r->guest.port_goes = port_goes_now;
    if (r->cls->close)
        port_enter(r->home, &r->guest);
    r->proxy = (struct ao_wait){.listener = &r->listener, .listened = true};
    r->cls->start(r->object, r->value, &r->proxy);
}

/* The start came before, by the order of one thread's letters; so the proxy is pending, or the
 * answer is on its way. */
static void deliver_cancel(struct letter *letter, bool dropped)
{
    struct remote_wait *r = ao_of(letter, struct remote_wait, cancel);
    if (!dropped && r->proxy.outcome == AO_WAIT_PENDING) {
        ao_wait_cancel(&r->proxy);
        leave_port(r);
        answer(r);
    }
    drop_reference(r);
}

void remote_wait_start(const struct remote_wait_class *cls, void *object, void *value,
                       struct ao_port *home, struct ao_port *here, struct ao_wait *w)
{
    struct remote_wait *r = calloc(1, sizeof(*r));
    if (!r) {
        ao_wait_settle(w, AO_WAIT_REFUSED, NULL);
        return;
    }
    *r = (struct remote_wait){.go.deliver = deliver_start,
                              .cls = cls,
                              .object = object,
                              .home = home,
                              .here = here,
                              .wait = w,
                              .value = value};
    atomic_init(&r->refs, 1);
    cls->hold(object);
    ao_wait_pend(w, &remote_wait_record, r);
    port_send(home, &r->go);
}

/* ==== of a thread ==== */

struct thread_wait {
    struct letter go;
    struct letter cancel;
    /* References: one of the thread, which passes to `cancel`; one of home, until the proxy is
     * settled or withdrawn. */
    _Atomic uint32_t refs;
    /* enum ao_wait_outcome: PENDING, then once something else.  Release where it is changed,
     * acquire where the answer is looked at. */
    _Atomic uint8_t outcome;
    const struct remote_wait_class *cls;
    void *object, *value;
    struct ao_port *home;
    struct thread_bell bell;

    /* Home. */
    struct ao_wait_listener listener;
    struct port_guest guest; /* while the proxy is pending, if the class has a `close` */
    struct ao_wait proxy;
};

static void thread_drop(struct thread_wait *t)
{
    /* Orders the other side's last use before the free; both sides count with it. */
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
        return;
    t->cls->drop(t->object);
    free(t);
}

/* Changes the outcome from PENDING, once.  False: the other side was first. */
static bool decide(struct thread_wait *t, enum ao_wait_outcome outcome)
{
    uint8_t pending = AO_WAIT_PENDING;
    /* Release: what the last holder did, before the thread goes on with what it is granted; pairs
     * with the acquire in thread_wait_answered() and here.  The side that comes second reads
     * nothing else of the other. */
    return atomic_compare_exchange_strong_explicit(&t->outcome, &pending, (uint8_t)outcome,
                                                   memory_order_acq_rel, memory_order_acquire);
}

/* Home. */

static void thread_answer(struct thread_wait *t, enum ao_wait_outcome outcome)
{
    struct thread_bell bell = t->bell;
    if (decide(t, outcome))
        bell.wake(bell.arg);
    else
        ao_wait_cancel(&t->proxy); /* the thread has left: what was granted goes to the next */
    thread_drop(t);
}

static void thread_leave_port(struct thread_wait *t)
{
    if (t->cls->close)
        port_leave(&t->guest);
}

static void thread_settled(struct ao_wait_listener *listener, struct ao_wait *proxy)
{
    struct thread_wait *t = ao_of(listener, struct thread_wait, listener);
    thread_leave_port(t);
    thread_answer(t, (enum ao_wait_outcome)proxy->outcome);
}

static void thread_port_goes(struct port_guest *guest)
{
    struct thread_wait *t = ao_of(guest, struct thread_wait, guest);
    t->cls->close(t->object);
}

static void thread_deliver_start(struct letter *letter, bool dropped)
{
    struct thread_wait *t = ao_of(letter, struct thread_wait, go);
    if (dropped) {
        thread_answer(t, AO_WAIT_CLOSED);
        return;
    }
    t->listener.settled = thread_settled;
    t->guest.port_goes = thread_port_goes;
    if (t->cls->close)
        port_enter(t->home, &t->guest);
    t->proxy = (struct ao_wait){.listener = &t->listener, .listened = true};
    t->cls->start(t->object, t->value, &t->proxy);
}

/* The start came before, by the order of one thread's letters; so the proxy is pending, or
 * settled. */
static void thread_deliver_cancel(struct letter *letter, bool dropped)
{
    struct thread_wait *t = ao_of(letter, struct thread_wait, cancel);
    if (!dropped && t->proxy.outcome == AO_WAIT_PENDING) {
        ao_wait_cancel(&t->proxy);
        thread_leave_port(t);
        thread_drop(t);
    }
    thread_drop(t);
}

/* The thread. */

struct thread_wait *thread_wait_start(const struct remote_wait_class *cls, void *object,
                                      void *value, struct ao_port *home, struct thread_bell bell)
{
    struct thread_wait *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct thread_wait){.go.deliver = thread_deliver_start,
                              .cancel.deliver = thread_deliver_cancel,
                              .cls = cls,
                              .object = object,
                              .value = value,
                              .home = home,
                              .bell = bell};
    atomic_init(&t->refs, 2);
    atomic_init(&t->outcome, AO_WAIT_PENDING);
    cls->hold(object);
    port_send(home, &t->go);
    return t;
}

bool thread_wait_answered(const struct thread_wait *t)
{
    /* Acquire: pairs with the release in decide(). */
    return atomic_load_explicit(&t->outcome, memory_order_acquire) != AO_WAIT_PENDING;
}

enum ao_wait_outcome thread_wait_take(struct thread_wait *t)
{
    assert(thread_wait_answered(t));
    enum ao_wait_outcome outcome =
        (enum ao_wait_outcome)atomic_load_explicit(&t->outcome, memory_order_acquire);
    thread_drop(t);
    return outcome;
}

bool thread_wait_leave(struct thread_wait *t)
{
    if (!decide(t, AO_WAIT_CANCELLED))
        return false;
    port_send(t->home, &t->cancel);
    return true;
}
