/* What the handlers of jobs say before they end, on its way to the source. */
#include <stdlib.h>

#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/tasks_parts.h"

enum { NOTES_MAX = 1 << 20 /* bytes of one attempt that nobody has taken yet */ };

struct note {
    struct mpsc_item item; /* first */
    struct task *task;     /* does not go home before the note is taken */
    bool partial;
    uint64_t done, total;
    uint32_t len;    /* of its text or data */
    uint8_t bytes[]; /* malloc'ed with the note */
};

static uint32_t size_of(const struct note *n)
{
    return (uint32_t)sizeof *n + n->len;
}

/* The first always fits. */
static bool count_in(struct attempt *attempt, uint32_t size)
{
    uint32_t before = atomic_fetch_add_explicit(&attempt->noted, size, memory_order_relaxed);
    if (before == 0 || before + size <= NOTES_MAX)
        return true;
    atomic_fetch_sub_explicit(&attempt->noted, size, memory_order_relaxed);
    return false;
}

bool attempt_post(struct task *t, const struct attempt_note *note)
{
    struct manager *m = &t->executor->tasks->manager;
    struct span bytes = note->partial ? note->data : note->text;
    if (bytes.len > m->tasks->plan.message_max || bytes.len > UINT32_MAX / 2)
        return false;
    struct note *n = malloc(sizeof *n + bytes.len);
    if (!n)
        return false;
    *n = (struct note){.task = t,
                       .partial = note->partial,
                       .done = note->done,
                       .total = note->total,
                       .len = (uint32_t)bytes.len};
    if (!count_in(t->attempt, size_of(n))) {
        free(n);
        return false;
    }
    if (bytes.len > 0)
        memcpy(n->bytes, bytes.at, bytes.len);
    if (mpsc_push(&m->notes, &n->item))
        manager_ask(m);
    return true;
}

static void tell(struct manager *m, const struct note *n)
{
    struct attempt *attempt = n->task->attempt;
    struct span bytes = span_of(n->bytes, n->len);
    struct attempt_note note = {.owner = attempt->owner,
                                .attempt = attempt->attempt,
                                .partial = n->partial,
                                .done = n->done,
                                .total = n->total};
    *(n->partial ? &note.data : &note.text) = bytes;
    atomic_fetch_sub_explicit(&attempt->noted, size_of(n), memory_order_relaxed);
    m->source.noted(m->source.arg, &note);
}

static struct note *note_of(struct mpsc_item *item)
{
    return ao_of(item, struct note, item);
}

void job_source_take_notes(struct manager *m)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&m->notes); item; item = next) {
        next = item->next;
        tell(m, note_of(item));
        free(note_of(item));
    }
}

void job_source_free_notes(struct manager *m)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&m->notes); item; item = next) {
        next = item->next;
        free(note_of(item));
    }
}
