#include "server/runtime/object/dispatcher.h"

#include <assert.h>

static void link_before(struct ao *place, struct ao *ao)
{
    ao->prev = place->prev;
    ao->next = place;
    place->prev->next = ao;
    place->prev = ao;
}

static void unlink_from_list(struct ao *ao)
{
    ao->prev->next = ao->next;
    ao->next->prev = ao->prev;
    ao->prev = ao->next = NULL;
}

void behind_init(struct behind *party)
{
    *party = (struct behind){0};
    party->first.next = &party->last;
    party->last.prev = &party->first;
}

/* The first object of a party; NULL: it is empty. */
static struct ao *first_of(const struct behind *party)
{
    struct ao *ao = party->first.next;
    if (ao == &party->mark)
        ao = ao->next;
    return ao == &party->last ? NULL : ao;
}

void dispatcher_init(struct dispatcher *d)
{
    *d = (struct dispatcher){0};
    d->first.next = &d->last;
    d->last.prev = &d->first;
    TAILQ_INIT(&d->parties);
    TAILQ_INIT(&d->walked);
    behind_init(&d->common);
}

void dispatcher_append(struct dispatcher *d, struct ao *ao)
{
    link_before(&d->last, ao);
    d->count++;
}

void dispatcher_remove(struct dispatcher *d, struct ao *ao)
{
    if (d->cursor == ao)
        d->cursor = ao->next;
    unlink_from_list(ao);
    d->count--;
}

void dispatcher_run_next(struct dispatcher *d, struct ao *ao)
{
    if (!d->cursor || d->out_of_turn == OUT_OF_TURN_MAX)
        return;
    d->out_of_turn++;
    if (d->cursor == ao)
        return;
    unlink_from_list(ao);
    link_before(d->cursor, ao);
    d->cursor = ao;
}

struct ao *dispatcher_front(const struct dispatcher *d)
{
    if (d->first.next != &d->last)
        return d->first.next;
    const struct behind *party;
    TAILQ_FOREACH(party, &d->parties, link)
    if (first_of(party))
        return first_of(party);
    return NULL;
}

void dispatcher_begin(struct dispatcher *d)
{
    link_before(&d->last, &d->mark);
    d->cursor = d->first.next;
    d->out_of_turn = 0;
}

void dispatcher_end(struct dispatcher *d)
{
    unlink_from_list(&d->mark);
    d->cursor = NULL;
}

void dispatcher_put_behind(struct dispatcher *d, struct ao *ao, struct behind *party)
{
    if (!party)
        party = &d->common;
    if (d->cursor == ao)
        d->cursor = ao->next;
    unlink_from_list(ao);
    link_before(&party->last, ao);
    if (party->queued)
        return;
    party->queued = true;
    TAILQ_INSERT_TAIL(&d->parties, party, link);
}

static void forget(struct dispatcher *d, struct behind *party)
{
    TAILQ_REMOVE(&d->parties, party, link);
    party->queued = false;
    if (party->mark.next)
        unlink_from_list(&party->mark);
}

void dispatcher_forget(struct dispatcher *d, struct behind *party)
{
    assert(!first_of(party));
    if (party->queued)
        forget(d, party);
}

void dispatcher_forget_all(struct dispatcher *d)
{
    while (!TAILQ_EMPTY(&d->parties))
        dispatcher_forget(d, TAILQ_FIRST(&d->parties));
}

void dispatcher_begin_behind(struct dispatcher *d)
{
    d->walks++;
}

/* Prepares a party for its first visit in this walk: objects that are added later are not visited.
 */
static void begin_party(const struct dispatcher *d, struct behind *party)
{
    party->walk = d->walks;
    if (party->mark.next)
        unlink_from_list(&party->mark);
    link_before(&party->last, &party->mark);
}

/* Ends a party all of whose objects were visited. */
static void end_party(struct dispatcher *d, struct behind *party)
{
    if (!first_of(party)) {
        forget(d, party);
        return;
    }
    TAILQ_REMOVE(&d->parties, party, link);
    TAILQ_INSERT_TAIL(&d->walked, party, link);
}

struct ao *dispatcher_next_behind(struct dispatcher *d)
{
    struct behind *party;
    while ((party = TAILQ_FIRST(&d->parties))) {
        if (party->walk != d->walks)
            begin_party(d, party);
        struct ao *ao = party->first.next;
        if (ao == &party->mark) {
            end_party(d, party);
            continue;
        }
        TAILQ_REMOVE(&d->parties, party, link);
        TAILQ_INSERT_TAIL(&d->parties, party, link);
        unlink_from_list(ao);
        link_before(&party->last, ao);
        return ao;
    }
    return NULL;
}

void dispatcher_end_behind(struct dispatcher *d)
{
    TAILQ_CONCAT(&d->parties, &d->walked, link);
}

/* Adds the number of objects between two sentinels to `count`.  False: a link is wrong. */
static bool validate_links(const struct ao *from, const struct ao *to, const struct ao *mark,
                           uint64_t *count)
{
    for (const struct ao *ao = from; ao != to; ao = ao->next) {
        if (ao->next->prev != ao)
            return false;
        if (ao != from && ao != mark)
            ++*count;
    }
    return true;
}

bool dispatcher_validate(const struct dispatcher *d)
{
    uint64_t count = 0;
    const struct behind *party;
    if (!validate_links(&d->first, &d->last, &d->mark, &count))
        return false;
    TAILQ_FOREACH(party, &d->parties, link)
    if (!validate_links(&party->first, &party->last, &party->mark, &count))
        return false;
    return count == d->count && (!d->cursor || d->mark.next);
}
