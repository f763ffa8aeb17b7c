/* A loop's door: two lanes, and on the loop an object that takes what comes back.
 *
 * An ask goes in and comes back once.  One that is dropped is followed by its drop, which comes
 * back too; the loop is told when both have, for then nothing refers to the ask. */
#include <assert.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

enum {
    DOOR_LANE = 1024,
    DOOR_BUDGET = 64 /* items of one door, a step; each order of a submission counts */
};

struct ledger_door {
    struct ledger_door *next; /* all */
    struct ledger *ledger;
    struct lane in;   /* from the loop */
    struct lane out;  /* to the loop */
    struct ao ao;     /* the loop's */
    struct slab asks; /* the loop's */
    void (*answered)(void *arg, struct ask *a);
    void (*pushed)(void *arg, struct ask_push *p);
    void *arg;
};

static struct ask_item *item_of(struct lane_item *item)
{
    return ao_of(item, struct ask_item, item);
}

static struct ask *ask_of(struct ask_item *item)
{
    return item->kind == ASK_DROP ? ao_of(item, struct ask, drop) : ao_of(item, struct ask, item);
}

/* --- The loop's side --- */

static void came_back(struct ledger_door *d, struct ask *a)
{
    if (a->answered && (!a->gone || a->dropped_back))
        d->answered(d->arg, a);
}

static void receive(struct ledger_door *d, struct ask_item *item)
{
    struct ask *a;
    switch ((int)item->kind) {
    case ASK_PUSH:
        d->pushed(d->arg, ao_of(item, struct ask_push, item));
        return;
    case ASK_DROP:
        a = ask_of(item);
        a->dropped_back = true;
        break;
    default:
        a = ask_of(item);
        a->answered = true;
        break;
    }
    came_back(d, a);
}

static enum ao_verdict door_step(struct ao *self)
{
    struct ledger_door *d = ao_of(self, struct ledger_door, ao);
    int budget = DOOR_BUDGET;
    for (; budget > 0; budget--) {
        struct lane_item *item = lane_take(&d->out);
        if (!item)
            break;
        receive(d, item_of(item));
    }
    lane_release(&d->out);
    return budget > 0 ? AO_DONE : AO_AGAIN;
}

static const struct ao_class door_class = {.name = "ledger door", .step = door_step};

struct ledger_door *ledger_door_open(struct ledger *l, struct activator *loop,
                                     void (*answered)(void *arg, struct ask *a),
                                     void (*pushed)(void *arg, struct ask_push *p), void *arg)
{
    struct ledger_door *d = aligned_alloc(_Alignof(struct ledger_door), sizeof *d);
    if (!d)
        return NULL;
    *d = (struct ledger_door){.ledger = l, .answered = answered, .pushed = pushed, .arg = arg};
    ao_init(&d->ao, &door_class, loop);
    slab_init(&d->asks, sizeof(struct ask), SLAB_KEPT);
    if (lane_init(&d->in, DOOR_LANE, loop, &l->ao) != 0)
        goto no_in;
    if (lane_init(&d->out, DOOR_LANE, l->activator, &d->ao) != 0)
        goto no_out;
    d->next = l->doors;
    l->doors = d;
    return d;
no_out:
    lane_fini(&d->in);
no_in:
    ao_fini(&d->ao);
    free(d);
    return NULL;
}

struct slab *ledger_asks(struct ledger_door *d)
{
    return &d->asks;
}

void ledger_give(struct ledger_door *d, struct ask *a)
{
    a->item.kind = ASK_ITSELF;
    a->door = d;
    lane_push(&d->in, &a->item.item);
}

void ledger_drop(struct ledger_door *d, struct ask *a)
{
    assert(!a->gone && !a->answered);
    a->gone = true;
    a->drop.kind = ASK_DROP;
    lane_push(&d->in, &a->drop.item);
}

/* --- The ledger's side --- */

/* How much of the budget it took. */
static uint32_t serve_item(struct ledger *l, struct ledger_door *d, struct ask_item *item)
{
    struct ask *a = ask_of(item);
    if (item->kind == ASK_ITSELF) {
        uint32_t orders = a->order_count; /* the ask may be gone afterwards */
        ledger_serve(l, a);
        return orders > 0 ? orders : 1;
    }
    if (a->held) /* else it is on its way back, or waits for the store, and comes by itself */
        wait_dropped(l, a);
    lane_push(&d->out, &item->item);
    return 1;
}

static bool door_take(struct ledger *l, struct ledger_door *d)
{
    uint32_t done = 0;
    while (done < DOOR_BUDGET) {
        struct lane_item *item = lane_take(&d->in);
        if (!item)
            break;
        done += serve_item(l, d, item_of(item));
    }
    lane_release(&d->in);
    return done < DOOR_BUDGET;
}

bool doors_take(struct ledger *l)
{
    bool empty = true;
    for (struct ledger_door *d = l->doors; d; d = d->next)
        empty &= door_take(l, d);
    return empty;
}

void door_return(struct ask *a)
{
    a->item.kind = ASK_ITSELF;
    lane_push(&a->door->out, &a->item.item);
}

void door_push(struct ask *a, struct ask_push *push)
{
    push->item.kind = ASK_PUSH;
    lane_push(&a->door->out, &push->item.item);
}

/* What is on its way belongs to the loops, which are told as ever; `in`: from the loop. */
static void flush_lane(struct ledger_door *d, struct lane *l, bool in)
{
    struct lane_item *item;
    bool all;
    do {
        all = lane_flush(l);
        while ((item = lane_take(l))) {
            struct ask_item *it = item_of(item);
            if (in && it->kind == ASK_ITSELF)
                ask_of(it)->error = ERGON_E_DRAINING;
            receive(d, it);
        }
        lane_release(l);
    } while (!all);
}

void doors_flush(struct ledger *l)
{
    for (struct ledger_door *d = l->doors; d; d = d->next) {
        flush_lane(d, &d->in, true);
        flush_lane(d, &d->out, false);
    }
}

void doors_free(struct ledger *l)
{
    struct ledger_door *next;
    for (struct ledger_door *d = l->doors; d; d = next) {
        next = d->next;
        lane_fini(&d->in);
        lane_fini(&d->out);
        ao_deactivate(&d->ao);
        ao_fini(&d->ao);
        assert(slab_taken(&d->asks) == 0);
        slab_fini(&d->asks);
        free(d);
    }
    l->doors = NULL;
}
