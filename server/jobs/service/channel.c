/* A loop's door: two lanes, and on the loop an object that takes what comes back.
 *
 * An operation goes in and comes back once.  One that is dropped is followed by its drop, which
 * comes back too; the loop is told when both have, for then nothing refers to the operation. */
#include <assert.h>
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"

enum {
    DOOR_LANE = 1024,
    DOOR_BUDGET = 64 /* items of one door, a step; each order of a submission counts */
};

struct jobs_channel {
    struct jobs_channel *next; /* all */
    struct jobs *jobs;
    struct lane in;   /* from the loop */
    struct lane out;  /* to the loop */
    struct ao ao;     /* the loop's */
    struct slab asks; /* the loop's */
    void (*answered)(void *arg, struct operation *op);
    void (*pushed)(void *arg, struct operation_push *p);
    void *arg;
};

static struct operation_item *item_of(struct lane_item *item)
{
    return ao_of(item, struct operation_item, item);
}

static struct operation *ask_of(struct operation_item *item)
{
    return item->kind == ITEM_DROP ? ao_of(item, struct operation, drop)
                                   : ao_of(item, struct operation, item);
}

/* --- The loop's side --- */

static void came_back(struct jobs_channel *d, struct operation *op)
{
    if (op->answered && (!op->gone || op->dropped_back))
        d->answered(d->arg, op);
}

static void receive(struct jobs_channel *d, struct operation_item *item)
{
    struct operation *op;
    switch ((int)item->kind) {
    case ITEM_PUSH:
        d->pushed(d->arg, ao_of(item, struct operation_push, item));
        return;
    case ITEM_DROP:
        op = ask_of(item);
        op->dropped_back = true;
        break;
    default:
        op = ask_of(item);
        op->answered = true;
        break;
    }
    came_back(d, op);
}

static enum ao_verdict door_step(struct ao *self)
{
    struct jobs_channel *d = ao_of(self, struct jobs_channel, ao);
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

struct jobs_channel *jobs_channel_open(struct jobs *jobs, struct activator *loop,
                                       void (*answered)(void *arg, struct operation *op),
                                       void (*pushed)(void *arg, struct operation_push *p),
                                       void *arg)
{
    struct jobs_channel *d = aligned_alloc(_Alignof(struct jobs_channel), sizeof *d);
    if (!d)
        return NULL;
    *d = (struct jobs_channel){.jobs = jobs, .answered = answered, .pushed = pushed, .arg = arg};
    ao_init(&d->ao, &door_class, loop);
    slab_init(&d->asks, sizeof(struct operation), SLAB_KEPT);
    if (lane_init(&d->in, DOOR_LANE, loop, &jobs->ao) != 0)
        goto no_in;
    if (lane_init(&d->out, DOOR_LANE, jobs->activator, &d->ao) != 0)
        goto no_out;
    d->next = jobs->doors;
    jobs->doors = d;
    return d;
no_out:
    lane_fini(&d->in);
no_in:
    ao_fini(&d->ao);
    free(d);
    return NULL;
}

struct slab *jobs_operations(struct jobs_channel *d)
{
    return &d->asks;
}

void jobs_give(struct jobs_channel *d, struct operation *op)
{
    op->item.kind = ITEM_OPERATION;
    op->door = d;
    lane_push(&d->in, &op->item.item);
}

void jobs_drop(struct jobs_channel *d, struct operation *op)
{
    assert(!op->gone && !op->answered);
    op->gone = true;
    op->drop.kind = ITEM_DROP;
    lane_push(&d->in, &op->drop.item);
}

/* --- The ledger's side --- */

/* How much of the budget it took. */
static uint32_t serve_item(struct jobs *jobs, struct jobs_channel *d, struct operation_item *item)
{
    struct operation *op = ask_of(item);
    if (item->kind == ITEM_OPERATION) {
        uint32_t orders = op->spec_count; /* the operation may be gone afterwards */
        operation_serve(jobs, op);
        return orders > 0 ? orders : 1;
    }
    if (op->held) /* else it is on its way back, or waits for the store, and comes by itself */
        wait_dropped(jobs, op);
    lane_push(&d->out, &item->item);
    return 1;
}

static bool door_take(struct jobs *jobs, struct jobs_channel *d)
{
    uint32_t done = 0;
    while (done < DOOR_BUDGET) {
        struct lane_item *item = lane_take(&d->in);
        if (!item)
            break;
        done += serve_item(jobs, d, item_of(item));
    }
    lane_release(&d->in);
    return done < DOOR_BUDGET;
}

bool channels_take(struct jobs *jobs)
{
    bool empty = true;
    for (struct jobs_channel *d = jobs->doors; d; d = d->next)
        empty &= door_take(jobs, d);
    return empty;
}

void channel_return(struct operation *op)
{
    op->item.kind = ITEM_OPERATION;
    lane_push(&op->door->out, &op->item.item);
}

void channel_push(struct operation *op, struct operation_push *push)
{
    push->item.kind = ITEM_PUSH;
    lane_push(&op->door->out, &push->item.item);
}

/* What is on its way belongs to the loops, which are told as ever; `in`: from the loop. */
static void flush_lane(struct jobs_channel *d, struct lane *lane, bool in)
{
    struct lane_item *item;
    bool all;
    do {
        all = lane_flush(lane);
        while ((item = lane_take(lane))) {
            struct operation_item *it = item_of(item);
            if (in && it->kind == ITEM_OPERATION)
                ask_of(it)->error = ERGON_E_DRAINING;
            receive(d, it);
        }
        lane_release(lane);
    } while (!all);
}

void channels_flush(struct jobs *jobs)
{
    for (struct jobs_channel *d = jobs->doors; d; d = d->next) {
        flush_lane(d, &d->in, true);
        flush_lane(d, &d->out, false);
    }
}

void channels_free(struct jobs *jobs)
{
    struct jobs_channel *next;
    for (struct jobs_channel *d = jobs->doors; d; d = next) {
        next = d->next;
        lane_fini(&d->in);
        lane_fini(&d->out);
        ao_deactivate(&d->ao);
        ao_fini(&d->ao);
        assert(slab_taken(&d->asks) == 0);
        slab_fini(&d->asks);
        free(d);
    }
    jobs->doors = NULL;
}
