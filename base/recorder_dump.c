#include "base/recorder_dump.h"

#include <string.h>

const char dump_magic[DUMP_MAGIC] = {'E', 'R', 'G', 'O', 'N', 'R', 'E', 'C'};

/* ---- writing ---- */

static uint8_t *put(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

static uint8_t *put_head(uint8_t *out, enum dump_section what, size_t length)
{
    return put(put(out, what, 4), length, 4);
}

uint8_t *dump_start(uint8_t *out, uint64_t wall, uint64_t monotonic, uint64_t pid, size_t why)
{
    memcpy(out, dump_magic, DUMP_MAGIC);
    out = put_head(out + DUMP_MAGIC, DUMP_START, DUMP_START_HEAD + why);
    return put(put(put(out, wall, 8), monotonic, 8), pid, 8);
}

uint8_t *dump_named(uint8_t *out, enum dump_section what, uint32_t index, size_t name)
{
    return put(put_head(out, what, 4 + name), index, 4);
}

uint8_t *dump_words(uint8_t *out, uint32_t ring, uint64_t first, const uint64_t *words,
                    uint32_t count)
{
    out = put_head(out, DUMP_WORDS, DUMP_WORDS_HEAD + (size_t)count * 8);
    out = put(put(out, ring, 8), first, 8);
    for (uint32_t i = 0; i < count; i++)
        out = put(out, words[i], 8);
    return out;
}

uint8_t *dump_end(uint8_t *out)
{
    return put_head(out, DUMP_END, 0);
}

/* ---- reading ---- */

static uint64_t number_at(struct span s, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | s.at[at + i];
    return value;
}

/* What the words of one ring have said so far. */
struct decoder {
    const struct dump_reader *reader;
    uint64_t expected;             /* place of the next word; 0: of none yet */
    struct recorder_event pending; /* of the task that ends next */
};

static void take_task(struct decoder *d, uint64_t word)
{
    struct recorder_event *e = &d->pending;
    e->kind = RECORDER_NONE;
    e->method = (uint32_t)(word >> RECORDER_NUMBER_BITS) & RECORDER_METHODS;
    e->number = word & ((UINT64_C(1) << RECORDER_NUMBER_BITS) - 1);
    d->reader->event(d->reader->arg, e);
    *e = (struct recorder_event){.ring = e->ring, .time = e->time};
}

/* True: it only tells of what follows. */
static bool prepares(struct recorder_event *e, enum recorder_kind kind, uint64_t value)
{
    if (kind == RECORDER_CLOCK) {
        e->time = value;
    } else if (kind == RECORDER_RUN) {
        e->has_run = true;
        e->run = value & RECORDER_SPAN_MAX;
    } else if (kind == RECORDER_WAIT) {
        e->has_wait = true;
        e->wait = value & RECORDER_SPAN_MAX;
    } else if (kind == RECORDER_FAILED) {
        e->error = (uint32_t)value;
    } else {
        return kind == RECORDER_NONE;
    }
    return true;
}

static void take_note(struct decoder *d, enum recorder_kind kind, uint64_t value)
{
    struct recorder_event note = {
        .kind = kind, .ring = d->pending.ring, .time = d->pending.time, .value = value};
    if (recorder_of_handler(kind)) {
        note.method = (uint32_t)(value >> RECORDER_SHORT_BITS) & RECORDER_METHODS;
        note.number = value & ((UINT64_C(1) << RECORDER_SHORT_BITS) - 1);
    }
    if (!prepares(&d->pending, kind, value))
        d->reader->event(d->reader->arg, &note);
}

static void take_words(struct decoder *d, struct span body)
{
    uint32_t ring = (uint32_t)number_at(body, 0, 4);
    uint64_t first = number_at(body, 8, 8);
    if (ring != d->pending.ring || first != d->expected) {
        if (ring == d->pending.ring && d->expected > 0 && first > d->expected)
            d->reader->lost(d->reader->arg, ring, first - d->expected);
        d->pending = (struct recorder_event){.ring = ring};
    }
    size_t count = (body.len - DUMP_WORDS_HEAD) / 8;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = number_at(body, DUMP_WORDS_HEAD + i * 8, 8);
        enum recorder_kind kind = (enum recorder_kind)(word >> RECORDER_VALUE_BITS);
        if (word & RECORDER_TASK)
            take_task(d, word);
        else if (kind < RECORDER_KIND_COUNT)
            take_note(d, kind, word & RECORDER_VALUE_MAX);
    }
    d->expected = first + count;
}

/* False: it is too short for what it is. */
static bool take_section(struct decoder *d, enum dump_section what, struct span body)
{
    const struct dump_reader *r = d->reader;
    switch (what) {
    case DUMP_START:
        if (body.len < DUMP_START_HEAD)
            return false;
        r->start(r->arg, number_at(body, 0, 8), number_at(body, 8, 8), number_at(body, 16, 8),
                 span_behind(body, DUMP_START_HEAD));
        return true;
    case DUMP_METHOD:
    case DUMP_RING:
        if (body.len < 4)
            return false;
        r->named(r->arg, what, (uint32_t)number_at(body, 0, 4), span_behind(body, 4));
        return true;
    case DUMP_WORDS:
        if (body.len < DUMP_WORDS_HEAD)
            return false;
        take_words(d, body);
        return true;
    case DUMP_END:
        return true;
    }
    return true;
}

enum dump_verdict dump_read(struct span file, const struct dump_reader *reader)
{
    struct decoder d = {.reader = reader, .pending.ring = UINT32_MAX};
    if (file.len < DUMP_MAGIC || memcmp(file.at, dump_magic, DUMP_MAGIC) != 0)
        return DUMP_FOREIGN;
    for (file = span_behind(file, DUMP_MAGIC); file.len >= DUMP_HEAD;) {
        enum dump_section what = (enum dump_section)number_at(file, 0, 4);
        size_t length = number_at(file, 4, 4);
        file = span_behind(file, DUMP_HEAD);
        if (length > file.len || !take_section(&d, what, span_of(file.at, length)))
            return DUMP_CUT;
        if (what == DUMP_END)
            return DUMP_WHOLE;
        file = span_behind(file, length);
    }
    return DUMP_CUT;
}

const char *recorder_kind_name(enum recorder_kind kind)
{
    static const char *const names[] = {
#define X(name, text, value) text,
        RECORDER_KINDS(X)
#undef X
    };
    return kind < RECORDER_KIND_COUNT ? names[kind] : "?";
}
