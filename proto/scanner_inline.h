/* The scanner's work as a function for one hot place, which wants it inline: who reads requests.
 * All others call scanner_run(), which is the same.  Left to itself the compiler has it inline
 * while it has a single caller, and out of line, for 3 % of a task's instructions, when another
 * comes.
 *
 * Pure, as scanner.h says. */
#ifndef ERGON_PROTO_SCANNER_INLINE_H
#define ERGON_PROTO_SCANNER_INLINE_H

#include <assert.h>

#include "proto/scanner.h"
#include "proto/wire.h"

/* The fields of a scanner while it runs, in registers. */
struct scan_walk {
    uint64_t at;   /* where the next element starts */
    uint64_t need; /* at least so many bytes in all */
    uint64_t open; /* elements announced and not yet seen, the next one included */
    uint64_t announced;
    uint32_t left;  /* those of them in the innermost level */
    uint32_t depth; /* levels outside it */
};

/* The array or map that is open on the level of large ones has ended.  For scanner_run_inline()
 * alone. */
void scanner_note_large(struct scanner *s, uint64_t at);

/* Leaves the levels that are complete. */
static inline void scan_ascend(struct scan_walk *w, struct scanner *s)
{
    while (w->left == 0) {
        assert(w->depth > 0);
        w->left = s->awaited[--w->depth];
        if (w->depth == SCAN_LARGE_LEVEL)
            scanner_note_large(s, w->at);
    }
}

/* The element that was looked at is done with, but for its own elements. */
static inline void scan_pass(struct scan_walk *w, struct scanner *s, const struct wire_head *h)
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
static inline void scan_pass_small(struct scan_walk *w, uint64_t message_max, struct span bytes)
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
static inline enum scan_verdict scan_look(struct scan_walk *w, const struct scan_limits *limits,
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

static inline enum scan_verdict scan_elements(struct scan_walk *w, struct scanner *s,
                                              const struct scan_limits *limits, struct span bytes)
{
    while (w->open > 0) {
        struct wire_head h;
        scan_ascend(w, s);
        scan_pass_small(w, limits->message_max, bytes);
        if (w->left == 0)
            continue;
        enum scan_verdict v = scan_look(w, limits, bytes, &h);
        if (v != SCAN_WHOLE)
            return v;
        scan_pass(w, s, &h);
    }
    if (w->depth > SCAN_LARGE_LEVEL)
        scanner_note_large(s, w->at);
    w->need = w->at;
    return SCAN_WHOLE;
}

/* What is needed may pass 32 bits only for a value that is refused. */
static inline uint32_t scan_clamp(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* As scanner_run(). */
static inline __attribute__((always_inline)) enum scan_verdict
scanner_run_inline(struct scanner *s, const struct scan_limits *limits, struct span bytes)
{
    struct scan_walk w = {.at = s->done,
                          .open = s->open,
                          .announced = s->announced,
                          .left = s->left,
                          .depth = s->depth};
    struct scan_limits safe = *limits;

    if (safe.depth_max > SCAN_DEPTH_CAP)
        safe.depth_max = SCAN_DEPTH_CAP;
    enum scan_verdict v = scan_elements(&w, s, &safe, bytes);

    s->done = (uint32_t)w.at;
    s->need = scan_clamp(w.need);
    s->depth = w.depth;
    s->left = w.left;
    s->open = w.open;
    s->announced = w.announced;
    return v;
}

#endif
