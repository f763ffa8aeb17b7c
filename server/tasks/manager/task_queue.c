#include "server/tasks/manager/task_queue.h"

#include <stdlib.h>

#include "server/accounts/tally.h"
#include "server/runtime/object/object.h"

enum {
    LINES_LEAST = 64,
    SERVICE_LEAST_NS = 1000 /* what a task costs its line at the least, or unmeasured */
};
#define SERVICE_MOST                                                                               \
    AO_S(1) /* the same at the most; a stepped one holds nobody up for longer                      \
             * than its quantum */

/* --- One after the other --- */

static void append(struct fifo *f, struct task *t)
{
    t->next = NULL;
    if (f->first)
        f->last->next = t;
    else
        f->first = t;
    f->last = t;
}

static void prepend(struct fifo *f, struct task *t)
{
    if (!f->first)
        f->last = t;
    t->next = f->first;
    f->first = t;
}

static struct task *take(struct fifo *f)
{
    struct task *t = f->first;
    f->first = t->next;
    return t;
}

static void join(struct fifo *front, const struct fifo *rest)
{
    if (!front->first)
        *front = *rest;
    else if (rest->first) {
        front->last->next = rest->first;
        front->last = rest->last;
    }
}

static struct task *first_of(const struct task_row *w)
{
    return w->kept.first ? w->kept.first : w->rest.first;
}

static void come_last(struct task_row *w, struct task *t)
{
    append(&w->rest, t);
    w->length++;
}

static struct task *take_first(struct task_row *w)
{
    w->length--;
    if (w->kept.first)
        return take(&w->kept);
    w->left -= w->left > 0;
    return take(&w->rest);
}

/* --- Whose turn it is --- */

static bool is_before(const struct task_line *a, const struct task_line *b)
{
    return a->start != b->start ? a->start < b->start : a->order < b->order;
}

static bool heap_before(const struct task_queue *q, uint32_t a, uint32_t b)
{
    return is_before(&q->lines[q->heap[a]], &q->lines[q->heap[b]]);
}

static void heap_swap(struct task_queue *q, uint32_t a, uint32_t b)
{
    uint32_t index = q->heap[a];
    q->heap[a] = q->heap[b];
    q->heap[b] = index;
}

static void heap_rise(struct task_queue *q, uint32_t at)
{
    for (; at > 0 && heap_before(q, at, (at - 1) / 2); at = (at - 1) / 2)
        heap_swap(q, at, (at - 1) / 2);
}

static void heap_sink(struct task_queue *q, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < q->heap_count && heap_before(q, child, least))
                least = child;
        if (least == at)
            return;
        heap_swap(q, at, least);
        at = least;
    }
}

/* Lines that were set aside are behind the heap: the first of them makes room. */
static void heap_add(struct task_queue *q, uint32_t index)
{
    q->heap[q->heap_count + q->aside] = q->heap[q->heap_count];
    q->heap[q->heap_count] = index;
    heap_rise(q, q->heap_count++);
}

/* The first goes to the end, outside of the heap. */
static void heap_take(struct task_queue *q)
{
    heap_swap(q, 0, --q->heap_count);
    heap_sink(q, 0);
}

/* --- The lines --- */

static void make_room(struct task_queue *q, uint32_t index)
{
    size_t room = q->line_room ? q->line_room : LINES_LEAST;
    while (room <= index)
        room *= 2;
    struct task_line *lines = realloc(q->lines, room * sizeof *lines);
    if (!lines)
        return;
    q->lines = lines;
    uint32_t *heap = realloc(q->heap, room * sizeof *heap);
    if (!heap)
        return;
    q->heap = heap;
    memset(lines + q->line_room, 0, (room - q->line_room) * sizeof *lines);
    q->line_room = (uint32_t)room;
}

static struct task_line *line_of(struct task_queue *q, const struct task *t)
{
    if (!t->tally)
        return &q->nobody;
    const struct account *a = t->tally->account;
    if (a->index >= q->line_room)
        make_room(q, a->index);
    if (a->index >= q->line_room)
        return &q->nobody;
    struct task_line *line = &q->lines[a->index];
    if (line->whose != a && line->tasks.length == 0)
        *line = (struct task_line){.whose = a};
    return line;
}

