/* What must be done first: an edge from who waits to each that is still open. */
#include <stdio.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

enum { RELEASE_BUDGET = 256 /* edges, and entries, a step */ };

static bool link_one(struct entry *e, struct entry *on)
{
    struct entry_more *of = ledger_more(on);
    struct after_edge *edge = of ? calloc(1, sizeof *edge) : NULL;
    if (!edge)
        return false;
    edge->waits = e;
    edge->on = on;
    edge->next_of_waits = e->more->after;
    e->more->after = edge;
    edge->next_on = of->dependents;
    if (of->dependents)
        of->dependents->prev_on = edge;
    of->dependents = edge;
    return true;
}

static void unlink_on(struct after_edge *edge)
{
    if (edge->prev_on)
        edge->prev_on->next_on = edge->next_on;
    else
        edge->on->more->dependents = edge->next_on;
    if (edge->next_on)
        edge->next_on->prev_on = edge->prev_on;
}

static void unlink_waits(struct after_edge *edge)
{
    struct after_edge **link = &edge->waits->more->after;
    while (*link != edge)
        link = &(*link)->next_of_waits;
    *link = edge->next_of_waits;
}

static bool is_open(const struct entry *e)
{
    return e->state == LEDGER_NEW || ledger_state_open((enum ledger_state)e->state);
}

static enum ergon_error unknown(uint64_t id, char *text, size_t size)
{
    char name[ID_TEXT_SIZE];
    snprintf(text, size, "after: no task %s: it never was, or was forgotten", id_text(id, name));
    return ERGON_E_NOT_FOUND;
}

enum ergon_error after_link(struct ledger *l, struct entry *e, const uint64_t *ids, uint32_t count,
                            char *text, size_t size)
{
    char id[ID_TEXT_SIZE];
    for (uint32_t i = 0; i < count; i++) {
        struct entry *on = ledger_find(l, ids[i]);
        if (!on)
            return unknown(ids[i], text, size);
        if (is_open(on) && e->durable != LEDGER_NONE && on->durable == LEDGER_NONE) {
            snprintf(text, size,
                     "after: task %s is kept in memory only, and a durable one would not know how "
                     "it ended; make both durable, or neither",
                     id_text(ids[i], id));
            return ERGON_E_BAD_PARAMS;
        }
        size_t was = entry_bytes(on);
        if (is_open(on)) {
            if (!link_one(e, on))
                return ERGON_E_MEMORY;
            ledger_weigh(l, on, was);
        } else if (on->state != LEDGER_DONE && e->more->after_failed == 0) {
            e->more->after_failed = on->id;
        }
    }
    return ERGON_OK;
}

enum ergon_error after_order(struct ledger *l, struct entry *e, const struct order *o, char *text,
                             size_t size)
{
    for (uint32_t i = 0; o->confined && i < o->after_count; i++) {
        const struct entry *on = ledger_find(l, o->after[i]);
        if (on && on->tenant != e->tenant)
            return unknown(o->after[i], text, size);
    }
    return after_link(l, e, o->after, o->after_count, text, size);
}

/* --- What was waited for has ended --- */

static void release(struct ledger *l, struct entry *on, struct after_edge *edge)
{
    struct entry *waits = edge->waits;
    size_t was = entry_bytes(waits);
    if (on->state != LEDGER_DONE && waits->more->after_failed == 0)
        waits->more->after_failed = on->id;
    unlink_on(edge);
    unlink_waits(edge);
    free(edge);
    ledger_weigh(l, waits, was);
    if ((!waits->more->after || waits->more->after_failed) && !waits->list && ledger_is_open(waits))
        entry_push(&l->released, waits);
}

/* In small steps: a hundred thousand may wait for one task, and whole chains may end with it. */
void after_ended(struct ledger *l, struct entry *e)
{
    if (!e->more || !e->more->dependents)
        return;
    e->more->releasing = true;
    e->more->next_releasing = NULL;
    *(l->releasing ? &l->releasing_last->more->next_releasing : &l->releasing) = e;
    l->releasing_last = e;
    ao_activate(&l->ao);
}

static void leave_releasing(struct ledger *l, struct entry *e)
{
    struct entry **link = &l->releasing, *before = NULL;
    for (; *link != e; link = &before->more->next_releasing)
        before = *link;
    *link = e->more->next_releasing;
    if (l->releasing_last == e)
        l->releasing_last = before;
    e->more->releasing = false;
}

/* At once: it is about to be open again, and who waits for that must not be mixed up with these, or
 * is to be gone. */
void after_finish(struct ledger *l, struct entry *e)
{
    if (!e->more || !e->more->releasing)
        return;
    while (e->more->dependents)
        release(l, e, e->more->dependents);
    leave_releasing(l, e);
}

/* True: nothing is left. */
static bool release_some(struct ledger *l, int *budget)
{
    struct entry *e;
    for (; (e = l->releasing) && *budget > 0; --*budget)
        if (e->more->dependents)
            release(l, e, e->more->dependents);
        else
            leave_releasing(l, e);
    return !e;
}

bool after_go_on(struct ledger *l)
{
    int budget = RELEASE_BUDGET;
    struct entry *e;
    bool all = release_some(l, &budget);
    for (budget = RELEASE_BUDGET; budget > 0 && (e = entry_pop(&l->released)); budget--)
        ledger_place(l, e, false);
    return all && l->released.count == 0;
}

static void drop_edges(struct entry *e)
{
    struct after_edge *edge;
    while (e->more && (edge = e->more->after)) {
        unlink_on(edge);
        e->more->after = edge->next_of_waits;
        free(edge);
    }
}

void after_unlink(struct ledger *l, struct entry *e)
{
    size_t was = entry_bytes(e);
    drop_edges(e);
    ledger_weigh(l, e, was);
}

/* It does not count any more, or never did: nothing is weighed. */
void after_forget(struct entry *e)
{
    struct after_edge *edge;
    drop_edges(e);
    while (e->more && (edge = e->more->dependents)) {
        unlink_on(edge);
        unlink_waits(edge);
        free(edge);
    }
}

static const char *how_it_ended(const struct entry *on)
{
    if (on && on->state == LEDGER_CANCELLED)
        return "was cancelled";
    if (on && on->state == LEDGER_DEAD)
        return "is dead";
    return on && !is_open(on) ? ledger_state_names[on->state] : "ended otherwise";
}

/* Nobody who runs it again by hand wants it to fail for the same reason, now or after a restart. */
void after_settle(struct ledger *l, struct entry *e)
{
    struct entry_more *more = e->more;
    size_t was = entry_bytes(e);
    if (!more || more->after_count == 0)
        return;
    free(more->after_ids);
    more->after_ids = NULL;
    more->after_count = 0;
    more->after_failed = 0;
    more->settled = true;
    ledger_weigh(l, e, was);
}

void after_fail(struct ledger *l, struct entry *e)
{
    const struct entry *on = ledger_find(l, e->more->after_failed);
    char id[ID_TEXT_SIZE], text[96];
    snprintf(text, sizeof text, "task %s, which had to be done first, %s",
             id_text(e->more->after_failed, id), how_it_ended(on));
    ledger_end(l, e, LEDGER_FAILED, "AFTER", text);
}
