#include "proto/encoder.h"
#include "proto/scanner.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"
#include "tests/unit/proto/hex.h"

#include <msgpack.h>

static const struct scan_limits usual = {.message_max = 16 << 20, .depth_max = 32};

static enum scan_verdict scan(struct span bytes, const struct scan_limits *limits,
                              struct scanner *s)
{
    scanner_init(s);
    return scanner_run(s, limits, bytes);
}

/* The verdict of all bytes in one piece, then of the same bytes one more at a time: it must be
 * the same, come at the same place, and `need` must never promise too much. */
static enum scan_verdict scan_both(struct span bytes, const struct scan_limits *limits,
                                   struct scanner *whole)
{
    enum scan_verdict expected = scan(bytes, limits, whole);
    enum scan_verdict v = SCAN_MORE;
    struct scanner s;

    scanner_init(&s);
    for (size_t n = 0; n <= bytes.len && v == SCAN_MORE; n++) {
        v = scanner_run(&s, limits, span_of(bytes.at, n));
        if (v != SCAN_MORE)
            break;
        assert_true(s.need > n && s.need <= limits->message_max);
        if (expected == SCAN_WHOLE)
            assert_true(s.need <= whole->done);
    }
    assert_int_equal(v, expected);
    assert_int_equal(s.done, whole->done);
    assert_int_equal(scanner_looked(&s), scanner_looked(whole));
    return v;
}

static void verdict_is(const char *text, enum scan_verdict expected, uint32_t done)
{
    struct hex h = hex(text);
    struct scanner s;

    if (scan_both(hex_span(&h), &usual, &s) != expected)
        fail_msg("%s", text);
    assert_int_equal(s.done, done);
}

TEST(whole_values)
{
    verdict_is("c0", SCAN_WHOLE, 1);
    verdict_is("94 00 01 a4 'echo' 91 05", SCAN_WHOLE, 10);
    verdict_is("90", SCAN_WHOLE, 1);
    verdict_is("91 91 91 90", SCAN_WHOLE, 4);
    verdict_is("82 01 81 02 03 04 90", SCAN_WHOLE, 7);
    verdict_is("dc 0000", SCAN_WHOLE, 3);
    verdict_is("df 00000001 01 02", SCAN_WHOLE, 7);
    verdict_is("c9 00000002 05 'ab'", SCAN_WHOLE, 8);
}

TEST(what_stands_behind_is_left_alone)
{
    verdict_is("91 05 c1", SCAN_WHOLE, 2);
    verdict_is("05 c1 c1", SCAN_WHOLE, 1);
}

TEST(the_byte_that_is_never_used)
{
    verdict_is("c1", SCAN_MALFORMED, 0);
    verdict_is("93 01 c1", SCAN_MALFORMED, 2);
    verdict_is("91 81 a1 'k' c1", SCAN_MALFORMED, 4);
}

static uint32_t need_of(const char *text)
{
    struct hex h = hex(text);
    struct scanner s;

    assert_int_equal(scan(hex_span(&h), &usual, &s), SCAN_MORE);
    return s.need;
}

TEST(what_is_needed_is_known_early)
{
    assert_int_equal(need_of(""), 1);
    assert_int_equal(need_of("94"), 5);
    assert_int_equal(need_of("94 00 01 a4"), 9);
    assert_int_equal(need_of("c6 00"), 5);
    assert_int_equal(need_of("c6 00 00 ff ff"), 5 + 0xffff);
    assert_int_equal(need_of("92 c6 00 00 ff ff"), 7 + 0xffff);
}

TEST(announced_elements_are_bounded_by_bytes)
{
    verdict_is("dd ffffffff", SCAN_TOO_LARGE, 0);
    verdict_is("df ffffffff", SCAN_TOO_LARGE, 0);
    verdict_is("c6 ffffffff", SCAN_TOO_LARGE, 0);
    verdict_is("c9 ffffffff", SCAN_TOO_LARGE, 0);
    verdict_is("92 dd 00800000 dd 00800000", SCAN_TOO_LARGE, 6);
    verdict_is("92 dd 00800000 dd 007ffff6", SCAN_TOO_LARGE, 6);
    verdict_is("92 dd 00800000 dd 007ffff5", SCAN_MORE, 11);
    verdict_is("92 dd 00ffffff", SCAN_TOO_LARGE, 1);
}

/* Headers that each fit alone multiply: [[ ...n... ][ ...n... ] ...]. */
TEST(nested_announcements_add_up)
{
    static const struct scan_limits small = {.message_max = 64 * 1024, .depth_max = 128};
    struct hex h = hex("dc 3fff dc 3fff dc 3fff dc 3fff");
    struct scanner s;

    assert_int_equal(scan_both(hex_span(&h), &small, &s), SCAN_TOO_LARGE);
    assert_int_equal(s.done, 9);
}

