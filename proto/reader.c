#include "proto/reader.h"
#include "base/instant.h"
#include "base/units.h"
#include "proto/scanner.h"
#include "proto/wire.h"

static const uint64_t NS_PER_MS = 1000000;

enum number_kind { NUMBER_NONE, NUMBER_UNSIGNED, NUMBER_NEGATIVE, NUMBER_FLOAT };

struct number {
    enum number_kind kind;
    union {
        uint64_t u; /* NUMBER_UNSIGNED */
        int64_t i;  /* NUMBER_NEGATIVE: below 0 */
        double f;   /* NUMBER_FLOAT */
    };
};

/* The next element, header and body, must be of this kind.  Moves behind its header. */
static bool take_head(struct reader *r, uint8_t kind, struct wire_head *h)
{
    if (!wire_element(reader_rest(r), h))
        return false;
    uint8_t hint = wire_hints[*r->at];
    if (hint < WIRE_SIZED || (hint & WIRE_KIND) != kind)
        return false;
    r->at += h->size;
    return true;
}

static bool take_byte(struct reader *r, uint8_t byte)
{
    if (r->at == r->end || *r->at != byte)
        return false;
    r->at++;
    return true;
}

static struct number number_unsigned(uint64_t u)
{
    return (struct number){.kind = NUMBER_UNSIGNED, .u = u};
}

static struct number number_signed(int64_t i)
{
    if (i >= 0)
        return number_unsigned((uint64_t)i);
    return (struct number){.kind = NUMBER_NEGATIVE, .i = i};
}

static struct number number_float(double f)
{
    return (struct number){.kind = NUMBER_FLOAT, .f = f};
}

