/* The methods by name and by index (server/tasks/registry.h). */
#include "server/tasks/registry.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/recorder.h"
#include "base/grow.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/task.h"

enum {
    NAME_MAX_BYTES = 64,
    SLOTS_MIN = 64,
    CHUNK_MIN = 32, /* methods in the first chunk; each that follows has twice as many */
    CHUNKS = 24,
    RUN_MAX = 256 /* slots in a row that are taken, of names that strangers choose */
};

/* Open addressing: a power of two of slots, at most half of them full. */
struct name_table {
    struct name_table *before; /* that this one replaced: others may still read it */
    uint32_t slot_count;
    /* By hash; NULL: empty.  Release in put(), so that the method is whole before it can be found;
     * acquire in registry_find(). */
    _Atomic(struct method *) slots[];
};

/* A table that has become too small stays until the end: all of them together are smaller than the
 * one in use. */
struct registry {
    /* Release in grow_names(), so that the names are in it; acquire in registry_find(). */
    _Atomic(struct name_table *) names;
    /* Release in insert(), so that the method is in its chunk; acquire in registry_count() and
     * registry_at(). */
    _Atomic uint32_t count;
    struct method **chunks[CHUNKS]; /* by index; NULL: not yet */
    struct actor_offer **actors;    /* malloc'ed, and so is each */
    uint32_t actor_count, actor_room;
    uint32_t offered;
    bool (*made)(void *arg, struct method *m);
    void *made_arg;
};

/* Of all methods that no module has, and of no kind: it is not run. */
static const struct ergon_handler offered = {.size = sizeof offered, .name = ""};

static const char *const reserved[] = {"server.", "task.", "queue.", "cron.", "connection.",
                                       "worker.", "sem.",  "event.", "actor."};

/* --- Methods by index --- */

/* The place of an index: chunk `*chunk`, and what is returned within it. */
static uint32_t place_of(uint32_t index, uint32_t *chunk)
{
    uint32_t from_first = index / CHUNK_MIN + 1;
    *chunk = 31 - (uint32_t)__builtin_clz(from_first);
    return index - CHUNK_MIN * ((1u << *chunk) - 1);
}

uint32_t registry_count(const struct registry *r)
{
    return atomic_load_explicit(&r->count, memory_order_acquire);
}

struct method *registry_at(const struct registry *r, uint32_t index)
{
    uint32_t chunk;
    if (index >= registry_count(r))
        return NULL;
    uint32_t place = place_of(index, &chunk);
    return r->chunks[chunk][place];
}

/* Where the next one is put; NULL without memory. */
static struct method **next_place(struct registry *r)
{
    uint32_t chunk, place = place_of(registry_count(r), &chunk);
    if (chunk >= CHUNKS)
        return NULL;
    if (!r->chunks[chunk])
        r->chunks[chunk] = calloc((size_t)CHUNK_MIN << chunk, sizeof(struct method *));
    return r->chunks[chunk] ? &r->chunks[chunk][place] : NULL;
}

/* --- Methods by name --- */

static struct name_table *table_new(uint32_t slot_count)
{
    struct name_table *t = calloc(1, sizeof *t + slot_count * sizeof t->slots[0]);
    if (t)
        t->slot_count = slot_count;
    return t;
}

/* FNV-1a, eight bytes at a time: names are short.  run_at() bounds what a stranger reaches by
 * choosing names. */
static uint64_t hash(struct span name)
{
    uint64_t h = 0xcbf29ce484222325u ^ name.len;
    const uint8_t *at = name.at;
    size_t left = name.len;
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; left > 0; at++, left--)
        h = (h ^ *at) * 0x100000001b3u;
    return h ^ h >> 32;
}

static uint32_t first_slot(const struct name_table *t, struct span name)
{
    return (uint32_t)hash(name) & (t->slot_count - 1);
}

static uint32_t next_slot(const struct name_table *t, uint32_t slot)
{
    return (slot + 1) & (t->slot_count - 1);
}

static struct method *in_slot(const struct name_table *t, uint32_t slot)
{
    return atomic_load_explicit(&t->slots[slot], memory_order_acquire);
}

