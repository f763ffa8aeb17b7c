/* Envelope, reader and rewriting on every value that the scanner passes.  The verdict is worked
 * out a second time from msgpack-c's tree of objects. */
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "proto/wire.h"
#include "tests/fuzz/fuzz.h"

#include <msgpack.h>

static const struct scan_limits limits = {.message_max = 4096, .depth_max = 30};

static bool is_natural(const msgpack_object_array *parts, uint32_t i)
{
    return i < parts->size && parts->ptr[i].type == MSGPACK_OBJECT_POSITIVE_INTEGER;
}

static bool is_method(const msgpack_object *o)
{
    return (o->type == MSGPACK_OBJECT_STR && o->via.str.size <= METHOD_NAME_MAX) ||
           (o->type == MSGPACK_OBJECT_BIN && o->via.bin.size <= METHOD_NAME_MAX);
}

static enum envelope_verdict expected_of(const msgpack_object *o)
{
    if (o->type != MSGPACK_OBJECT_ARRAY || !is_natural(&o->via.array, 0))
        return ENVELOPE_UNANSWERABLE;
    const msgpack_object_array *parts = &o->via.array;
    switch (parts->ptr[0].via.u64) {
    case ENVELOPE_REQUEST:
        if (!is_natural(parts, 1))
            return ENVELOPE_UNANSWERABLE;
        return parts->size == 4 && is_method(&parts->ptr[2]) ? ENVELOPE_OK : ENVELOPE_ANSWERABLE;
    case ENVELOPE_RESPONSE:
        return parts->size == 4 && is_natural(parts, 1) ? ENVELOPE_OK : ENVELOPE_UNANSWERABLE;
    case ENVELOPE_NOTIFICATION:
        return parts->size == 3 && is_method(&parts->ptr[1]) ? ENVELOPE_OK : ENVELOPE_UNANSWERABLE;
    default:
        return is_natural(parts, 1) ? ENVELOPE_ANSWERABLE : ENVELOPE_UNANSWERABLE;
    }
}

static void check_within(struct span message, struct span part)
{
    CHECK(part.len == 0 ||
          (part.at >= message.at && part.at + part.len <= message.at + message.len));
}

/* Whatever the readers take ends where the whole value ends, and what they refuse they leave. */
static void check_reader(struct span value)
{
    struct reader r = reader_of(value);
    struct reader start = r;
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    struct span text;

    bool number = read_number(&r, &d);
    CHECK(number == reader_at_end(&r) && (number || r.at == start.at));
    r = start;
    CHECK(!read_int(&r, &i) || (number && reader_at_end(&r)));
    r = start;
    CHECK(!read_uint(&r, &u) || (number && reader_at_end(&r)));
    r = start;
    CHECK(!read_duration(&r, &u) || reader_at_end(&r));
    r = start;
    CHECK(!read_size(&r, &u) || reader_at_end(&r));
    r = start;
    CHECK(!read_text(&r, &text) || (!number && reader_at_end(&r)));
    r = start;
    CHECK(!read_bool(&r, &b) || (!number && reader_at_end(&r)));
    r = start;
    CHECK(!read_nil(&r) || (!number && reader_at_end(&r)));
}

static void check_params(struct span params)
{
    struct reader r;
    uint32_t count;

    read_params(params, &r, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct span value;
        CHECK(read_any(&r, &value));
        check_reader(value);
    }
    CHECK(reader_at_end(&r));
}

/* No element is bin, ext or str8. */
static void check_old(struct span value)
{
    struct wire_head h;

    while (value.len > 0) {
        uint8_t first = *value.at;
        CHECK(wire_element(value, &h));
        CHECK(first < WIRE_BIN8 || (first > WIRE_EXT32 && first < WIRE_FIXEXT1) ||
              first > WIRE_STR8);
        value = span_of(value.at + h.size + h.body, value.len - h.size - h.body);
    }
}

/* The rewritten value is whole, as long as foretold, and stays when it is rewritten again. */
static void check_raw(struct span value)
{
    size_t len = enc_raw_length(value);
    uint8_t *once = malloc(len);
    uint8_t *twice = malloc(len);
    struct span raw = span_of(once, len);

    CHECK(once != NULL && twice != NULL);
    CHECK(enc_raw(once, value) == once + len);
    CHECK(value_length(raw) == len);
    check_old(raw);
    CHECK(enc_raw_length(raw) == len);
    CHECK(enc_raw(twice, raw) == twice + len && memcmp(once, twice, len) == 0);
    free(twice);
    free(once);
}

static void check_envelope(struct span message)
{
    msgpack_unpacked u;
    struct envelope e;
    const char *why = NULL;
    enum envelope_verdict v = envelope_read(message, &e, &why);

    msgpack_unpacked_init(&u);
    CHECK(msgpack_unpack_next(&u, (const char *)message.at, message.len, NULL) ==
          MSGPACK_UNPACK_SUCCESS);
    CHECK(v == expected_of(&u.data));
    msgpack_unpacked_destroy(&u);
    CHECK((v == ENVELOPE_OK) == (why == NULL));
    check_within(message, e.msgid);
    if (v != ENVELOPE_OK)
        return;
    check_within(message, e.method);
    CHECK(e.msgid.len <= MSGID_MAX && e.method.len <= METHOD_NAME_MAX);
    if (e.type != ENVELOPE_RESPONSE) {
        CHECK(value_length(e.params) == e.params.len);
        check_params(e.params);
        return;
    }
    CHECK(value_length(e.error) == e.error.len);
    CHECK(value_length(e.result) == e.result.len);
}

/* The beginning read apart changes neither verdict nor envelope. */
static void check_begin(struct span bytes, enum scan_verdict v, const struct scanner *plain)
{
    struct scanner s;
    struct envelope begun, whole;
    const char *why;

    scanner_init(&s);
    if (!envelope_begin(bytes, &limits, &s, &begun))
        return;
    CHECK(scanner_run(&s, &limits, bytes) == v);
    if (v != SCAN_WHOLE)
        return;
    struct span message = span_of(bytes.at, s.done);
    CHECK(s.done == plain->done);
    CHECK(envelope_read(message, &whole, &why) == ENVELOPE_OK);
    envelope_end(&begun, message);
    CHECK(whole.type == begun.type && span_equal(whole.msgid, begun.msgid));
    CHECK(span_equal(whole.method, begun.method) && span_equal(whole.params, begun.params));
    CHECK(span_equal(whole.error, begun.error) && span_equal(whole.result, begun.result));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct scanner s;

    scanner_init(&s);
    enum scan_verdict v = scanner_run(&s, &limits, span_of(data, size));
    check_begin(span_of(data, size), v, &s);
    if (v != SCAN_WHOLE)
        return;
    struct span message = span_of(data, s.done);
    check_envelope(message);
    check_reader(message);
    check_raw(message);
}
