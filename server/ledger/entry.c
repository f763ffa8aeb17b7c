#include "server/ledger/entry.h"

#include <assert.h>
#include <string.h>

#include "server/ledger/history.h"

void entry_push(struct entry_list *list, struct entry *e)
{
    assert(!e->list);
    e->list = list;
    e->prev = list->last;
    e->next = NULL;
    *(list->last ? &list->last->next : &list->first) = e;
    list->last = e;
    list->count++;
}

void entry_push_front(struct entry_list *list, struct entry *e)
{
    assert(!e->list);
    e->list = list;
    e->prev = NULL;
    e->next = list->first;
    *(list->first ? &list->first->prev : &list->last) = e;
    list->first = e;
    list->count++;
}

struct entry *entry_pop(struct entry_list *list)
{
    struct entry *e = list->first;
    if (e)
        entry_unlink(e);
    return e;
}

void entry_unlink(struct entry *e)
{
    struct entry_list *list = e->list;
    if (!list)
        return;
    *(e->prev ? &e->prev->next : &list->first) = e->next;
    *(e->next ? &e->next->prev : &list->last) = e->prev;
    list->count--;
    e->list = NULL;
    e->prev = e->next = NULL;
}

/* What malloc takes for so many bytes: its header, rounded. */
static size_t held(size_t bytes)
{
    enum { HEADER = 8, GRAIN = 16 };
    return bytes == 0 ? 0 : (bytes + HEADER + GRAIN - 1) / GRAIN * GRAIN;
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t more_bytes(const struct entry_more *more)
{
    if (!more)
        return 0;
    size_t sum = held(sizeof *more) + held(more->after_count * sizeof *more->after_ids) +
                 held(text_bytes(more->progress_text));
    for (const struct after_edge *edge = more->after; edge; edge = edge->next_of_waits)
        sum += held(sizeof *edge);
    return sum;
}

static size_t end_bytes(const struct entry_end *end)
{
    return end ? held(sizeof *end) + held(end->result ? end->result_len : 0) +
                     held(text_bytes(end->code) + text_bytes(end->text))
               : 0;
}

static size_t body_bytes(uint32_t len)
{
    return len <= ENTRY_BODY_IN_PLACE ? (size_t)entry_cells(len) * ENTRY_BODY_STEP : held(len);
}

size_t entry_bytes(const struct entry *e)
{
    return sizeof *e + body_bytes(e->body_len) + more_bytes(e->more) + end_bytes(e->end) +
           history_bytes(e);
}
