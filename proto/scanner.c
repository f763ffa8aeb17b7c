#include "proto/scanner.h"

#include "proto/scanner_inline.h"

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

/* Out of line: in it, it would take registers from the way of all messages. */
__attribute__((noinline, cold)) void scanner_note_large(struct scanner *s, uint64_t at)
{
    struct scan_notes *n = &s->notes;
    uint64_t len = at - s->large;

    if (len >= SCAN_LARGE_LEAST && n->count < SCAN_LARGE_MAX) {
        n->large[n->count].at = s->large;
        n->large[n->count++].len = (uint32_t)len;
    }
}

enum scan_verdict scanner_run(struct scanner *s, const struct scan_limits *limits,
                              struct span bytes)
{
    return scanner_run_inline(s, limits, bytes);
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