struct method *registry_find(const struct registry *r, struct span name)
{
    const struct name_table *t = atomic_load_explicit(&r->names, memory_order_acquire);
    uint32_t slot = first_slot(t, name);
    struct method *m;
    while ((m = in_slot(t, slot)) && !span_equal(m->name, name))
        slot = next_slot(t, slot);
    return m;
}

/* The empty slot for a name that is not there. */
static uint32_t slot_for(const struct name_table *t, struct span name)
{
    uint32_t slot = first_slot(t, name);
    while (in_slot(t, slot))
        slot = next_slot(t, slot);
    return slot;
}

static void put(struct name_table *t, struct method *m)
{
    atomic_store_explicit(&t->slots[slot_for(t, m->name)], m, memory_order_release);
}

/* So many slots in a row would be full, were this name put in: a search for a name in them looks at
 * no more.  Strangers may choose names whose slots lie beside each other. */
static uint32_t run_at(const struct name_table *t, struct span name)
{
    uint32_t slot = slot_for(t, name), run = 1;
    for (uint32_t i = next_slot(t, slot); in_slot(t, i); i = next_slot(t, i))
        run++;
    for (uint32_t i = slot + t->slot_count - 1; in_slot(t, i & (t->slot_count - 1)); i--)
        run++;
    return run;
}

/* The table in use, with room for one more; NULL without memory. */
static struct name_table *grow_names(struct registry *r)
{
    struct name_table *t = atomic_load_explicit(&r->names, memory_order_relaxed);
    uint32_t count = registry_count(r);
    if (2 * (count + 1) <= t->slot_count)
        return t;
    struct name_table *grown = table_new(2 * t->slot_count);
    if (!grown)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        put(grown, registry_at(r, i));
    grown->before = t;
    atomic_store_explicit(&r->names, grown, memory_order_release);
    return grown;
}

/* --- A registry --- */

struct registry *registry_new(void)
{
    struct registry *r = calloc(1, sizeof(struct registry));
    struct name_table *t = table_new(SLOTS_MIN);
    if (!r || !t) {
        free(r);
        free(t);
        return NULL;
    }
    atomic_init(&r->names, t);
    return r;
}

void registry_free(struct registry *r)
{
    struct name_table *before;
    if (!r)
        return;
    for (uint32_t i = 0; i < registry_count(r); i++)
        free(registry_at(r, i));
    for (uint32_t i = 0; i < CHUNKS; i++)
        free(r->chunks[i]);
    for (uint32_t i = 0; i < r->actor_count; i++)
        free(r->actors[i]);
    free(r->actors);
    for (struct name_table *t = atomic_load_explicit(&r->names, memory_order_relaxed); t;
         t = before) {
        before = t->before;
        free(t);
    }
    free(r);
}

/* --- What may be added --- */

bool registry_reserved(struct span name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t len = strlen(reserved[i]);
        if (name.len >= len && memcmp(name.at, reserved[i], len) == 0)
            return true;
    }
    return false;
}