/* Its first task is another one. */
static void begin_turn(struct task_queue *q, struct task_line *line)
{
    line->start = line->finish > q->now ? line->finish : q->now;
    line->order = q->orders++;
}

static struct task_line *next_line(const struct task_queue *q)
{
    struct task_line *nobody =
        q->nobody.tasks.length > 0 && !q->nobody_aside ? (struct task_line *)&q->nobody : NULL;
    struct task_line *first = q->heap_count > 0 ? &q->lines[q->heap[0]] : NULL;
    return !first || (nobody && is_before(nobody, first)) ? nobody : first;
}

static uint64_t cost_of(const struct task *t)
{
    uint64_t service = atomic_load_explicit(&t->method->service_ns, memory_order_relaxed);
    uint64_t most = t->method->handler->kind == ERGON_STEPPED ? BEHIND_QUANTUM : SERVICE_MOST;
    return service < SERVICE_LEAST_NS ? SERVICE_LEAST_NS : service > most ? most : service;
}

static struct task *take_from(struct task_queue *q, struct task_line *line)
{
    struct task *t = take_first(&line->tasks);
    q->now = line->start;
    line->finish = line->start + line->debt + cost_of(t);
    line->debt = 0;
    if (line->tasks.length > 0)
        begin_turn(q, line);
    if (line == &q->nobody)
        return t;
    if (line->tasks.length > 0)
        heap_sink(q, 0);
    else if (heap_take(q), q->aside > 0) /* closes the gap to those set aside */
        q->heap[q->heap_count] = q->heap[q->heap_count + q->aside];
    return t;
}

/* A nested call goes before all, and the line of its principal pays for it: the next task of that
 * line comes later by its cost. */
static void charge_nested(struct task_queue *q, const struct task *t)
{
    if (!t->tally)
        return;
    struct task_line *line = line_of(q, t);
    if (line->tasks.length > 0)
        line->debt += cost_of(t);
    else
        line->finish = (line->finish > q->now ? line->finish : q->now) + cost_of(t);
}

/* --- The queue --- */

void task_queue_fini(struct task_queue *q)
{
    assert(q->length == 0);
    free(q->lines);
    free(q->heap);
    *q = (struct task_queue){0};
}

void task_queue_push(struct task_queue *q, struct task *t)
{
    assert(t->owner == TASK_OF_MANAGER);
    q->length++;
    if (t->depth > 0) {
        come_last(&q->nested, t);
        return;
    }
    struct task_line *line = line_of(q, t);
    come_last(&line->tasks, t);
    if (line->tasks.length > 1)
        return;
    begin_turn(q, line);
    if (line != &q->nobody)
        heap_add(q, (uint32_t)(line - q->lines));
}

void task_queue_push_front(struct task_queue *q, struct task *t)
{
    assert(t->owner == TASK_OF_MANAGER);
    struct task_row *w = t->depth > 0 ? &q->nested : &q->again;
    prepend(&w->kept, t);
    w->length++;
    q->length++;
}

struct task *task_queue_first(const struct task_queue *q)
{
    if (q->nested.length > 0)
        return first_of(&q->nested);
    if (q->again.length > 0 && !q->again_aside)
        return first_of(&q->again);
    const struct task_line *line = next_line(q);
    return line ? first_of(&line->tasks) : NULL;
}

struct task *task_queue_pop(struct task_queue *q)
{
    struct task_line *line = NULL;
    if (q->nested.length == 0 && (q->again.length == 0 || q->again_aside) && !(line = next_line(q)))
        return NULL;
    q->length--;
    if (line)
        return take_from(q, line);
    if (q->nested.length == 0)
        return take_first(&q->again);
    struct task *t = take_first(&q->nested);
    charge_nested(q, t);
    return t;
}

const struct task *task_queue_look(const struct task_queue *q, uint32_t n)
{
    if (n < q->heap_count + q->aside)
        return first_of(&q->lines[q->heap[n]].tasks);
    return n == q->heap_count + q->aside ? first_of(&q->nobody.tasks) : NULL;
}

