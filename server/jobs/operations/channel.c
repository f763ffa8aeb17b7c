#include "server/jobs/operations/channel.h"

#include <assert.h>
#include <stdlib.h>

#include "base/prefetch.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"

enum {
    LANE = 1024,
    BUDGET = 64,        /* items that a loop takes back in a step */
    ITEM_WORK = 10,     /* for each item, beside what its class counts; see jobs_worked() */
    SERVED_WORK = 2500, /* for all items of a step */
    BYTES_A_PIECE = 64  /* of an answer, which was packed and is copied by the loop */
};

struct jobs_channel {
    struct jobs_channel *next; /* all */
    struct jobs *jobs;
    struct lane in;    /* from the loop */
    struct lane out;   /* to the loop */
    struct ao ao;      /* the loop's */
    struct slab cells; /* the loop's */
    struct channel_port port;
    bool over; /* the loop has stopped for good */
};

static struct operation_item *item_of(struct lane_item *item)
{
    return ao_of(item, struct operation_item, item);
}

static struct operation *operation_of(struct operation_item *item)
{
    if (item->kind == ITEM_PUSH)
        return ao_of(item, struct operation, push.item);
    return item->kind == ITEM_DROP ? ao_of(item, struct operation, drop)
                                   : ao_of(item, struct operation, item);
}

/* --- The loop's side --- */

static void came_back(struct jobs_channel *ch, struct operation *op)
{
    if (!op->answered || (op->gone && !op->dropped_back))
        return;
    assert(op->channel == ch && !op->waiting.held && !op->waiting.at);
    ch->port.answered(ch->port.arg, op);
}

/* A dropped operation gets no push any more, and its class does not wait for this one. */
static void take_push(struct jobs_channel *ch, struct operation *op)
{
    assert(op->push.events);
    if (!op->gone)
        ch->port.pushed(ch->port.arg, op);
    blob_unref(op->push.events);
    op->push.events = NULL;
    if (!op->gone && !ch->over)
        lane_push(&ch->in, &op->push.item.item);
}

static void receive(struct jobs_channel *ch, struct operation_item *item)
{
    struct operation *op = operation_of(item);
    switch ((int)item->kind) {
    case ITEM_PUSH:
        take_push(ch, op);
        return;
    case ITEM_DROP:
        assert(op->gone && !op->dropped_back);
        op->dropped_back = true;
        break;
    default:
        assert(!op->answered); /* each operation is answered once */
        op->answered = true;
        break;
    }
    came_back(ch, op);
}

static enum ao_verdict channel_step(struct ao *self)
{
    struct jobs_channel *ch = ao_of(self, struct jobs_channel, ao);
    int budget = BUDGET;
    for (; budget > 0; budget--) {
        struct lane_item *item = lane_take(&ch->out);
        if (!item)
            break;
        receive(ch, item_of(item));
    }
    lane_release(&ch->out);
    return budget > 0 ? AO_DONE : AO_AGAIN;
}

static const struct ao_class channel_class = {.name = "jobs channel", .step = channel_step};

struct jobs_channel *channel_open(struct jobs *jobs, struct activator *loop,
                                  const struct channel_port *port)
{
    struct jobs_channel *ch = aligned_alloc(_Alignof(struct jobs_channel), sizeof *ch);
    if (!ch)
        return NULL;
    *ch = (struct jobs_channel){.jobs = jobs, .port = *port};
    ao_init(&ch->ao, &channel_class, loop);
    slab_init(&ch->cells, sizeof(struct operation), SLAB_KEPT);
    if (lane_init(&ch->in, LANE, loop, &jobs->ao) != 0)
        goto no_in;
    if (lane_init(&ch->out, LANE, jobs->activator, &ch->ao) != 0)
        goto no_out;
    ch->next = jobs->channels;
    jobs->channels = ch;
    return ch;
no_out:
    lane_fini(&ch->in);
no_in:
    ao_fini(&ch->ao);
    free(ch);
    return NULL;
}

struct slab *channel_cells(struct jobs_channel *ch)
{
    return &ch->cells;
}

void channel_give(struct jobs_channel *ch, struct operation *op)
{
    assert(!op->channel && (!op->cells || op->cells == &ch->cells));
    op->item.kind = ITEM_OPERATION;
    op->channel = ch;
    lane_push(&ch->in, &op->item.item);
}

void channel_drop(struct jobs_channel *ch, struct operation *op)
{
    assert(!op->gone && !op->answered);
    op->gone = true;
    op->drop.kind = ITEM_DROP;
    lane_push(&ch->in, &op->drop.item);
}

