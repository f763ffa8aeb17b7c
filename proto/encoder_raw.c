/* Rewriting for peers of 2013: one walk for the length and one for the bytes, over the same
 * decision, element by element.  Containers keep their headers, since their counts stay. */
#include "proto/encoder.h"
#include "proto/wire.h"

static bool is_ext(uint8_t first)
{
    return (first >= WIRE_EXT8 && first <= WIRE_EXT32) ||
           (first >= WIRE_FIXEXT1 && first <= WIRE_FIXEXT16);
}

static bool is_new_text(uint8_t first)
{
    return first == WIRE_STR8 || (first >= WIRE_BIN8 && first <= WIRE_BIN32);
}

uint8_t *enc_raw_head(uint8_t *p, uint32_t len)
{
    if (len < 32 || len > UINT16_MAX)
        return enc_str_head(p, len);
    p[0] = WIRE_STR16;
    p[1] = (uint8_t)(len >> 8);
    p[2] = (uint8_t)len;
    return p + 3;
}

/* One element at `at`, rewritten: the new header at p, and the bytes behind it that are kept. */
static size_t rewrite(const uint8_t *at, const struct wire_head *h, uint8_t *p, struct span *kept)
{
    *kept = span_of(at + h->size, h->body);
    if (is_ext(*at)) {
        kept->len = 0;
        return (size_t)(enc_nil(p) - p);
    }
    if (is_new_text(*at))
        return (size_t)(enc_raw_head(p, (uint32_t)h->body) - p);
    memcpy(p, at, h->size);
    return h->size;
}

/* Walks over v; writes where `out` says unless it is null.  Returns the length of the result. */
static size_t walk(struct span v, uint8_t *out)
{
    size_t total = 0;
    struct wire_head h;

    for (uint64_t open = 1; open > 0 && wire_element(v, &h); open += h.count - 1) {
        uint8_t head[ENC_HEAD_MAX];
        struct span kept;
        size_t n = rewrite(v.at, &h, head, &kept);
        if (out != NULL) {
            memcpy(out + total, head, n);
            memcpy(out + total + n, kept.at, kept.len);
        }
        total += n + kept.len;
        v = span_of(v.at + h.size + h.body, v.len - h.size - h.body);
    }
    return total;
}

size_t enc_raw_length(struct span v)
{
    return walk(v, NULL);
}

uint8_t *enc_raw(uint8_t *p, struct span v)
{
    return p + walk(v, p);
}
