#include "proto/encoder.h"

#include "base/utf8.h"
#include "proto/msgid.h"
#include "proto/wire.h"

static uint8_t *put8(uint8_t *p, uint8_t head, uint8_t v)
{
    p[0] = head;
    p[1] = v;
    return p + 2;
}

static uint8_t *put16(uint8_t *p, uint8_t head, uint16_t v)
{
    v = htobe16(v);
    *p = head;
    memcpy(p + 1, &v, sizeof v);
    return p + 1 + sizeof v;
}

static uint8_t *put32(uint8_t *p, uint8_t head, uint32_t v)
{
    v = htobe32(v);
    *p = head;
    memcpy(p + 1, &v, sizeof v);
    return p + 1 + sizeof v;
}

static uint8_t *put64(uint8_t *p, uint8_t head, uint64_t v)
{
    v = htobe64(v);
    *p = head;
    memcpy(p + 1, &v, sizeof v);
    return p + 1 + sizeof v;
}

static uint8_t *put_byte(uint8_t *p, unsigned byte)
{
    *p = (uint8_t)byte;
    return p + 1;
}

static uint8_t *put_bytes(uint8_t *p, struct span bytes)
{
    if (bytes.len > 0)
        memcpy(p, bytes.at, bytes.len);
    return p + bytes.len;
}

uint8_t *enc_nil(uint8_t *p)
{
    return put_byte(p, WIRE_NIL);
}

uint8_t *enc_bool(uint8_t *p, bool v)
{
    return put_byte(p, v ? WIRE_TRUE : WIRE_FALSE);
}

uint8_t *enc_uint(uint8_t *p, uint64_t v)
{
    if (v < WIRE_FIXMAP)
        return put_byte(p, (unsigned)v);
    if (v <= UINT8_MAX)
        return put8(p, WIRE_UINT8, (uint8_t)v);
    if (v <= UINT16_MAX)
        return put16(p, WIRE_UINT16, (uint16_t)v);
    if (v <= UINT32_MAX)
        return put32(p, WIRE_UINT32, (uint32_t)v);
    return put64(p, WIRE_UINT64, v);
}

uint8_t *enc_int(uint8_t *p, int64_t v)
{
    if (v >= 0)
        return enc_uint(p, (uint64_t)v);
    if (v >= -32)
        return put_byte(p, (uint8_t)v);
    if (v >= INT8_MIN)
        return put8(p, WIRE_INT8, (uint8_t)v);
    if (v >= INT16_MIN)
        return put16(p, WIRE_INT16, (uint16_t)v);
    if (v >= INT32_MIN)
        return put32(p, WIRE_INT32, (uint32_t)v);
    return put64(p, WIRE_INT64, (uint64_t)v);
}

uint8_t *enc_double(uint8_t *p, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return put64(p, WIRE_DOUBLE, bits);
}

uint8_t *enc_float(uint8_t *p, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return put32(p, WIRE_FLOAT, bits);
}

uint8_t *enc_array(uint8_t *p, uint32_t count)
{
    if (count < 16)
        return put_byte(p, WIRE_FIXARRAY | count);
    if (count <= UINT16_MAX)
        return put16(p, WIRE_ARRAY16, (uint16_t)count);
    return put32(p, WIRE_ARRAY32, count);
}

uint8_t *enc_map(uint8_t *p, uint32_t pairs)
{
    if (pairs < 16)
        return put_byte(p, WIRE_FIXMAP | pairs);
    if (pairs <= UINT16_MAX)
        return put16(p, WIRE_MAP16, (uint16_t)pairs);
    return put32(p, WIRE_MAP32, pairs);
}

uint8_t *enc_str_head(uint8_t *p, uint32_t len)
{
    if (len < 32)
        return put_byte(p, WIRE_FIXSTR | len);
    if (len <= UINT8_MAX)
        return put8(p, WIRE_STR8, (uint8_t)len);
    if (len <= UINT16_MAX)
        return put16(p, WIRE_STR16, (uint16_t)len);
    return put32(p, WIRE_STR32, len);
}