/* --- The jobs' side --- */

/* False: it is not done yet.  True: the operation may have been returned. */
static bool serve_item(struct jobs *jobs, struct operation_item *item)
{
    struct operation *op = operation_of(item);
    if (item->kind == ITEM_OPERATION && op->cls->serve_part)
        return op->cls->serve_part(jobs, op);
    if (item->kind == ITEM_OPERATION) {
        op->cls->serve(jobs, op);
        return true;
    }
    if (item->kind == ITEM_PUSH) {
        assert(op->waiting.held); /* it is not answered before its push is back */
        op->cls->push_taken(jobs, op);
        return true;
    }
    if (op->waiting.held) /* else it is on its way back, or will be when a write has come back */
        op->cls->dropped(jobs, op);
    else if (op->cls->answer_dropped)
        op->cls->answer_dropped(jobs, op);
    lane_push(&op->channel->out, &item->item);
    return true;
}

/* Moves all items of a channel into the queues of their principals.  The drop and the pushes of an
 * operation use the operation's own queue, so they are served after it.  True: the lane is empty.
 */
static bool sort_items(struct jobs *jobs, struct jobs_channel *ch)
{
    struct lane_item *item = NULL;
    for (uint32_t i = 0; i < LANE && (item = lane_take(&ch->in)); i++) {
        struct operation *op = operation_of(item_of(item));
        assert(op->channel == ch);
        op->turn_queue = turns_push(&jobs->turns, op->turn_queue, item_of(item));
    }
    lane_release(&ch->in);
    return !item;
}

static bool sort_all(struct jobs *jobs)
{
    bool all = true;
    for (struct jobs_channel *ch = jobs->channels; ch; ch = ch->next)
        all &= sort_items(jobs, ch);
    return all;
}

/* Of the item of an operation, or NULL. */
static void operation_near(const struct operation_item *item)
{
    enum { ARGUMENTS = 448 /* those of most are no longer */ };
    const struct operation *op = (const struct operation *)(const void *)item;
    if (!op)
        return;
    prefetch(op, OPERATION_BUSY);
    prefetch((const uint8_t *)op + offsetof(struct operation, submission), PREFETCH_LINE);
    prefetch((const uint8_t *)op + offsetof(struct operation, room), ARGUMENTS);
}

static void nears(struct jobs *jobs, struct operation_item *item)
{
    struct operation *op = operation_of(item);
    if (item->kind == ITEM_OPERATION && op->cls->nears)
        op->cls->nears(jobs, op);
}

/* The loops wrote operations some time ago, in memory that no cache may have any more: each comes
 * near while three others are served, and then what it is about. */
static void look_ahead(struct jobs *jobs)
{
    struct operation_item *next = turns_next(&jobs->turns), *then = next ? next->next : NULL;
    if (next)
        nears(jobs, next);
    if (!then)
        return;
    nears(jobs, then);
    operation_near(then->next);
}

bool channels_take(struct jobs *jobs, served_fn *served)
{
    struct operation_item *item;
    bool all = sort_all(jobs);
    while (jobs->work < SERVED_WORK && (item = turns_take(&jobs->turns))) {
        uint32_t before = jobs->work;
        jobs_worked(jobs, ITEM_WORK);
        look_ahead(jobs);
        if (!serve_item(jobs, item))
            turns_put_back(&jobs->turns, item);
        served(jobs);
        turns_charge(&jobs->turns, jobs->work - before);
    }
    return all && turns_empty(&jobs->turns);
}

/* --- Put aside --- */

static void unlink_postponed(struct operation *op)
{
    struct waiters_due *link = &op->waiting.due;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    *link = (struct waiters_due){0};
    op->waiting.postponed = false;
}

void channel_postpone(struct jobs *jobs, struct operation *op)
{
    struct waiters_due *head = &jobs->postponed, *link = &op->waiting.due;
    assert(!op->begun && !op->waiting.held && !link->next);
    *link = (struct waiters_due){.prev = head->prev, .next = head};
    link->prev->next = link->next->prev = link;
    op->waiting.postponed = true;
}

void channels_resume(struct jobs *jobs)
{
    while (jobs->postponed.next != &jobs->postponed) {
        struct operation *op = ao_of(jobs->postponed.next, struct operation, waiting.due);
        unlink_postponed(op);
        op->turn_queue = turns_push(&jobs->turns, op->turn_queue, &op->item);
    }
}

