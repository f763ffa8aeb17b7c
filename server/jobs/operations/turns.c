#include "server/jobs/operations/turns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "server/jobs/operations/operation.h"

enum { WORK_MAX = 1 << 20 };

static struct turn_queue *queue_of(struct turns *t, uint32_t queue)
{
    return queue == 0 ? &t->shared : &t->queues[queue - 1];
}

void turns_fini(struct turns *t)
{
    assert(turns_empty(t));
    free(t->queues);
    *t = (struct turns){0};
}

bool turns_empty(const struct turns *t)
{
    return t->waiting == 0;
}

/* Makes room for this queue.  False: no memory. */
static bool reach(struct turns *t, uint32_t queue)
{
    if (queue <= t->room)
        return true;
    struct turn_queue *queues = grow_array(t->queues, &t->room, queue - 1, sizeof *queues);
    if (!queues)
        return false;
    t->queues = queues;
    return true;
}

/* Appends a queue to those that take turns, and grants it one turn's work. */
static void append_queue(struct turns *t, uint32_t queue)
{
    struct turn_queue *q = queue_of(t, queue);
    assert(!q->waits && q->first);
    if (t->waiting == 0)
        t->first = queue;
    else
        queue_of(t, t->last)->next = queue;
    t->last = queue;
    t->waiting++;
    q->waits = true;
    q->left += TURN_WORK;
}

static void leave(struct turns *t)
{
    struct turn_queue *q = queue_of(t, t->first);
    assert(q->waits && t->waiting > 0);
    t->first = q->next;
    t->waiting--;
    q->waits = false;
}

uint32_t turns_push(struct turns *t, uint32_t queue, struct operation_item *item)
{
    if (!reach(t, queue))
        queue = 0;
    struct turn_queue *q = queue_of(t, queue);
    item->next = NULL;
    *(q->first ? &q->last->next : &q->first) = item;
    q->last = item;
    if (!q->waits)
        append_queue(t, queue);
    return queue;
}

/* Queues in debt go to the end until one has work left.  A queue that is alone owes no other, so
 * its debt is forgiven. */
static struct turn_queue *next_queue(struct turns *t)
{
    struct turn_queue *q;
    while ((q = queue_of(t, t->first))->left <= 0 && t->waiting > 1) {
        uint32_t queue = t->first;
        leave(t);
        append_queue(t, queue);
    }
    if (q->left <= 0)
        q->left = TURN_WORK;
    return q;
}

struct operation_item *turns_take(struct turns *t)
{
    if (t->waiting == 0)
        return NULL;
    struct turn_queue *q = next_queue(t);
    struct operation_item *item = q->first;
    assert(item);
    q->first = item->next;
    return item;
}

struct operation_item *turns_next(struct turns *t)
{
    return t->waiting > 0 ? queue_of(t, t->first)->first : NULL;
}

void turns_put_back(struct turns *t, struct operation_item *item)
{
    struct turn_queue *q = queue_of(t, t->first);
    assert(q->waits); /* turns_take() leaves its queue first until it is charged */
    item->next = q->first;
    if (!q->first)
        q->last = item;
    q->first = item;
}

/* A queue that is empty now leaves without its debt, which is at most that of one operation. */
void turns_charge(struct turns *t, uint32_t work)
{
    struct turn_queue *q = queue_of(t, t->first);
    assert(t->waiting > 0 && q->left > 0);
    q->left -= (int32_t)(work < WORK_MAX ? work : WORK_MAX);
    if (q->first)
        return;
    leave(t);
    q->left = 0;
}

void turns_sift(struct turns *t, bool (*takes)(void *arg, struct operation_item *item), void *arg)
{
    for (uint32_t n = t->waiting; n > 0; n--) {
        uint32_t queue = t->first;
        struct turn_queue *q = queue_of(t, queue);
        struct operation_item *item = q->first, *next = item->next;
        if (takes(arg, item))
            q->first = next;
        leave(t);
        if (q->first)
            append_queue(t, queue);
        else
            q->left = 0;
    }
}