TEST(the_limit_is_exact)
{
    struct hex h = hex("93 a4 'echo' cd 0102 90");

    for (uint32_t max = 1; max < 16; max++) {
        struct scan_limits limits = {.message_max = max, .depth_max = 4};
        struct scanner s;
        assert_int_equal(scan_both(hex_span(&h), &limits, &s),
                         max < h.len ? SCAN_TOO_LARGE : SCAN_WHOLE);
    }
}

TEST(the_largest_limit_does_not_wrap)
{
    static const struct scan_limits huge = {.message_max = UINT32_MAX, .depth_max = 4};
    struct hex h = hex("91 c6 fffffffa");
    struct scanner s;

    assert_int_equal(scan_both(hex_span(&h), &huge, &s), SCAN_TOO_LARGE);
    h = hex("91 c6 fffffff9");
    assert_int_equal(scan_both(hex_span(&h), &huge, &s), SCAN_MORE);
    assert_int_equal(s.need, UINT32_MAX);
    h = hex("91 df ffffffff");
    assert_int_equal(scan_both(hex_span(&h), &huge, &s), SCAN_TOO_LARGE);
}

static enum scan_verdict scan_nested(uint8_t byte, size_t levels, uint32_t depth_max)
{
    struct scan_limits limits = {.message_max = 1 << 20, .depth_max = depth_max};
    struct scanner s;
    uint8_t *bytes = malloc(levels);

    assert_non_null(bytes);
    memset(bytes, byte, levels);
    bytes[levels - 1] = 0x90;
    enum scan_verdict v = scan_both(span_of(bytes, levels), &limits, &s);
    free(bytes);
    return v;
}

TEST(the_depth_is_exact)
{
    for (uint32_t max = 1; max <= SCAN_DEPTH_CAP; max++) {
        assert_int_equal(scan_nested(0x91, max, max), SCAN_WHOLE);
        assert_int_equal(scan_nested(0x91, max + 1, max), SCAN_TOO_DEEP);
    }
    assert_int_equal(scan_nested(0x91, 10000, UINT32_MAX), SCAN_TOO_DEEP);
    assert_int_equal(scan_nested(0x81, 10000, 32), SCAN_TOO_DEEP);
}

TEST(it_tells_how_many_elements_it_looked_at)
{
    struct hex h = hex("94 91 01 91 01 90 81 01 a2 61 62");
    struct scanner s;

    assert_int_equal(scan_both(hex_span(&h), &usual, &s), SCAN_WHOLE);
    assert_int_equal(scanner_looked(&s), 9);
    assert_int_equal(scan(span_of(h.at, 3), &usual, &s), SCAN_MORE);
    assert_int_equal(scanner_looked(&s), 3);
    scanner_init_last(&s, 1);
    assert_int_equal(scanner_run(&s, &usual, hex_span(&h)), SCAN_WHOLE);
    assert_int_equal(scanner_looked(&s), 2);
}

TEST(closed_levels_do_not_count)
{
    static const struct scan_limits shallow = {.message_max = 100, .depth_max = 2};
    struct hex h = hex("94 91 01 91 01 90 81 01 02");
    struct scanner s;

    assert_int_equal(scan_both(hex_span(&h), &shallow, &s), SCAN_WHOLE);
    h = hex("92 91 01 91 91 01");
    assert_int_equal(scan_both(hex_span(&h), &shallow, &s), SCAN_TOO_DEEP);
}

TEST(start_does_not_touch_the_stack)
{
    struct scanner s;

    memset(&s, 0xa5, sizeof s);
    scanner_init(&s);
    for (size_t i = 0; i < SCAN_DEPTH_CAP; i++)
        assert_int_equal(s.awaited[i], 0xa5a5a5a5);
}

static msgpack_unpack_return unpack(const uint8_t *bytes, size_t len, size_t *off)
{
    msgpack_unpacked u;

    *off = 0;
    msgpack_unpacked_init(&u);
    msgpack_unpack_return ret = msgpack_unpack_next(&u, (const char *)bytes, len, off);
    msgpack_unpacked_destroy(&u);
    return ret;
}

