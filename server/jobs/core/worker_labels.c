#include "server/jobs/core/worker_labels.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "base/utf8.h"

struct worker_label {
    struct hash_link link; /* first */
    uint32_t refs;
    uint16_t slot, len;
    uint8_t text[];
};

void worker_labels_fini(struct worker_labels *labels)
{
    if (labels->of)
        hash_table_fini(&labels->by_text);
    for (uint32_t i = 0; i < labels->room; i++)
        free(labels->of[i]);
    free(labels->of);
    free(labels->free);
    labels->of = NULL;
    labels->free = NULL;
    labels->room = labels->free_count = 0;
}

static struct worker_label *find(const struct worker_labels *labels, struct span text,
                                 uint64_t hash)
{
    if (!labels->of)
        return NULL;
    for (struct hash_link *at = hash_first(&labels->by_text, hash); at; at = hash_next(at)) {
        struct worker_label *l = (struct worker_label *)at;
        if (span_equal(span_of(l->text, l->len), text))
            return l;
    }
    return NULL;
}

/* Twice as many slots.  False: there is no memory, or there are as many as numbers. */
static bool grow(struct worker_labels *labels)
{
    enum { FIRST = 16 };
    uint32_t slots = WORKER_LABELS_MAX + 1, room = labels->room ? 2 * labels->room : FIRST;
    room = room < slots ? room : slots;
    if (room == labels->room)
        return false;
    uint16_t *list = realloc(labels->free, room * sizeof *list);
    if (list)
        labels->free = list;
    struct worker_label **of = list ? realloc(labels->of, room * sizeof(void *)) : NULL;
    if (!of)
        return false;
    if (!labels->of)
        hash_table_init(&labels->by_text);
    labels->of = of;
    for (uint32_t slot = room - 1; slot >= labels->room && slot > WORKER_LABEL_NONE; slot--)
        list[labels->free_count++] = (uint16_t)slot;
    for (; labels->room < room; labels->room++)
        of[labels->room] = NULL;
    return true;
}

static struct worker_label *make(struct worker_labels *labels, struct span text, uint64_t hash)
{
    if (labels->free_count == 0 && !grow(labels))
        return NULL;
    struct worker_label *l = malloc(sizeof *l + text.len);
    if (!l)
        return NULL;
    *l = (struct worker_label){
        .link.hash = hash, .slot = labels->free[--labels->free_count], .len = (uint16_t)text.len};
    memcpy(l->text, text.at, text.len);
    labels->of[l->slot] = l;
    hash_add(&labels->by_text, &l->link);
    return l;
}

uint16_t worker_label_take(struct worker_labels *labels, struct span text)
{
    if (text.len == 0 || text.len > WORKER_LABEL_BYTES)
        return WORKER_LABEL_NONE;
    uint64_t hash = siphash(labels->seed, text);
    struct worker_label *l = find(labels, text, hash);
    if (!l)
        l = make(labels, text, hash);
    if (!l)
        return WORKER_LABEL_NONE;
    l->refs++;
    return l->slot;
}

void worker_label_ref(struct worker_labels *labels, uint16_t slot)
{
    if (slot != WORKER_LABEL_NONE)
        labels->of[slot]->refs++;
}

void worker_label_unref(struct worker_labels *labels, uint16_t slot)
{
    if (slot == WORKER_LABEL_NONE)
        return;
    struct worker_label *l = labels->of[slot];
    assert(l->refs > 0);
    if (--l->refs > 0)
        return;
    hash_remove(&labels->by_text, &l->link);
    labels->of[slot] = NULL;
    labels->free[labels->free_count++] = slot;
    free(l);
}

struct span worker_label_text(const struct worker_labels *labels, uint16_t slot)
{
    if (slot == WORKER_LABEL_NONE)
        return (struct span){0};
    return span_of(labels->of[slot]->text, labels->of[slot]->len);
}

uint16_t worker_label_make(struct worker_labels *labels, const struct worker_label_parts *parts)
{
    enum { PART_MAX = 72 };
    _Static_assert(4 * (PART_MAX + 1) <= WORKER_LABEL_BYTES, "a label has room for all parts");
    const struct span all[] = {parts->worker, parts->name, parts->host, parts->version};
    uint8_t text[4 * (PART_MAX + 1)];
    size_t len = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (i > 0)
            text[len++] = '\t';
        len += utf8_plain(text + len, PART_MAX, all[i]);
    }
    return worker_label_take(labels, span_of(text, len));
}

static struct span next_part(struct span *text)
{
    const uint8_t *end = text->len > 0 ? memchr(text->at, '\t', text->len) : NULL;
    struct span part = span_of(text->at, end ? (size_t)(end - text->at) : text->len);
    *text = end ? span_behind(*text, part.len + 1) : (struct span){0};
    return part;
}

struct worker_label_parts worker_label_parts(struct span text)
{
    struct worker_label_parts parts;
    parts.worker = next_part(&text);
    parts.name = next_part(&text);
    parts.host = next_part(&text);
    parts.version = next_part(&text);
    return parts;
}
