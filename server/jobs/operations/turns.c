#include "server/jobs/operations/turns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "server/jobs/operations/operation.h"

enum { WORK_MAX = 1 << 20 };

static struct turn_line *line_of(struct turns *t, uint32_t line)
{
    return line == 0 ? &t->nobody : &t->lines[line - 1];
}

void turns_fini(struct turns *t)
{
    assert(turns_empty(t));
    free(t->lines);
    *t = (struct turns){0};
}

bool turns_empty(const struct turns *t)
{
    return t->waiting == 0;
}

/* Makes room for this queue.  False: no memory. */
static bool reach(struct turns *t, uint32_t line)
{
    if (line <= t->room)
        return true;
    struct turn_line *lines = grow_array(t->lines, &t->room, line - 1, sizeof *lines);
    if (!lines)
        return false;
    t->lines = lines;
    return true;
}

/* Appends a queue to those that take turns, and grants it one turn's work. */
static void stand_last(struct turns *t, uint32_t line)
{
    struct turn_line *l = line_of(t, line);
    assert(!l->waits && l->first);
    if (t->waiting == 0)
        t->first = line;
    else
        line_of(t, t->last)->next = line;
    t->last = line;
    t->waiting++;
    l->waits = true;
    l->left += TURN_WORK;
}

static void leave(struct turns *t)
{
    struct turn_line *l = line_of(t, t->first);
    assert(l->waits && t->waiting > 0);
    t->first = l->next;
    t->waiting--;
    l->waits = false;
}

uint32_t turns_push(struct turns *t, uint32_t line, struct operation_item *item)
{
    if (!reach(t, line))
        line = 0;
    struct turn_line *l = line_of(t, line);
    item->next = NULL;
    *(l->first ? &l->last->next : &l->first) = item;
    l->last = item;
    if (!l->waits)
        stand_last(t, line);
    return line;
}

/* Queues in debt go to the end until one has work left.  A queue that is alone owes no other, so
 * its debt is forgiven. */
static struct turn_line *whose_turn(struct turns *t)
{
    struct turn_line *l;
    while ((l = line_of(t, t->first))->left <= 0 && t->waiting > 1) {
        uint32_t line = t->first;
        leave(t);
        stand_last(t, line);
    }
    if (l->left <= 0)
        l->left = TURN_WORK;
    return l;
}

struct operation_item *turns_take(struct turns *t)
{
    if (t->waiting == 0)
        return NULL;
    struct turn_line *l = whose_turn(t);
    struct operation_item *item = l->first;
    assert(item);
    l->first = item->next;
    return item;
}

void turns_put_back(struct turns *t, struct operation_item *item)
{
    struct turn_line *l = line_of(t, t->first);
    assert(l->waits); /* turns_take() leaves its queue first until it is charged */
    item->next = l->first;
    if (!l->first)
        l->last = item;
    l->first = item;
}

/* A queue that is empty now leaves without its debt, which is at most that of one operation. */
void turns_charge(struct turns *t, uint32_t work)
{
    struct turn_line *l = line_of(t, t->first);
    assert(t->waiting > 0 && l->left > 0);
    l->left -= (int32_t)(work < WORK_MAX ? work : WORK_MAX);
    if (l->first)
        return;
    leave(t);
    l->left = 0;
}

void turns_sift(struct turns *t, bool (*takes)(void *arg, struct operation_item *item), void *arg)
{
    for (uint32_t n = t->waiting; n > 0; n--) {
        uint32_t line = t->first;
        struct turn_line *l = line_of(t, line);
        struct operation_item *item = l->first, *next = item->next;
        if (takes(arg, item))
            l->first = next;
        leave(t);
        if (l->first)
            stand_last(t, line);
        else
            l->left = 0;
    }
}
