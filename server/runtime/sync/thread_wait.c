#include "server/runtime/sync/thread_wait.h"

#include <assert.h>
#include <stdlib.h>

struct thread_wait {
    struct letter go;
    struct letter cancel;
    /* One of the thread, which passes to `cancel`; one of home, until the stand-in is settled or
     * withdrawn. */
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
    struct port_guest guest; /* while the stand-in is pending, if the class has a `close` */
    struct ao_wait stand_in;
};

static void drop_reference(struct thread_wait *t)
{
    /* Orders the other side's last use before the free; both sides count with it. */
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
        return;
    t->cls->drop(t->object);
    free(t);
}

/* Out of PENDING, once.  False: the other side was first. */
static bool decide(struct thread_wait *t, enum ao_wait_outcome outcome)
{
    uint8_t pending = AO_WAIT_PENDING;
    /* Release: what the last holder did, before the thread goes on with what it is granted; pairs
     * with the acquire in thread_wait_answered() and here.  Who comes second reads nothing of the
     * other but that. */
    return atomic_compare_exchange_strong_explicit(&t->outcome, &pending, (uint8_t)outcome,
                                                   memory_order_acq_rel, memory_order_acquire);
}

/* --- Home --- */

static void answer(struct thread_wait *t, enum ao_wait_outcome outcome)
{
    struct thread_bell bell = t->bell;
    if (decide(t, outcome))
        bell.wake(bell.arg);
    else
        ao_wait_cancel(&t->stand_in); /* nobody waits: what was granted goes to the next */
    drop_reference(t);
}

static void leave_port(struct thread_wait *t)
{
    if (t->cls->close)
        port_leave(&t->guest);
}

static void settled(struct ao_wait_listener *listener, struct ao_wait *stand_in)
{
    struct thread_wait *t = ao_of(listener, struct thread_wait, listener);
    leave_port(t);
    answer(t, (enum ao_wait_outcome)stand_in->outcome);
}

static void port_goes_now(struct port_guest *guest)
{
    struct thread_wait *t = ao_of(guest, struct thread_wait, guest);
    t->cls->close(t->object);
}

static void deliver_start(struct letter *letter, bool dropped)
{
    struct thread_wait *t = ao_of(letter, struct thread_wait, go);
    if (dropped) {
        answer(t, AO_WAIT_CLOSED);
        return;
    }
    t->listener.settled = settled;
    t->guest.port_goes = port_goes_now;
    if (t->cls->close)
        port_enter(t->home, &t->guest);
    t->stand_in = (struct ao_wait){.listener = &t->listener, .listened = true};
    t->cls->start(t->object, t->value, &t->stand_in);
}

/* The start came before, by the order of one thread's letters; so the stand-in is pending, or
 * settled. */
static void deliver_cancel(struct letter *letter, bool dropped)
{
    struct thread_wait *t = ao_of(letter, struct thread_wait, cancel);
    if (!dropped && t->stand_in.outcome == AO_WAIT_PENDING) {
        ao_wait_cancel(&t->stand_in);
        leave_port(t);
        drop_reference(t);
    }
    drop_reference(t);
}

/* --- The thread --- */

struct thread_wait *thread_wait_start(const struct remote_wait_class *cls, void *object,
                                      void *value, struct ao_port *home, struct thread_bell bell)
{
    struct thread_wait *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct thread_wait){.go.deliver = deliver_start,
                              .cancel.deliver = deliver_cancel,
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
    drop_reference(t);
    return outcome;
}

bool thread_wait_leave(struct thread_wait *t)
{
    if (!decide(t, AO_WAIT_CANCELLED))
        return false;
    port_send(t->home, &t->cancel);
    return true;
}
