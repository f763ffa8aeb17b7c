#include "server/tracing/otlp_answer.h"

enum { VARINT, FIXED64, LENGTH, FIXED32 = 5 }; /* what a field is, in its tag's last bits */

struct field {
    uint64_t number;
    unsigned kind;
    uint64_t value;   /* VARINT */
    struct span text; /* LENGTH */
};

static bool take_varint(struct span *rest, uint64_t *out)
{
    enum { BYTES_MAX = 10 };
    *out = 0;
    for (unsigned i = 0; i < BYTES_MAX && i < rest->len; i++) {
        *out |= (uint64_t)(rest->at[i] & 0x7f) << (7 * i);
        if (rest->at[i] < 0x80) {
            *rest = span_behind(*rest, i + 1);
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct span *rest, uint64_t len, struct span *out)
{
    if (len > rest->len)
        return false;
    *out = span_of(rest->at, (size_t)len);
    *rest = span_behind(*rest, (size_t)len);
    return true;
}

/* Groups, which nobody uses any more, are not known. */
static bool take_field(struct span *rest, struct field *f)
{
    uint64_t tag, len;
    struct span skipped;

    if (!take_varint(rest, &tag) || tag >> 3 == 0)
        return false;
    *f = (struct field){.number = tag >> 3, .kind = tag & 7};
    switch (f->kind) {
    case VARINT:
        return take_varint(rest, &f->value);
    case FIXED64:
        return take_bytes(rest, 8, &skipped);
    case LENGTH:
        return take_varint(rest, &len) && take_bytes(rest, len, &f->text);
    case FIXED32:
        return take_bytes(rest, 4, &skipped);
    default:
        return false;
    }
}

/* ExportTracePartialSuccess and Status are alike: a number, and a text. */
static bool read_said(struct span rest, int64_t *number, struct span *text)
{
    struct field f;

    while (rest.len > 0) {
        if (!take_field(&rest, &f))
            return false;
        if (f.number == 1 && f.kind == VARINT)
            *number = (int64_t)f.value;
        else if (f.number == 2 && f.kind == LENGTH)
            *text = f.text;
    }
    return true;
}

static bool read_partial(struct span rest, int64_t *rejected, struct span *text)
{
    struct field f;

    while (rest.len > 0) {
        if (!take_field(&rest, &f))
            return false;
        if (f.number == 1 && f.kind == LENGTH && !read_said(f.text, rejected, text))
            return false;
    }
    return true;
}

bool otlp_answer_read(struct span body, struct otlp_answer *out)
{
    struct span text = {0};
    int64_t rejected = 0;
    bool good = read_partial(body, &rejected, &text);

    *out = (struct otlp_answer){0};
    if (good)
        *out =
            (struct otlp_answer){.rejected = rejected > 0 ? (uint64_t)rejected : 0, .text = text};
    return good;
}

bool otlp_refusal_read(struct span body, struct otlp_answer *out)
{
    struct span text = {0};
    int64_t code;
    bool good = read_said(body, &code, &text);

    *out = (struct otlp_answer){0};
    if (good)
        out->text = text;
    return good;
}
