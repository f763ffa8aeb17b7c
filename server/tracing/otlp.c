#include "server/tracing/otlp.h"

/* `at` NULL: it only counts.  A message is written twice, first to learn its length. */
struct out {
    uint8_t *at;
    size_t len;
};

enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Of a span's flags: that it is known whether its parent is remote, and that it is. */
enum { REMOTE_IS_KNOWN = 0x100, REMOTE_IS = 0x200 };

static void put(struct out *o, const void *bytes, size_t len)
{
    if (o->at && len > 0)
        memcpy(o->at + o->len, bytes, len);
    o->len += len;
}

static void put_varint(struct out *o, uint64_t v)
{
    uint8_t bytes[10];
    size_t len = 0;
    do {
        bytes[len++] = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
        v >>= 7;
    } while (v > 0);
    put(o, bytes, len);
}

static void put_tag(struct out *o, unsigned field, enum wire_type type)
{
    put_varint(o, field << 3 | type);
}

static void put_little(struct out *o, uint64_t v, size_t len)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(v >> 8 * i);
    put(o, bytes, len);
}

static void put_number(struct out *o, unsigned field, uint64_t v)
{
    put_tag(o, field, VARINT);
    put_varint(o, v);
}

static void put_fixed64(struct out *o, unsigned field, uint64_t v)
{
    put_tag(o, field, FIXED64);
    put_little(o, v, sizeof v);
}

static void put_bytes(struct out *o, unsigned field, struct span bytes)
{
    if (bytes.len == 0)
        return;
    put_tag(o, field, BYTES);
    put_varint(o, bytes.len);
    put(o, bytes.at, bytes.len);
}

typedef void write_fn(struct out *o, const void *what);

static void put_message(struct out *o, unsigned field, write_fn *write, const void *what)
{
    struct out counted = {0};
    write(&counted, what);
    put_tag(o, field, BYTES);
    put_varint(o, counted.len);
    write(o, what);
}

/* --- Attributes --- */

static void write_value(struct out *o, const void *what)
{
    enum { STRING_VALUE = 1, INT_VALUE = 3 };
    const struct otlp_attribute *a = what;
    if (!a->text.at) {
        put_number(o, INT_VALUE, (uint64_t)a->number);
        return;
    }
    put_tag(o, STRING_VALUE, BYTES); /* an empty one is a value, too */
    put_varint(o, a->text.len);
    put(o, a->text.at, a->text.len);
}

static void write_attribute(struct out *o, const void *what)
{
    enum { KEY = 1, VALUE = 2 };
    const struct otlp_attribute *a = what;
    put_bytes(o, KEY, span_text(a->key));
    put_message(o, VALUE, write_value, a);
}

/* --- A span --- */

static void write_status(struct out *o, const void *what)
{
    enum { MESSAGE = 2, CODE = 3, STATUS_ERROR = 2 };
    const struct otlp_span *span = what;
    put_bytes(o, MESSAGE, span->error);
    put_number(o, CODE, STATUS_ERROR);
}

static void put_name(struct out *o, unsigned field, const struct otlp_span *span)
{
    size_t verb = span->verb ? strlen(span->verb) : 0;
    put_tag(o, field, BYTES);
    put_varint(o, span->name.len + (verb > 0 ? verb + 1 : 0));
    put(o, span->verb, verb);
    put(o, " ", verb > 0 ? 1 : 0);
    put(o, span->name.at, span->name.len);
}

static bool has_parent(const struct otlp_span *span)
{
    static const uint8_t none[SPAN_ID_LEN];
    return memcmp(span->parent, none, sizeof none) != 0;
}

static void write_span(struct out *o, const void *what)
{
    enum {
        TRACE_ID = 1,
        SPAN_ID = 2,
        TRACE_STATE = 3,
        PARENT_SPAN_ID = 4,
        NAME = 5,
        KIND = 6,
        START = 7,
        END = 8,
        ATTRIBUTES = 9,
        STATUS = 15,
        FLAGS = 16
    };
    const struct otlp_span *span = what;
    put_bytes(o, TRACE_ID, span_of(span->context.trace, TRACE_ID_LEN));
    put_bytes(o, SPAN_ID, span_of(span->context.span, SPAN_ID_LEN));
    put_bytes(o, TRACE_STATE, span->state);
    if (has_parent(span))
        put_bytes(o, PARENT_SPAN_ID, span_of(span->parent, SPAN_ID_LEN));
    put_name(o, NAME, span);
    put_number(o, KIND, span->kind);
    put_fixed64(o, START, span->start);
    put_fixed64(o, END, span->end);
    for (uint32_t i = 0; i < span->attribute_count; i++)
        put_message(o, ATTRIBUTES, write_attribute, &span->attributes[i]);
    if (span->failed)
        put_message(o, STATUS, write_status, span);
    put_tag(o, FLAGS, FIXED32);
    put_little(o, span->context.flags | REMOTE_IS_KNOWN | (span->parent_remote ? REMOTE_IS : 0),
               sizeof(uint32_t));
}

enum { SCOPE_SPANS_SPANS = 2 };

size_t otlp_span_size(const struct otlp_span *span)
{
    struct out o = {0};
    put_message(&o, SCOPE_SPANS_SPANS, write_span, span);
    return o.len;
}

void otlp_span_write(const struct otlp_span *span, uint8_t *out)
{
    struct out o = {.at = out};
    put_message(&o, SCOPE_SPANS_SPANS, write_span, span);
}

/* --- The request around them --- */

static void write_resource(struct out *o, const void *what)
{
    enum { ATTRIBUTES = 1 };
    const struct otlp_head *head = what;
    for (uint32_t i = 0; i < head->resource_count; i++)
        put_message(o, ATTRIBUTES, write_attribute, &head->resource[i]);
}

static void write_scope(struct out *o, const void *what)
{
    enum { NAME = 1, VERSION = 2 };
    const struct otlp_head *head = what;
    put_bytes(o, NAME, span_text(head->scope));
    put_bytes(o, VERSION, span_text(head->version));
}

/* The lengths of both messages count what follows, too. */
static void put_head(struct out *o, const struct otlp_head *head, size_t spans)
{
    enum { RESOURCE_SPANS = 1, RESOURCE = 1, SCOPE_SPANS = 2, SCOPE = 1 };
    struct out resource = {0}, scope = {0}, around = {0};
    put_message(&resource, RESOURCE, write_resource, head);
    put_message(&scope, SCOPE, write_scope, head);
    put_tag(&around, SCOPE_SPANS, BYTES);
    put_varint(&around, scope.len + spans);
    put_tag(o, RESOURCE_SPANS, BYTES);
    put_varint(o, resource.len + around.len + scope.len + spans);
    put_message(o, RESOURCE, write_resource, head);
    put_tag(o, SCOPE_SPANS, BYTES);
    put_varint(o, scope.len + spans);
    put_message(o, SCOPE, write_scope, head);
}

size_t otlp_head_size(const struct otlp_head *head, size_t spans)
{
    struct out o = {0};
    put_head(&o, head, spans);
    return o.len;
}

void otlp_head_write(const struct otlp_head *head, size_t spans, uint8_t *out)
{
    struct out o = {.at = out};
    put_head(&o, head, spans);
}
