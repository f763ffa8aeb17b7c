#include "server/tasks/calls/call_records.h"

#include <stdlib.h>

#include "server/tasks/task.h"

void calls_init(struct calls *c)
{
    *c = (struct calls){0};
}

static struct call_record *at(const struct calls *c, uint32_t index)
{
    return &c->chunks[index / CALLS_CHUNK][index % CALLS_CHUNK];
}

static void free_chunk(struct call_record *chunk)
{
    for (uint32_t i = 0; i < CALLS_CHUNK; i++) {
        struct ao *timer = &chunk[i].timer;
        if (ao_state(timer) == AO_STATE_ACTIVE || ao_state(timer) == AO_STATE_SLEEPING)
            ao_deactivate(timer);
        ao_fini(timer);
    }
    free(chunk);
}

void calls_fini(struct calls *c)
{
    for (uint32_t i = 0; i < c->chunk_count; i++)
        free_chunk(c->chunks[i]);
    free(c->chunks);
    calls_init(c);
}

static bool make_room_for_chunk(struct calls *c)
{
    if (c->chunk_count < c->chunk_room)
        return true;
    uint32_t room = c->chunk_room ? 2 * c->chunk_room : 8;
    struct call_record **chunks = realloc(c->chunks, room * sizeof(struct call_record *));
    if (!chunks)
        return false;
    c->chunks = chunks;
    c->chunk_room = room;
    return true;
}

static bool add_chunk(struct calls *c, struct home *home, const struct ao_class *timer,
                      struct activator *activator)
{
    if (c->chunk_count >= CALLS_MAX / CALLS_CHUNK || !make_room_for_chunk(c))
        return false;
    struct call_record *chunk = calloc(CALLS_CHUNK, sizeof *chunk);
    if (!chunk)
        return false;
    uint32_t base = c->chunk_count * CALLS_CHUNK;
    c->chunks[c->chunk_count++] = chunk;
    for (uint32_t i = CALLS_CHUNK; i-- > 0;) {
        chunk[i].home = home;
        chunk[i].call.index = base + i;
        chunk[i].call.generation = c->born;
        ao_init(&chunk[i].timer, timer, activator);
    }
    return true;
}

/* Rare: not inlined, so that the common path saves no registers for it. */
__attribute__((noinline)) static bool use_chunk(struct calls *c, struct home *home,
                                                const struct ao_class *timer,
                                                struct activator *activator)
{
    if (c->used == c->chunk_count && !add_chunk(c, home, timer, activator))
        return false;
    struct call_record *chunk = c->chunks[c->used++];
    for (uint32_t i = CALLS_CHUNK; i-- > 0;) {
        chunk[i].next_free = c->free;
        c->free = &chunk[i];
    }
    return true;
}

struct call_record *calls_take(struct calls *c, struct home *home, const struct ao_class *timer,
                               struct activator *activator)
{
    if (!c->free && !use_chunk(c, home, timer, activator))
        return NULL;
    struct call_record *record = c->free;
    c->free = record->next_free;
    c->taken++;
    return record;
}

void calls_give(struct calls *c, struct call_record *record)
{
    record->call.generation++;
    record->next_free = c->free;
    c->free = record;
    c->taken--;
}

/* A task that is still under way may name a record that is freed here: one that is made in its
 * place later is of a generation that no task has seen. */
static void forget_chunk(struct calls *c)
{
    struct call_record *chunk = c->chunks[--c->chunk_count];

    for (uint32_t i = 0; i < CALLS_CHUNK; i++)
        if (chunk[i].call.generation >= c->born)
            c->born = chunk[i].call.generation + 1;
    free_chunk(chunk);
}

/* When no record is in use, none needs to be in the list either: so nothing is looked for when
 * chunks go, of which there may be thousands. */
bool calls_shrink(struct calls *c)
{
    if (c->chunk_count <= CALLS_KEPT)
        return false;
    if (c->taken == 0 && c->used > CALLS_KEPT) {
        c->free = NULL;
        c->used = 0;
    }
    uint32_t kept = c->used > CALLS_KEPT ? c->used : CALLS_KEPT;
    for (int n = 0; n < CALLS_GIVEN_BACK && c->chunk_count > kept; n++)
        forget_chunk(c);
    return c->chunk_count > kept;
}

struct call_record *calls_find(const struct calls *c, uint32_t index, uint32_t generation)
{
    if (index >= c->chunk_count * CALLS_CHUNK)
        return NULL;
    struct call_record *record = at(c, index);
    return record->open && record->call.generation == generation ? record : NULL;
}

struct call_record *calls_open_from(const struct calls *c, uint32_t from)
{
    for (uint32_t i = from; i < c->chunk_count * CALLS_CHUNK; i++)
        if (at(c, i)->open)
            return at(c, i);
    return NULL;
}

void call_link(struct call *c)
{
    c->prev = NULL;
    c->next = NULL;
    if (!c->list)
        return;
    c->next = *c->list;
    if (c->next)
        c->next->prev = c;
    *c->list = c;
}

void call_unlink(struct call *c)
{
    if (!c->list)
        return;
    if (c->prev)
        c->prev->next = c->next;
    else
        *c->list = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->prev = c->next = NULL;
}