static bool is_of_names(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static bool well_named(struct span name)
{
    if (name.len < 1 || name.len > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!is_of_names(name.at[i]))
            return false;
    return true;
}

bool registry_may_name(struct span name)
{
    return well_named(name) && !registry_reserved(name);
}

/* NULL, or what is wrong with it. */
static const char *fault_of(const struct ergon_handler *h)
{
    if (h->size < sizeof *h)
        return "was built against an older struct ergon_handler";
    if (!h->name || !well_named(span_text(h->name)))
        return "has a bad name: 1 to 64 of a-z, 0-9, '_', '.' and '-'";
    if (registry_reserved(span_text(h->name)))
        return "has a name that begins like the server's own methods";
    if (h->kind == ERGON_STEPPED ? !h->step || h->run : !h->run || h->step)
        return "must have exactly one of step and run, the one of its kind";
    if (h->kind != ERGON_STEPPED && h->kind != ERGON_BLOCKING)
        return "is neither ERGON_STEPPED nor ERGON_BLOCKING";
    if (h->state_size > TASK_STATE_MAX)
        return "wants more than 64 KiB of state: allocate the rest with ergon_alloc";
    return NULL;
}

static struct method *method_new(const struct registry *r, struct span copied)
{
    struct method *m = calloc(1, sizeof *m + copied.len + 1);
    if (!m)
        return NULL;
    if (copied.len > 0)
        m->name = span_of(memcpy(m + 1, copied.at, copied.len), copied.len);
    m->index = registry_count(r);
    m->mark = recorder_method(m->index);
    atomic_init(&m->service_ns, 0);
    atomic_init(&m->small_params, SMALL_PARAMS);
    return m;
}

/* `place` and `names` have room for it. */
static void insert(struct registry *r, struct method *m, struct method **place,
                   struct name_table *names)
{
    *place = m;
    put(names, m);
    atomic_store_explicit(&r->count, m->index + 1, memory_order_release);
}

/* -1: no memory. */
static int add(struct registry *r, const char *module, const struct ergon_handler *handler)
{
    struct method **place = next_place(r);
    struct name_table *names = place ? grow_names(r) : NULL;
    struct method *m = names ? method_new(r, span_of(NULL, 0)) : NULL;
    if (!m)
        return -1;
    m->name = span_text(handler->name);
    m->handler = handler;
    m->module = module;
    m->managed = (handler->flags & ERGON_MANAGED) != 0;
    stepped_make_class(m);
    insert(r, m, place, names);
    return 0;
}

int registry_add(struct registry *r, const char *module, const struct ergon_handler *handler,
                 char *error, size_t size)
{
    const char *fault = fault_of(handler);
    if (fault) {
        snprintf(error, size, "handler \"%.64s\" of module \"%s\" %s",
                 handler->size >= sizeof *handler && handler->name ? handler->name : "?", module,
                 fault);
        return -1;
    }
    const struct method *taken = registry_find(r, span_text(handler->name));
    if (taken) {
        snprintf(error, size, "handler \"%s\" of module \"%s\": module \"%s\" has one of this name",
                 handler->name, module, taken->module);
        return -1;
    }
    if (add(r, module, handler) == 0)
        return 0;
    snprintf(error, size, "no memory for handler \"%s\"", handler->name);
    return -1;
}

void registry_on_intern(struct registry *r, bool (*made)(void *arg, struct method *m), void *arg)
{
    r->made = made;
    r->made_arg = arg;
}

static enum ergon_error make_offered(struct registry *r, struct span name, struct method **out)
{
    struct method **place = next_place(r);
    struct name_table *names = place ? grow_names(r) : NULL;
    if (!names)
        return ERGON_E_MEMORY;
    if (run_at(names, name) > RUN_MAX)
        return ERGON_E_BUSY;
    struct method *m = method_new(r, name);
    if (!m)
        return ERGON_E_MEMORY;
    m->handler = &offered;
    m->module = "workers";
    if (r->made && !r->made(r->made_arg, m)) {
        free(m);
        return ERGON_E_MEMORY;
    }
    insert(r, m, place, names);
    r->offered++;
    *out = m;
    return ERGON_OK;
}

enum ergon_error registry_intern(struct registry *r, struct span name, struct method **out)
{
    *out = registry_find(r, name);
    if (*out)
        return ERGON_OK;
    if (!registry_may_name(name))
        return ERGON_E_BAD_PARAMS;
    if (r->offered >= METHODS_OFFERED)
        return ERGON_E_BUSY;
    return make_offered(r, name, out);
}

/* --- Methods of actors --- */

void method_set_actor(struct method *m, unsigned of_actor)
{
    m->managed |= !method_of_workers(m); /* else its loop would not ask whether it is refused */
    atomic_store_explicit(&m->of_actor, (uint8_t)of_actor, memory_order_relaxed);
    atomic_store_explicit(&m->refuses, ERGON_E_BAD_PARAMS, memory_order_relaxed);
}

void method_unset_actor(struct method *m)
{
    atomic_store_explicit(&m->of_actor, 0, memory_order_relaxed);
    atomic_store_explicit(&m->refuses, ERGON_E_NO_WORKER, memory_order_relaxed);
}

bool registry_add_actor(struct registry *r, struct actor_offer *offer)
{
    struct actor_offer **grown =
        grow_array(r->actors, &r->actor_room, r->actor_count, sizeof *grown);
    if (!grown)
        return false;
    r->actors = grown;
    r->actors[r->actor_count++] = offer;
    return true;
}

const struct actor_offer *registry_actor(const struct registry *r, uint32_t n)
{
    return n < r->actor_count ? r->actors[n] : NULL;
}
