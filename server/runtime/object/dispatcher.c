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
    d->behind_first.next = &d->behind_last;
    d->behind_last.prev = &d->behind_first;
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
    return dispatcher_any_behind(d) ? d->behind_first.next : NULL;
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

void dispatcher_put_behind(struct dispatcher *d, struct ao *ao)
{
    if (d->cursor == ao)
        d->cursor = ao->next;
    unlink_from_list(ao);
    link_before(&d->behind_last, ao);
}

void dispatcher_begin_behind(struct dispatcher *d)
{
    link_before(&d->behind_last, &d->mark);
}

struct ao *dispatcher_next_behind(struct dispatcher *d)
{
    struct ao *ao = d->behind_first.next;
    if (ao == &d->mark)
        return NULL;
    unlink_from_list(ao);
    link_before(&d->behind_last, ao);
    return ao;
}

void dispatcher_end_behind(struct dispatcher *d)
{
    unlink_from_list(&d->mark);
}

/* Adds those between two sentinels to `count`; false: a link is wrong. */
static bool validate_links(const struct dispatcher *d, const struct ao *from, const struct ao *to,
                           uint64_t *count)
{
    for (const struct ao *ao = from; ao != to; ao = ao->next) {
        if (ao->next->prev != ao)
            return false;
        if (ao != from && ao != &d->mark)
            ++*count;
    }
    return true;
}

bool dispatcher_validate(const struct dispatcher *d)
{
    uint64_t count = 0;
    return validate_links(d, &d->first, &d->last, &count) &&
           validate_links(d, &d->behind_first, &d->behind_last, &count) && count == d->count &&
           (!d->cursor || d->mark.next);
}
