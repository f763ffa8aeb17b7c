#include "server/runtime/sync/remote_wait.h"

#include <stdlib.h>

struct remote_wait {
    struct letter go;
    struct letter cancel;
    _Atomic uint32_t refs; /* `go`, and `cancel` while it is under way */
    const struct remote_wait_class *cls;
    void *object;
    struct ao_port *home, *here;

    void *value;

    /* Here. */
    struct ao_wait *wait; /* NULL once the waiter left */

    /* Home; `outcome` passes to here with the answer. */
    struct ao_wait_listener listener;
    struct port_guest guest; /* while the stand-in is pending, if the class has a `close` */
    struct ao_wait stand_in;
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
        ; /* nobody is left to hear of it */
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
    r->outcome = r->stand_in.outcome;
    r->go.deliver = deliver_answer;
    port_send(r->here, &r->go);
}

static void leave_port(struct remote_wait *r)
{
    if (r->cls->close)
        port_leave(&r->guest);
}

static void settled(struct ao_wait_listener *listener, struct ao_wait *stand_in)
{
    struct remote_wait *r = ao_of(listener, struct remote_wait, listener);
    (void)stand_in;
    leave_port(r);
    if (port_goes(r->home))
        drop_reference(r); /* nobody is left to hear of it */
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
    r->stand_in = (struct ao_wait){.listener = &r->listener, .listened = true};
    r->cls->start(r->object, r->value, &r->stand_in);
}

/* The start came before, by the order of one thread's letters; so the stand-in is pending, or the
 * answer is on its way. */
static void deliver_cancel(struct letter *letter, bool dropped)
{
    struct remote_wait *r = ao_of(letter, struct remote_wait, cancel);
    if (!dropped && r->stand_in.outcome == AO_WAIT_PENDING) {
        ao_wait_cancel(&r->stand_in);
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
