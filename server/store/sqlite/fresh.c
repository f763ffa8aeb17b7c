#include "server/store/sqlite/fresh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/ao.h>

#include "base/siphash.h"

enum { ROOM = 1024 }; /* changes, at first */

/* --- Names --- */

struct store_actor fresh_name(const struct fresh_actor *actor)
{
    const char *key = actor->name + actor->type_len;
    return (struct store_actor){.type = span_of(actor->name, actor->type_len),
                                .key = span_of(key, actor->key_len),
                                .tenant = span_of(key + actor->key_len, actor->tenant_len)};
}

int fresh_compare(const struct store_actor *a, const struct store_actor *b)
{
    int by = span_compare(a->type, b->type);
    if (by == 0)
        by = span_compare(a->key, b->key);
    return by == 0 ? span_compare(a->tenant, b->tenant) : by;
}

static struct fresh_actor *actor_of(const struct treap_node *node)
{
    return node ? ao_of(node, struct fresh_actor, place) : NULL;
}

static int compare(const void *name, const struct treap_node *node)
{
    const struct store_actor of = fresh_name(actor_of(node));
    return fresh_compare(name, &of);
}

/* --- Begin and end --- */

void fresh_init(struct fresh *f, const uint64_t seed[2])
{
    *f = (struct fresh){.seed = {seed[0], seed[1]}};
    cells_init(&f->cells);
    hash_table_init(&f->actors);
    f->by_name.compare = compare;
}

/* Very long names are rare. */
static struct fresh_actor *allocate(struct fresh *f, size_t size)
{
    return size <= CELL_MOST ? cells_take(&f->cells, size) : malloc(size);
}

static void give_back(struct fresh *f, struct fresh_actor *a)
{
    size_t size = sizeof *a + a->type_len + a->key_len + a->tenant_len;
    if (size <= CELL_MOST)
        cells_give(&f->cells, a, size);
    else
        free(a);
}

void fresh_fini(struct fresh *f)
{
    struct hash_link *link;
    while (f->actors.size > 0 && (link = hash_pop(&f->actors)))
        give_back(f, (struct fresh_actor *)link);
    if (f->actors.size > 0) {
        hash_table_fini(&f->actors);
        cells_fini(&f->cells);
    }
    free(f->changes);
}

/* --- Found by their names --- */

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

static void enter(struct fresh *f, struct fresh_actor *a)
{
    const struct store_actor name = fresh_name(a);
    treap_add(&f->by_name, &a->place, &name);
}

static void leave(struct fresh *f, struct fresh_actor *a)
{
    const struct store_actor name = fresh_name(a);
    treap_remove(&f->by_name, &a->place, &name);
}

/* --- Changed --- */

static char *put(char *at, struct span s)
{
    if (s.len > 0)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

static struct fresh_actor *add(struct fresh *f, const struct store_actor *row, uint64_t hash)
{
    struct fresh_actor *a = allocate(f, sizeof *a + row->type.len + row->key.len + row->tenant.len);
    if (!a)
        return NULL;
    *a = (struct fresh_actor){.link = {.hash = hash},
                              .place = {.weight = hash},
                              .type_len = (uint32_t)row->type.len,
                              .key_len = (uint32_t)row->key.len,
                              .tenant_len = (uint32_t)row->tenant.len};
    put(put(put(a->name, row->type), row->key), row->tenant);
    hash_add(&f->actors, &a->link);
    return a;
}

static void change(struct fresh *f, struct fresh_actor *a, uint64_t seq, bool gone)
{
    f->changes[f->count++] =
        (struct fresh_change){.actor = a, .before = a->seq, .was_gone = a->gone};
    a->seq = seq;
    a->gone = gone;
}

struct fresh_actor *fresh_note(struct fresh *f, const struct store_actor *row, uint64_t hash,
                               const struct store_turn *turn)
{
    struct fresh_actor *a = find(f, row, hash);
    bool is_new = !a;
    assert(turn->seq > 0);
    if (!make_room(f) || (is_new && !(a = add(f, row, hash))))
        return NULL;
    if (a->seq == 0)
        enter(f, a);
    change(f, a, turn->seq, turn->gone);
    f->changes[f->count - 1].is_new = is_new;
    return a;
}

bool fresh_forget(struct fresh *f, struct fresh_actor *actor)
{
    assert(actor->seq > 0);
    if (!make_room(f))
        return false;
    leave(f, actor);
    change(f, actor, 0, false);
    return true;
}

static void take_back(struct fresh *f, const struct fresh_change *c)
{
    struct fresh_actor *a = c->actor;
    bool had = a->seq > 0;
    a->seq = c->before;
    a->gone = c->was_gone;
    if (had && a->seq == 0)
        leave(f, a);
    if (!had && a->seq > 0)
        enter(f, a);
}

void fresh_undo(struct fresh *f, uint32_t count)
{
    while (f->count > count) {
        const struct fresh_change *c = &f->changes[--f->count];
        take_back(f, c);
        if (!c->is_new)
            continue;
        hash_remove(&f->actors, &c->actor->link);
        give_back(f, c->actor);
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
        give_back(f, (struct fresh_actor *)gone);
    }
    f->count = 0;
}

/* --- In order --- */

struct fresh_actor *fresh_from(const struct fresh *f, const struct store_actor *name)
{
    return actor_of(treap_find(&f->by_name, name, false));
}

struct fresh_actor *fresh_next(const struct fresh *f, const struct fresh_actor *actor)
{
    if (!actor)
        return actor_of(treap_first(&f->by_name));
    const struct store_actor name = fresh_name(actor);
    return actor_of(treap_find(&f->by_name, &name, true));
}