void channel_serve_again(struct jobs *jobs, struct operation *op)
{
    op->turn_queue = turns_push(&jobs->turns, op->turn_queue, &op->item);
    jobs_activate(jobs);
}

/* False: it is to be served as usual. */
static bool meet(struct jobs *jobs, struct operation_item *item, meets_fn *meets)
{
    struct operation *op = operation_of(item);
    if (item->kind == ITEM_OPERATION)
        return !op->begun && meets(jobs, op);
    if (item->kind != ITEM_DROP || !op->waiting.postponed)
        return false;
    unlink_postponed(op);
    op->reply.error = ERGON_E_CANCELLED;
    channel_return(op);
    lane_push(&op->channel->out, &item->item);
    return true;
}

bool channels_meet(struct jobs *jobs, served_fn *served, meets_fn *meets)
{
    struct operation_item *item;
    bool all = sort_all(jobs);
    while (jobs->work < SERVED_WORK && (item = turns_take(&jobs->turns))) {
        uint32_t before = jobs->work;
        jobs_worked(jobs, ITEM_WORK);
        if (!meet(jobs, item, meets) && !serve_item(jobs, item))
            turns_put_back(&jobs->turns, item);
        served(jobs);
        turns_charge(&jobs->turns, jobs->work - before);
    }
    return all && turns_empty(&jobs->turns);
}

/* --- The end --- */

static bool complete(void *arg, struct operation_item *item)
{
    struct jobs *jobs = arg;
    const struct operation *op = operation_of(item);
    if (item->kind != ITEM_OPERATION || !op->begun)
        return false;
    while (!serve_item(jobs, item))
        ;
    return true;
}

void channels_complete(struct jobs *jobs)
{
    turns_sift(&jobs->turns, complete, jobs);
}

struct jobs *channel_jobs(const struct jobs_channel *ch)
{
    return ch->jobs;
}

void channel_return(struct operation *op)
{
    jobs_worked(op->channel->jobs, pack_size(&op->reply.result) / BYTES_A_PIECE);
    op->item.kind = ITEM_OPERATION;
    lane_push(&op->channel->out, &op->item.item);
}

void channel_push(struct operation *op)
{
    assert(op->push.events && op->waiting.held && op->cls->push_taken);
    op->push.item.kind = ITEM_PUSH;
    lane_push(&op->channel->out, &op->push.item.item);
}

/* The answer to a watcher is held while its last push is under way, and given once the loop has
 * taken that push. */
static void flush_item(struct jobs_channel *ch, struct operation_item *item, bool in)
{
    struct operation *op = operation_of(item);
    bool push = item->kind == ITEM_PUSH, operation = item->kind == ITEM_OPERATION;
    if (push && !in)
        take_push(ch, op);
    if (!operation && !op->push.events && op->waiting.held && !op->waiting.at) {
        op->waiting.held = false;
        op->answered = true;
    }
    if (operation && in)
        op->reply.error = ERGON_E_DRAINING;
    if (push)
        came_back(ch, op);
    else
        receive(ch, item);
}

/* Hands each item of the lane to its loop, as if the loop had taken it.  `in`: it is the lane from
 * the loop. */
static void flush_lane(struct jobs_channel *ch, struct lane *lane, bool in)
{
    struct lane_item *item;
    bool all;
    do {
        all = lane_flush(lane);
        while ((item = lane_take(lane)))
            flush_item(ch, item_of(item), in);
        lane_release(lane);
    } while (!all);
}

void channels_flush(struct jobs *jobs)
{
    struct operation_item *item;
    for (struct jobs_channel *ch = jobs->channels; ch; ch = ch->next)
        ch->over = true;
    channels_resume(jobs);
    while ((item = turns_take(&jobs->turns))) {
        flush_item(operation_of(item)->channel, item, true);
        turns_charge(&jobs->turns, 0);
    }
    for (struct jobs_channel *ch = jobs->channels; ch; ch = ch->next) {
        flush_lane(ch, &ch->in, true);
        flush_lane(ch, &ch->out, false);
    }
}

void channels_free(struct jobs *jobs)
{
    struct jobs_channel *next;
    for (struct jobs_channel *ch = jobs->channels; ch; ch = next) {
        next = ch->next;
        lane_fini(&ch->in);
        lane_fini(&ch->out);
        ao_deactivate(&ch->ao);
        ao_fini(&ch->ao);
        assert(slab_taken(&ch->cells) == 0);
        slab_fini(&ch->cells);
        free(ch);
    }
    jobs->channels = NULL;
    turns_fini(&jobs->turns);
}
