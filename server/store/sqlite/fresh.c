#include "server/store/sqlite/fresh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

enum { ROOM = 1024 }; /* changes, at first */

void fresh_init(struct fresh *f, const uint64_t seed[2])
{
    *f = (struct fresh){.seed = {seed[0], seed[1]}};
    hash_table_init(&f->actors);
}

void fresh_fini(struct fresh *f)
{
    struct hash_link *link;
    while (f->actors.size > 0 && (link = hash_pop(&f->actors)))
        free(link);
    if (f->actors.size > 0)
        hash_table_fini(&f->actors);
    free(f->changes);
}

/* Hosts choose types, and anybody chooses keys: so only keys need a siphash. */
static uint64_t mixed(struct span type)
{
    uint64_t mix = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < type.len; i++)
        mix = (mix ^ type.at[i]) * 0x100000001b3;
    return mix;
}

uint64_t fresh_hash(const struct fresh *f, const struct store_actor *row)
{
    uint64_t seed[2] = {f->seed[0] ^ mixed(row->type), f->seed[1]};
    if (row->tenant.len > 0)
        seed[1] ^= siphash(f->seed, row->tenant);
    return siphash(seed, row->key);
}

static bool is_at(const char *at, struct span s)
{
    return s.len == 0 || memcmp(at, s.at, s.len) == 0;
}

static bool is_of(const struct fresh_actor *a, const struct store_actor *row)
{
    const char *key = a->name + a->type_len;
    return a->key_len == row->key.len && a->type_len == row->type.len &&
           a->tenant_len == row->tenant.len && is_at(key, row->key) && is_at(a->name, row->type) &&
           is_at(key + a->key_len, row->tenant);
}

static struct fresh_actor *find(const struct fresh *f, const struct store_actor *row, uint64_t hash)
{
    for (struct hash_link *l = hash_first(&f->actors, hash); l; l = hash_next(l)) {
        struct fresh_actor *a = (struct fresh_actor *)l;
        if (is_of(a, row))
            return a;
    }
    return NULL;
}

struct fresh_actor *fresh_find(const struct fresh *f, const struct store_actor *row, uint64_t hash)
{
    struct fresh_actor *a = find(f, row, hash);
    return a && a->seq > 0 ? a : NULL;
}

/* Room for one change more. */
static bool make_room(struct fresh *f)
{
    if (f->count < f->room)
        return true;
    uint32_t room = f->room ? 2 * f->room : ROOM;
    struct fresh_change *changes = realloc(f->changes, room * sizeof *changes);
    if (!changes)
        return false;
    f->changes = changes;
    f->room = room;
    return true;
}

static char *put(char *at, struct span s)
{
    if (s.len > 0)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

static struct fresh_actor *add(struct fresh *f, const struct store_actor *row, uint64_t hash)
{
    struct fresh_actor *a = malloc(sizeof *a + row->type.len + row->key.len + row->tenant.len);
    if (!a)
        return NULL;
    *a = (struct fresh_actor){.link = {.hash = hash},
                              .type_len = (uint32_t)row->type.len,
                              .key_len = (uint32_t)row->key.len,
                              .tenant_len = (uint32_t)row->tenant.len};
    put(put(put(a->name, row->type), row->key), row->tenant);
    hash_add(&f->actors, &a->link);
    return a;
}

static void change(struct fresh *f, struct fresh_actor *a, uint64_t seq, bool is_new)
{
    f->changes[f->count++] = (struct fresh_change){a, a->seq, is_new};
    a->seq = seq;
}

struct fresh_actor *fresh_note(struct fresh *f, const struct store_actor *row, uint64_t hash,
                               uint64_t seq, bool *is_first)
{
    struct fresh_actor *a = find(f, row, hash);
    bool is_new = !a;
    assert(seq > 0);
    if (!make_room(f) || (is_new && !(a = add(f, row, hash))))
        return NULL;
    *is_first = a->seq == 0;
    change(f, a, seq, is_new);
    return a;
}

bool fresh_forget(struct fresh *f, struct fresh_actor *actor)
{
    assert(actor->seq > 0);
    if (!make_room(f))
        return false;
    change(f, actor, 0, false);
    return true;
}

void fresh_undo(struct fresh *f, uint32_t count)
{
    while (f->count > count) {
        const struct fresh_change *c = &f->changes[--f->count];
        c->actor->seq = c->before;
        if (!c->is_new)
            continue;
        hash_remove(&f->actors, &c->actor->link);
        free(c->actor);
    }
}

/* An actor may have been forgotten twice. */
void fresh_keep(struct fresh *f)
{
    struct hash_link *gone = NULL, *next;
    for (uint32_t n = 0; n < f->count; n++) {
        struct fresh_actor *a = f->changes[n].actor;
        if (a->seq > 0 || !hash_remove(&f->actors, &a->link))
            continue;
        a->link.next = gone;
        gone = &a->link;
    }
    for (; gone; gone = next) {
        next = gone->next;
        free(gone);
    }
    f->count = 0;
}