/* msgpack-c has no limits to agree on, and reserves memory for whatever is announced. */
static void judged_alike(const uint8_t *bytes, size_t len)
{
    static const struct scan_limits limits = {.message_max = 4096, .depth_max = 30};
    struct scanner s;
    enum scan_verdict v = scan_both(span_of(bytes, len), &limits, &s);
    size_t off;

    assert_int_equal(value_length(span_of(bytes, len)), v == SCAN_WHOLE ? s.done : 0);
    if (v == SCAN_TOO_LARGE || v == SCAN_TOO_DEEP)
        return;
    msgpack_unpack_return ret = unpack(bytes, len, &off);
    assert_int_equal(v == SCAN_WHOLE, ret == MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(v == SCAN_MORE, ret == MSGPACK_UNPACK_CONTINUE);
    if (v == SCAN_WHOLE)
        assert_int_equal(off, s.done);
}

TEST(each_first_byte_says_its_length)
{
    for (unsigned first = 0; first < 256; first++) {
        uint8_t bytes[64] = {(uint8_t)first};
        judged_alike(bytes, sizeof bytes);
    }
}

/* Biased to headers, so that most of it has some structure. */
TEST(random_bytes_are_judged_as_msgpack_c_does)
{
    uint64_t seed = 1;

    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[24];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] =
                (uint8_t)(chance(&seed, 3) == 0 ? 0x80 + chance(&seed, 96) : chance(&seed, 8));
        judged_alike(bytes, sizeof bytes);
    }
}

/* --- What is noted --- */

enum { HALF = SCAN_LARGE_LEAST / 2 + 8 };

static uint8_t *nils(uint8_t *p, uint32_t count)
{
    p = enc_array(p, count);
    memset(p, 0xc0, count);
    return p + count;
}

/* [0, 1, "echo", [nils, "x", [nils, nils], {1: nils}, nils]] in pieces of so many bytes; `starts`:
 * of the elements of the parameters. */
static void note_a_message(struct scanner *s, uint32_t piece, const uint8_t **message,
                           size_t *starts)
{
    static uint8_t bytes[8 * SCAN_LARGE_LEAST];
    enum scan_verdict v = SCAN_MORE;
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(bytes, 4), 0), 1), span_text("echo"));

    p = enc_array(p, 5);
    starts[0] = (size_t)(p - bytes);
    p = enc_str(nils(p, SCAN_LARGE_LEAST), span_text("x"));
    starts[1] = (size_t)(p - bytes);
    p = nils(nils(enc_array(p, 2), HALF), HALF);
    starts[2] = (size_t)(p - bytes);
    p = nils(enc_uint(enc_map(p, 1), 1), SCAN_LARGE_LEAST);
    starts[3] = (size_t)(p - bytes);
    p = nils(p, SCAN_LARGE_LEAST);
    *message = bytes;
    scanner_init(s);
    for (size_t n = 0; v == SCAN_MORE; n += piece)
        v = scanner_run(s, &usual,
                        span_of(bytes, n < (size_t)(p - bytes) ? n : (size_t)(p - bytes)));
    assert_int_equal(v, SCAN_WHOLE);
}

TEST(where_large_elements_of_parameters_end_is_noted)
{
    static const uint32_t pieces[] = {7, 4096, 100000, 1 << 20};
    const uint8_t *message;
    size_t starts[4];
    struct scanner s;

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        note_a_message(&s, pieces[i], &message, starts);
        assert_int_equal(s.notes.count, 4);
        for (int n = 0; n < 4; n++)
            assert_int_equal(scan_notes_find(&s.notes, starts[n]),
                             value_length(span_of(message + starts[n], s.done - starts[n])));
        assert_int_equal(scan_notes_find(&s.notes, starts[1] + 1), 0);
    }
    scanner_init(&s);
    assert_int_equal(s.notes.count, 0);
}

/* Parameters with many large elements: the first four are noted, and no more. */
TEST(notes_have_a_bound)
{
    static uint8_t bytes[7 * SCAN_LARGE_LEAST];
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(bytes, 4), 0), 1), span_text("echo"));
    struct scanner s;

    p = enc_array(p, 6);
    for (int i = 0; i < 6; i++)
        p = nils(p, SCAN_LARGE_LEAST);
    assert_int_equal(scan(span_of(bytes, (size_t)(p - bytes)), &usual, &s), SCAN_WHOLE);
    assert_int_equal(s.notes.count, SCAN_LARGE_MAX);
}

TEST(a_walk_ends_at_its_bound)
{
    struct hex h = hex("93 01 92 02 03 81 04 05");

    assert_int_equal(value_length_within(hex_span(&h), 7), 8);
    assert_int_equal(value_length_within(hex_span(&h), 6), 0);
}

TEST(each_verdict_has_its_text)
{
    for (int a = SCAN_WHOLE; a <= SCAN_TOO_DEEP; a++)
        for (int b = a + 1; b <= SCAN_TOO_DEEP; b++)
            assert_string_not_equal(scan_verdict_text((enum scan_verdict)a),
                                    scan_verdict_text((enum scan_verdict)b));
}
