/* Events (<ergon/event.h>). */
#include <ergon/event.h>

#include "base/check.h"

static void leave(struct ao_wait *w)
{
    struct ao_event *e = w->on;
    ao_wait_remove(&e->waiters, w);
}

static void give_back(struct ao_wait *w)
{
    ao_event_set(w->on);
}

static const struct ao_wait_class auto_wait = {.leave = leave, .give_back = give_back};
static const struct ao_wait_class manual_wait = {.leave = leave};

static const struct ao_wait_class *class_of(const struct ao_event *e)
{
    return e->mode == AO_EVENT_AUTO ? &auto_wait : &manual_wait;
}

void ao_event_init(struct ao_event *e, enum ao_event_mode mode)
{
    require(mode == AO_EVENT_AUTO || mode == AO_EVENT_MANUAL, "there is no such mode");
    *e = (struct ao_event){.mode = (uint8_t)mode};
}

static void settle_all(struct ao_event *e)
{
    for (struct ao_wait *w; (w = ao_wait_pop(&e->waiters));)
        ao_wait_settle(w, AO_WAIT_READY, NULL);
}

void ao_event_set(struct ao_event *e)
{
    if (e->mode == AO_EVENT_MANUAL) {
        e->set = true;
        settle_all(e);
        return;
    }
    struct ao_wait *w = ao_wait_pop(&e->waiters);
    if (w)
        ao_wait_settle(w, AO_WAIT_READY, NULL);
    else
        e->set = true;
}

void ao_event_reset(struct ao_event *e)
{
    e->set = false;
}

bool ao_event_is_set(const struct ao_event *e)
{
    return e->set;
}

void ao_event_await(struct ao_event *e, struct ao_wait *w)
{
    if (e->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else if (e->set) {
        e->set = e->mode == AO_EVENT_MANUAL;
        ao_wait_grant(w, class_of(e), e, NULL);
    } else {
        ao_wait_pend(w, class_of(e), e);
        ao_wait_push(&e->waiters, w);
    }
}

void ao_event_close(struct ao_event *e)
{
    e->closed = true;
    ao_wait_close_all(&e->waiters);
}