static double load_float(const uint8_t *p)
{
    uint32_t bits = wire_load32(p);
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static double load_double(const uint8_t *p)
{
    uint64_t bits = wire_load64(p);
    double f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The number at p, whose bytes are all there; NUMBER_NONE when something else stands there. */
static struct number load_number(const uint8_t *p)
{
    switch (*p) {
    case WIRE_FLOAT:
        return number_float(load_float(p + 1));
    case WIRE_DOUBLE:
        return number_float(load_double(p + 1));
    case WIRE_UINT8:
        return number_unsigned(p[1]);
    case WIRE_UINT16:
        return number_unsigned(wire_load16(p + 1));
    case WIRE_UINT32:
        return number_unsigned(wire_load32(p + 1));
    case WIRE_UINT64:
        return number_unsigned(wire_load64(p + 1));
    case WIRE_INT8:
        return number_signed((int8_t)p[1]);
    case WIRE_INT16:
        return number_signed((int16_t)wire_load16(p + 1));
    case WIRE_INT32:
        return number_signed((int32_t)wire_load32(p + 1));
    case WIRE_INT64:
        return number_signed((int64_t)wire_load64(p + 1));
    default:
        if (*p < WIRE_FIXMAP || *p >= WIRE_NEGATIVE)
            return number_signed((int8_t)*p);
        return (struct number){.kind = NUMBER_NONE};
    }
}

/* Looks at the next number without taking it; *after is where it ends. */
static bool peek_number(const struct reader *r, struct number *out, const uint8_t **after)
{
    struct wire_head h;

    if (!wire_element(reader_rest(r), &h))
        return false;
    *out = load_number(r->at);
    if (out->kind == NUMBER_NONE)
        return false;
    *after = r->at + h.size + h.body;
    return true;
}

static bool to_int(const struct number *n, int64_t *out)
{
    switch (n->kind) {
    case NUMBER_NONE:
        return false;
    case NUMBER_UNSIGNED:
        *out = (int64_t)n->u;
        return n->u <= INT64_MAX;
    case NUMBER_NEGATIVE:
        *out = n->i;
        return true;
    case NUMBER_FLOAT:
        if (!(n->f >= -0x1p63 && n->f < 0x1p63))
            return false;
        *out = (int64_t)n->f;
        return (double)*out == n->f;
    }
    return false;
}

static bool to_uint(const struct number *n, uint64_t *out)
{
    switch (n->kind) {
    case NUMBER_NONE:
        return false;
    case NUMBER_UNSIGNED:
        *out = n->u;
        return true;
    case NUMBER_NEGATIVE:
        return false;
    case NUMBER_FLOAT:
        if (!(n->f >= 0 && n->f < 0x1p64))
            return false;
        *out = (uint64_t)n->f;
        return (double)*out == n->f;
    }
    return false;
}

static double to_double(const struct number *n)
{
    switch (n->kind) {
    case NUMBER_NONE:
        return 0;
    case NUMBER_UNSIGNED:
        return (double)n->u;
    case NUMBER_NEGATIVE:
        return (double)n->i;
    case NUMBER_FLOAT:
        break;
    }
    return n->f;
}

/* Milliseconds to nanoseconds, to the nearest for fractions. */
static bool to_duration(const struct number *n, uint64_t *ns)
{
    uint64_t ms;

    if (to_uint(n, &ms))
        return !__builtin_mul_overflow(ms, NS_PER_MS, ns);
    double exact = to_double(n) * (double)NS_PER_MS + 0.5;
    if (!(exact >= 0.5 && exact < 0x1p64))
        return false;
    *ns = (uint64_t)exact;
    return true;
}

bool read_nil(struct reader *r)
{
    return take_byte(r, WIRE_NIL);
}

bool read_bool(struct reader *r, bool *out)
{
    if (r->at == r->end || (*r->at != WIRE_FALSE && *r->at != WIRE_TRUE))
        return false;
    *out = *r->at++ == WIRE_TRUE;
    return true;
}

bool read_int(struct reader *r, int64_t *out)
{
    struct number n;
    const uint8_t *after;
    int64_t v;

    if (!peek_number(r, &n, &after) || !to_int(&n, &v))
        return false;
    *out = v;
    r->at = after;
    return true;
}

bool read_uint(struct reader *r, uint64_t *out)
{
    struct number n;
    const uint8_t *after;
    uint64_t v;

    if (!peek_number(r, &n, &after) || !to_uint(&n, &v))
        return false;
    *out = v;
    r->at = after;
    return true;
}

bool read_number(struct reader *r, double *out)
{
    struct number n;
    const uint8_t *after;

    if (!peek_number(r, &n, &after))
        return false;
    *out = to_double(&n);
    r->at = after;
    return true;
}

/* A short string, whose length stands in the first byte, or any longer str or bin. */
bool read_text(struct reader *r, struct span *out)
{
    struct wire_head h;

    if (!wire_element(reader_rest(r), &h))
        return false;
    bool is_short = *r->at >= WIRE_FIXSTR && *r->at < WIRE_NIL;
    uint8_t hint = wire_hints[*r->at];
    if (!is_short && (hint < WIRE_SIZED || (hint & WIRE_KIND) != WIRE_BYTES))
        return false;
    *out = span_of(r->at + h.size, h.body);
    r->at += h.size + h.body;
    return true;
}

bool read_array(struct reader *r, uint32_t *count)
{
    struct wire_head h;

    if (r->at != r->end && *r->at >= WIRE_FIXARRAY && *r->at < WIRE_FIXSTR) { /* most are short */
        *count = (uint32_t)(*r->at++ - WIRE_FIXARRAY);
        return true;
    }
    if (!take_head(r, WIRE_ARRAY, &h))
        return false;
    *count = (uint32_t)h.count;
    return true;
}

bool read_map(struct reader *r, uint32_t *pairs)
{
    struct wire_head h;

    if (!take_head(r, WIRE_MAP, &h))
        return false;
    *pairs = (uint32_t)(h.count / 2);
    return true;
}

bool read_any(struct reader *r, struct span *raw)
{
    size_t len = value_length(reader_rest(r));

    if (len == 0)
        return false;
    *raw = span_of(r->at, len);
    r->at += len;
    return true;
}

bool read_duration(struct reader *r, uint64_t *ns)
{
    struct reader ahead = *r;
    struct number n;
    struct span text;
    uint64_t v;

    if (peek_number(&ahead, &n, &ahead.at)) {
        if (!to_duration(&n, &v))
            return false;
    } else if (!read_text(&ahead, &text) || !units_duration(text, &v)) {
        return false;
    }
    *ns = v;
    r->at = ahead.at;
    return true;
}

bool read_moment(struct reader *r, uint64_t *unix_ns)
{
    const uint64_t ns_a_ms = 1000000;
    struct reader ahead = *r;
    struct span text;
    uint64_t ms;

    if (!read_uint(&ahead, &ms)) {
        if (!read_text(&ahead, &text) || !instant_parse(text, unix_ns))
            return false;
    } else if (ms < UINT64_MAX / ns_a_ms - 1) {
        *unix_ns = ms * ns_a_ms;
    } else {
        return false;
    }
    r->at = ahead.at;
    return true;
}

bool read_size(struct reader *r, uint64_t *bytes)
{
    struct reader ahead = *r;
    struct span text;

    if (read_uint(r, bytes))
        return true;
    if (!read_text(&ahead, &text) || !units_size(text, bytes))
        return false;
    r->at = ahead.at;
    return true;
}

void read_params(struct span params, struct reader *r, uint32_t *count)
{
    *r = reader_of(params);
    if (read_array(r, count))
        return;
    *count = read_nil(r) || reader_at_end(r) ? 0 : 1;
}