uint8_t *enc_bin_head(uint8_t *p, uint32_t len)
{
    if (len <= UINT8_MAX)
        return put8(p, WIRE_BIN8, (uint8_t)len);
    if (len <= UINT16_MAX)
        return put16(p, WIRE_BIN16, (uint16_t)len);
    return put32(p, WIRE_BIN32, len);
}

uint8_t *enc_str(uint8_t *p, struct span text)
{
    return put_bytes(enc_str_head(p, (uint32_t)text.len), text);
}

uint8_t *enc_bin(uint8_t *p, struct span bytes)
{
    return put_bytes(enc_bin_head(p, (uint32_t)bytes.len), bytes);
}

/* [1, msgid, : what every response starts with. */
static uint8_t *put_answer(uint8_t *p, struct span msgid)
{
    p = put8(p, WIRE_FIXARRAY | 4, 1);
    msgid_copy(p, msgid);
    return p + msgid.len;
}

uint8_t *enc_response_head(uint8_t *p, struct span msgid)
{
    return enc_nil(put_answer(p, msgid));
}

enum { CLEANED_MAX = 640 /* bytes of a text that was no UTF-8 */ };

/* "NAME: text" in at most `room` bytes, header included. */
static uint8_t *put_message(uint8_t *p, size_t room, const struct error_answer *error)
{
    struct span name = error->name.len > 0 ? error->name : span_text(error_name(error->code));
    struct span text = error->text.len > 0 ? error->text : span_text(error_meaning(error->code));
    struct span colon = span_text(": ");
    uint8_t cleaned[CLEANED_MAX];

    if (!utf8_valid(text))
        text = span_of(cleaned, utf8_clean(cleaned, sizeof cleaned, text));
    name = utf8_cut(name, ERROR_NAME_MAX);
    text = utf8_cut(text, room - ENC_HEAD_MAX - name.len - colon.len);
    p = enc_raw_head(p, (uint32_t)(name.len + colon.len + text.len));
    return put_bytes(put_bytes(put_bytes(p, name), colon), text);
}

static uint8_t *put_key(uint8_t *p, const char *key)
{
    return enc_str(p, span_text(key));
}

static uint8_t *put_error_map(uint8_t *p, const uint8_t *end, const struct error_answer *error)
{
    enum { BEHIND = 1 + 9 + 1 + 1 + 4 + 1 }; /* "retryable": bool, "data": nil */

    p = put_byte(p, WIRE_FIXMAP | 4);
    p = enc_int(put_key(p, "code"), error_number(error->code));
    p = put_key(p, "message");
    p = put_message(p, (size_t)(end - p) - BEHIND, error);
    p = enc_bool(put_key(p, "retryable"), error_retryable(error->code));
    return enc_nil(put_key(p, "data"));
}

static uint8_t *put_error_pair(uint8_t *p, const uint8_t *end, const struct error_answer *error)
{
    p = put_byte(p, WIRE_FIXARRAY | 2);
    p = enc_int(p, error_number(error->code));
    return put_message(p, (size_t)(end - p), error);
}

uint8_t *enc_error_response(uint8_t *p, size_t room, struct span msgid, enum error_shape shape,
                            const struct error_answer *error)
{
    const uint8_t *end = p + room - 1; /* the result, nil, comes last */

    p = put_answer(p, msgid);
    switch (shape) {
    case ERROR_SHAPE_TEXT:
        p = put_message(p, (size_t)(end - p), error);
        break;
    case ERROR_SHAPE_PAIR:
        p = put_error_pair(p, end, error);
        break;
    case ERROR_SHAPE_MAP:
        p = put_error_map(p, end, error);
        break;
    }
    return enc_nil(p);
}

/* ---- for peers of 2013 ----
 *
 * One walk for the length and one for the bytes, over the same decision, element by element.
 * Containers keep their headers, since their counts stay. */

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

    while (v.len > 0 && wire_element(v, &h)) {
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
