/* The scanner: its verdict is msgpack-c's within the limits, does not depend on how the bytes
 * arrive, and changes with the limits only as it should. */
#include "proto/scanner.h"
#include "tests/fuzz/fuzz.h"

#include <msgpack.h>

enum { ALL_SPLITS_MAX = 300 }; /* bytes; longer inputs are split at a few places only */

static const struct scan_limits wide = {.message_max = 4096, .depth_max = 30};
static const struct scan_limits narrow = {.message_max = 48, .depth_max = 4};

static enum scan_verdict scan(struct span bytes, const struct scan_limits *limits,
                              struct scanner *s)
{
    scanner_init(s);
    return scanner_run(s, limits, bytes);
}

/* Bytes arrive `step` at a time: the same verdict, no later than the bytes that it rests on. */
static void check_split(struct span bytes, const struct scan_limits *limits, size_t step)
{
    struct scanner whole;
    struct scanner s;
    enum scan_verdict expected = scan(bytes, limits, &whole);
    enum scan_verdict v = SCAN_MORE;

    scanner_init(&s);
    for (size_t n = 0; v == SCAN_MORE; n += step) {
        n = n < bytes.len ? n : bytes.len;
        v = scanner_run(&s, limits, span_of(bytes.at, n));
        CHECK(v != SCAN_MORE || (s.need > n && s.need <= limits->message_max));
        CHECK(v != SCAN_MORE || expected != SCAN_WHOLE || s.need <= whole.done);
        if (n == bytes.len)
            break;
    }
    CHECK(v == expected);
    CHECK(s.done == whole.done);
}

/* msgpack-c reserves memory for whatever is announced, so it is asked within the limits only. */
static void check_oracle(struct span bytes, enum scan_verdict v, uint32_t done)
{
    msgpack_unpacked u;
    size_t off = 0;

    msgpack_unpacked_init(&u);
    int ret = msgpack_unpack_next(&u, (const char *)bytes.at, bytes.len, &off);
    msgpack_unpacked_destroy(&u);
    CHECK((v == SCAN_WHOLE) == (ret == MSGPACK_UNPACK_SUCCESS));
    CHECK((v == SCAN_MORE) == (ret == MSGPACK_UNPACK_CONTINUE));
    CHECK((v == SCAN_MALFORMED) == (ret == MSGPACK_UNPACK_PARSE_ERROR));
    CHECK(v != SCAN_WHOLE || off == done);
}

static void check_limits(struct span bytes, enum scan_verdict v, uint32_t done)
{
    struct scanner s;
    enum scan_verdict n = scan(bytes, &narrow, &s);

    CHECK(n != SCAN_WHOLE || (v == SCAN_WHOLE && s.done == done));
    CHECK(n != SCAN_MORE || v == SCAN_MORE);
    CHECK(n != SCAN_MALFORMED || v == SCAN_MALFORMED);
    CHECK(v != SCAN_WHOLE || done <= narrow.message_max || n != SCAN_WHOLE);
    CHECK(v != SCAN_WHOLE || done > narrow.message_max || n == SCAN_WHOLE || n == SCAN_TOO_DEEP);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct span bytes = span_of(data, size);
    struct scanner s;
    enum scan_verdict v = scan(bytes, &wide, &s);

    if (v != SCAN_TOO_LARGE && v != SCAN_TOO_DEEP)
        check_oracle(bytes, v, s.done);
    CHECK((v == SCAN_WHOLE ? s.done : 0) == value_length(bytes) || v == SCAN_TOO_DEEP ||
          v == SCAN_TOO_LARGE);
    check_limits(bytes, v, s.done);
    for (size_t step = size <= ALL_SPLITS_MAX ? 1 : size / 7; step <= size && step < 9; step++) {
        check_split(bytes, &wide, step);
        check_split(bytes, &narrow, step);
    }
}
