#include "server/tasks/registry.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/executors/stepped.h"
#include "server/tasks/task.h"

enum { NAME_MAX_BYTES = 64, SLOTS_MIN = 64 };

/* Open addressing: a power of two of slots, at most half of them full. */
struct registry {
    struct method **methods; /* by index */
    struct method **slots;   /* by hash; NULL: empty */
    uint32_t count, room, slot_count;
};

static const char *const reserved[] = {"server.", "task.", "queue.", "cron.", "connection.",
                                       "worker.", "sem.",  "event.", "actor."};

struct registry *registry_new(void)
{
    return calloc(1, sizeof(struct registry));
}

void registry_free(struct registry *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->count; i++)
        free(r->methods[i]);
    free(r->methods);
    free(r->slots);
    free(r);
}

/* FNV-1a, eight bytes at a time: names are short, and nobody outside chooses them. */
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

static struct method **slot_of(struct method **slots, uint32_t slot_count, struct span name)
{
    uint32_t i = (uint32_t)hash(name) & (slot_count - 1);
    while (slots[i] && !span_equal(slots[i]->name, name))
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

struct method *registry_find(const struct registry *r, struct span name)
{
    return r->slot_count ? *slot_of(r->slots, r->slot_count, name) : NULL;
}

uint32_t registry_count(const struct registry *r)
{
    return r->count;
}

struct method *registry_at(const struct registry *r, uint32_t index)
{
    return index < r->count ? r->methods[index] : NULL;
}

bool registry_reserved(struct span name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t len = strlen(reserved[i]);
        if (name.len >= len && memcmp(name.at, reserved[i], len) == 0)
            return true;
    }
    return false;
}

static bool well_named(const char *name)
{
    size_t len = strlen(name);
    return len >= 1 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

/* NULL, or what is wrong with it. */
static const char *fault_of(const struct ergon_handler *h)
{
    if (h->size < sizeof *h)
        return "was built against an older struct ergon_handler";
    if (!h->name || !well_named(h->name))
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

static int grow_list(struct registry *r)
{
    if (r->count < r->room)
        return 0;
    uint32_t room = r->room ? 2 * r->room : SLOTS_MIN / 2;
    struct method **methods = realloc(r->methods, room * sizeof(struct method *));
    if (!methods)
        return -1;
    r->methods = methods;
    r->room = room;
    return 0;
}

static int grow_slots(struct registry *r)
{
    if (2 * (r->count + 1) <= r->slot_count)
        return 0;
    uint32_t slot_count = r->slot_count ? 2 * r->slot_count : SLOTS_MIN;
    struct method **slots = calloc(slot_count, sizeof(struct method *));
    if (!slots)
        return -1;
    for (uint32_t i = 0; i < r->count; i++)
        *slot_of(slots, slot_count, r->methods[i]->name) = r->methods[i];
    free(r->slots);
    r->slots = slots;
    r->slot_count = slot_count;
    return 0;
}

static int insert(struct registry *r, const char *module, const struct ergon_handler *handler)
{
    if (grow_list(r) != 0 || grow_slots(r) != 0)
        return -1;
    struct method *m = calloc(1, sizeof *m);
    if (!m)
        return -1;
    m->name = span_text(handler->name);
    m->handler = handler;
    m->module = module;
    m->index = r->count;
    stepped_make_class(m);
    atomic_init(&m->service_ns, 0);
    atomic_init(&m->small_params, SMALL_PARAMS);
    r->methods[r->count++] = m;
    *slot_of(r->slots, r->slot_count, m->name) = m;
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
    if (insert(r, module, handler) == 0)
        return 0;
    snprintf(error, size, "no memory for handler \"%s\"", handler->name);
    return -1;
}
