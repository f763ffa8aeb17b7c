#include "server/runtime/object/dispatcher.h"

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

void dispatcher_init(struct dispatcher *d)
{
    *d = (struct dispatcher){0};
    d->first.next = &d->last;
    d->last.prev = &d->first;
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
    return d->first.next == &d->last ? NULL : d->first.next;
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

bool dispatcher_validate(const struct dispatcher *d)
{
    uint64_t count = 0;
    for (const struct ao *ao = &d->first; ao != &d->last; ao = ao->next) {
        if (ao->next->prev != ao)
            return false;
        if (ao != &d->first && ao != &d->mark)
            count++;
    }
    return count == d->count && (d->cursor != NULL) == (d->mark.next != NULL);
}
