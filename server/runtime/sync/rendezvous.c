/* Rendezvous (<ergon/rendezvous.h>). */
#include <ergon/rendezvous.h>

static void leave(struct ao_wait *w)
{
    struct ao_rendezvous *r = w->on;
    ao_wait_remove(&r->waiters, w);
}

static const struct ao_wait_class rendezvous_wait = {.leave = leave};

void ao_rendezvous_init(struct ao_rendezvous *r)
{
    *r = (struct ao_rendezvous){0};
}

/* Removes and returns the other side's longest waiting record; NULL: none of that side waits. */
static struct ao_wait *partner(struct ao_rendezvous *r, bool giver)
{
    return r->givers == giver ? ao_wait_pop(&r->waiters) : NULL;
}

static void wait_for_partner(struct ao_rendezvous *r, bool giver, void *value, struct ao_wait *w)
{
    r->givers = giver;
    ao_wait_pend(w, &rendezvous_wait, r);
    w->value = value;
    ao_wait_push(&r->waiters, w);
}

void ao_rendezvous_give(struct ao_rendezvous *r, void *value, struct ao_wait *w)
{
    if (r->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
        return;
    }
    struct ao_wait *taker = partner(r, false);
    if (!taker) {
        wait_for_partner(r, true, value, w);
        return;
    }
    ao_wait_settle(taker, AO_WAIT_READY, value);
    ao_wait_grant(w, &rendezvous_wait, r, NULL);
}

void ao_rendezvous_take(struct ao_rendezvous *r, struct ao_wait *w)
{
    if (r->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
        return;
    }
    struct ao_wait *giver = partner(r, true);
    if (!giver) {
        wait_for_partner(r, false, NULL, w);
        return;
    }
    void *value = giver->value;
    ao_wait_settle(giver, AO_WAIT_READY, NULL);
    ao_wait_grant(w, &rendezvous_wait, r, value);
}

void ao_rendezvous_close(struct ao_rendezvous *r)
{
    r->closed = true;
    ao_wait_close_all(&r->waiters);
}