void task_queue_set_aside(struct task_queue *q)
{
    assert(q->nested.length == 0);
    if (q->again.length > 0 && !q->again_aside) {
        q->again_aside = true;
        return;
    }
    const struct task_line *line = next_line(q);
    if (line == &q->nobody) {
        q->nobody_aside = true;
    } else if (line) {
        heap_take(q);
        q->aside++;
    }
}

void task_queue_bring_back(struct task_queue *q)
{
    q->again_aside = q->nobody_aside = false;
    for (; q->aside > 0; q->aside--)
        heap_rise(q, q->heap_count++);
}

/* --- What nobody wants any more --- */

/* What it is at: these, then the lines by index. */
enum { SWEEP_NONE, SWEEP_NESTED, SWEEP_AGAIN, SWEEP_NOBODY, SWEEP_LINES };

/* NULL: it has been everywhere. */
static struct task_row *swept(struct task_queue *q)
{
    switch (q->sweep_next) {
    case SWEEP_NESTED:
        return &q->nested;
    case SWEEP_AGAIN:
        return &q->again;
    case SWEEP_NOBODY:
        return &q->nobody.tasks;
    default:
        return q->sweep_next - SWEEP_LINES < q->line_room
                   ? &q->lines[q->sweep_next - SWEEP_LINES].tasks
                   : NULL;
    }
}

static void enter(struct task_queue *q, struct task_row *w)
{
    join(&w->kept, &w->rest);
    w->rest = w->kept;
    w->kept = (struct fifo){0};
    w->left = w->length;
    q->sweep_inside = true;
}

/* Returns how many it looked at. */
static uint32_t look(struct task_queue *q, struct task_row *w, uint32_t most, struct fifo *out)
{
    uint32_t count = 0;
    for (; w->left > 0 && count < most; count++) {
        struct task *t = take(&w->rest);
        bool flagged = task_flagged(t) != 0;
        append(flagged ? out : &w->kept, t);
        w->left--;
        w->length -= flagged;
        q->length -= flagged;
    }
    return count;
}

/* Lines that are empty now have no turn, and are not aside.  All are looked at, so a step of the
 * sweep does this once, however many it has emptied. */
static void drop_empty(struct task_queue *q)
{
    uint32_t turns = 0, stay = 0;
    for (uint32_t at = 0; at < q->heap_count + q->aside; at++) {
        if (q->lines[q->heap[at]].tasks.length == 0)
            continue;
        turns += at < q->heap_count;
        q->heap[stay++] = q->heap[at];
    }
    q->heap_count = turns;
    q->aside = stay - turns;
    for (uint32_t at = turns / 2; at > 0; at--)
        heap_sink(q, at - 1);
}

static void leave(struct task_queue *q, struct task_row *w)
{
    join(&w->kept, &w->rest);
    w->rest = w->kept;
    w->kept = (struct fifo){0};
    q->again_aside &= q->again.length > 0;
    q->nobody_aside &= q->nobody.tasks.length > 0;
    q->sweep_inside = false;
    q->sweep_next++;
}

void task_queue_begin_sweep(struct task_queue *q)
{
    if (q->sweep_next == SWEEP_NONE)
        q->sweep_next = SWEEP_NONE + 1;
}

bool task_queue_sweeping(const struct task_queue *q)
{
    return q->sweep_next != SWEEP_NONE;
}

struct task *task_queue_sweep(struct task_queue *q, uint32_t most)
{
    struct fifo out = {0};
    bool emptied = false;
    for (uint32_t count = 0; count < most && task_queue_sweeping(q); count++) {
        struct task_row *w = swept(q);
        if (!w) {
            q->sweep_next = SWEEP_NONE;
            break;
        }
        if (!q->sweep_inside)
            enter(q, w);
        count += look(q, w, most - count, &out);
        emptied |= w->length == 0;
        if (w->left == 0)
            leave(q, w);
    }
    if (emptied)
        drop_empty(q);
    return out.first;
}
