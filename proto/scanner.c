#include "proto/scanner.h"

#include <assert.h>

#include "proto/wire.h"

/* The fields of a scanner while it runs, in registers. */
struct walk {
    uint64_t at;   /* where the next element starts */
    uint64_t need; /* at least so many bytes in all */
    uint64_t open; /* elements announced and not yet seen, the next one included */
    uint64_t announced;
    uint32_t left;  /* those of them in the innermost level */
    uint32_t depth; /* levels outside it */
};

void scanner_init(struct scanner *s)
{
    s->done = 0;
    s->need = 1;
    s->depth = 0;
    s->left = 1;
    s->open = 1;
    s->announced = 1;
    s->notes.count = 0;
}

void scanner_init_last(struct scanner *s, uint32_t done)
{
    s->done = done;
    s->need = done + 1;
    s->depth = 1;
    s->left = 1;
    s->open = 1;
    s->announced = 1;
    s->notes.count = 0;
    s->awaited[0] = 0;
}

/* The array or map that is open on the level of large ones has ended.  Out of line: in it, it would
 * take registers from the way of all messages. */
static __attribute__((noinline, cold)) void note_large(struct scanner *s, uint64_t at)
{
    struct scan_notes *n = &s->notes;
    uint64_t len = at - s->large;

    if (len >= SCAN_LARGE_LEAST && n->count < SCAN_LARGE_MAX) {
        n->large[n->count].at = s->large;
        n->large[n->count++].len = (uint32_t)len;
    }
}

/* Leaves the levels that are complete. */
static inline void ascend(struct walk *w, struct scanner *s)
{
    while (w->left == 0) {
        assert(w->depth > 0);
        w->left = s->awaited[--w->depth];
        if (w->depth == SCAN_LARGE_LEVEL)
            note_large(s, w->at);
    }
}

/* The element that was looked at is done with, but for its own elements. */
static inline void pass(struct walk *w, struct scanner *s, const struct wire_head *h)
{
    if (h->count > 0) {
        assert(w->depth < SCAN_DEPTH_CAP);
        if (w->depth == SCAN_LARGE_LEVEL)
            s->large = (uint32_t)w->at;
        s->awaited[w->depth++] = w->left - 1;
        w->left = (uint32_t)h->count;
    } else {
        w->left--;
    }
    w->at += h->size + h->body;
    w->open += h->count - 1;
    w->announced += h->count;
}

/* Passes the numbers, constants and short strings that come next in this level and fit, without
 * asking more of each than that.  What it stops at is for look() to judge. */
static inline void pass_small(struct walk *w, uint64_t message_max, struct span bytes)
{
    uint64_t at = w->at;
    uint64_t room = message_max - w->at - w->open; /* bytes that nothing has claimed yet */
    uint32_t left = w->left;

    while (left > 0 && at < bytes.len) {
        unsigned more = wire_hints[bytes.at[at]] - 1u; /* bytes behind the first; huge for 0xc1 */
        if (more >= WIRE_SIZED - 1 || more > room || more >= bytes.len - at)
            break;
        at += 1 + more;
        room -= more;
        left--;
    }
    w->open -= w->left - left;
    w->at = at;
    w->left = left;
}

/* Looks at the next element.  Every verdict rests on the bytes of this element's header alone, in
 * the order below, and a header that is cut short is judged by its first byte: so a verdict does
 * not depend on how the bytes arrive. */
static inline enum scan_verdict look(struct walk *w, const struct scan_limits *limits,
                                     struct span bytes, struct wire_head *h)
{
    w->need = w->at + w->open;
    if (w->at >= bytes.len)
        return SCAN_MORE;
    const uint8_t *p = bytes.at + w->at;
    uint8_t hint = wire_hints[*p];
    if (hint == WIRE_BAD)
        return SCAN_MALFORMED;
    if (hint >= (WIRE_SIZED | WIRE_ARRAY) && w->depth >= limits->depth_max)
        return SCAN_TOO_DEEP;
    h->size = wire_head_size(hint);
    w->need += h->size - 1;
    if (w->need <= limits->message_max) {
        if (bytes.len - w->at < h->size)
            return SCAN_MORE;
        wire_head_read(p, hint, h);
        w->need += h->body + h->count;
    }
    if (w->need > limits->message_max)
        return SCAN_TOO_LARGE;
    return bytes.len - w->at - h->size < h->body ? SCAN_MORE : SCAN_WHOLE;
}

static inline enum scan_verdict run(struct walk *w, struct scanner *s,
                                    const struct scan_limits *limits, struct span bytes)
{
    while (w->open > 0) {
        struct wire_head h;
        ascend(w, s);
        pass_small(w, limits->message_max, bytes);
        if (w->left == 0)
            continue;
        enum scan_verdict v = look(w, limits, bytes, &h);
        if (v != SCAN_WHOLE)
            return v;
        pass(w, s, &h);
    }
    if (w->depth > SCAN_LARGE_LEVEL)
        note_large(s, w->at);
    w->need = w->at;
    return SCAN_WHOLE;
}

/* What is needed may pass 32 bits only for a value that is refused. */
static uint32_t clamp(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

enum scan_verdict scanner_run(struct scanner *s, const struct scan_limits *limits,
                              struct span bytes)
{
    struct walk w = {.at = s->done,
                     .open = s->open,
                     .announced = s->announced,
                     .left = s->left,
                     .depth = s->depth};
    struct scan_limits safe = *limits;

    if (safe.depth_max > SCAN_DEPTH_CAP)
        safe.depth_max = SCAN_DEPTH_CAP;
    enum scan_verdict v = run(&w, s, &safe, bytes);

    s->done = (uint32_t)w.at;
    s->need = clamp(w.need);
    s->depth = w.depth;
    s->left = w.left;
    s->open = w.open;
    s->announced = w.announced;
    return v;
}

const char *scan_verdict_text(enum scan_verdict v)
{
    switch (v) {
    case SCAN_WHOLE:
        return "the message is whole";
    case SCAN_MORE:
        return "the message is not complete";
    case SCAN_MALFORMED:
        return "byte 0xc1, which MessagePack never uses";
    case SCAN_TOO_LARGE:
        return "the message is longer than the limit";
    case SCAN_TOO_DEEP:
        return "arrays and maps are nested deeper than the limit";
    }
    return "no scan verdict";
}

uint32_t scan_notes_find(const struct scan_notes *n, size_t at)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->large[i].at == at)
            return n->large[i].len;
    return 0;
}

size_t value_length_within(struct span bytes, uint64_t most)
{
    size_t total = 0;
    struct wire_head h;

    for (uint64_t open = 1; open > 0; open += h.count - 1) {
        if (!wire_element(bytes, &h) || h.count > most)
            return 0;
        most -= h.count;
        size_t n = h.size + h.body;
        bytes = span_behind(bytes, n);
        total += n;
    }
    return total;
}
