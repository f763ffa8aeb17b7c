#include "proto/encoder.h"
#include "proto/envelope.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/proto/hex.h"

#include <stdio.h>

static bool bytes_are(struct span s, const char *text)
{
    struct hex h = hex(text);
    return span_equal(s, hex_span(&h));
}

static void request_is(const char *text, const char *msgid, const char *params)
{
    struct hex h = hex(text);
    struct envelope e;
    const char *why = NULL;

    if (envelope_read(hex_span(&h), &e, &why) != ENVELOPE_OK)
        fail_msg("%s: %s", text, why);
    assert_int_equal(e.type, ENVELOPE_REQUEST);
    assert_true(bytes_are(e.msgid, msgid));
    assert_true(span_is(e.method, "echo"));
    assert_true(bytes_are(e.params, params));
}

TEST(a_request_in_any_dress)
{
    request_is("94 00 01 a4 'echo' 91 05", "01", "91 05");
    request_is("dc 0004 00 01 a4 'echo' 91 05", "01", "91 05");
    request_is("dd 00000004 00 01 a4 'echo' 91 05", "01", "91 05");
    request_is("94 cc 00 01 a4 'echo' 90", "01", "90");
    request_is("94 d3 0000000000000000 01 a4 'echo' 90", "01", "90");
    request_is("94 00 01 d9 04 'echo' 90", "01", "90");
    request_is("94 00 01 c4 04 'echo' 90", "01", "90");
    request_is("94 00 01 db 00000004 'echo' 90", "01", "90");
}

TEST(the_id_keeps_its_bytes)
{
    static const char *const ids[] = {
        "00",          "7f",
        "cc 01",       "cd 0001",
        "ce 00000001", "cf ffffffffffffffff",
        "d0 01",       "d1 0001",
        "d2 00000001", "d3 0000000000000001",
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char text[64];
        snprintf(text, sizeof text, "94 00 %s a4 'echo' 90", ids[i]);
        request_is(text, ids[i], "90");
    }
}

TEST(parameters_may_be_any_value)
{
    request_is("94 00 01 a4 'echo' c0", "01", "c0");
    request_is("94 00 01 a4 'echo' 81 01 02", "01", "81 01 02");
    request_is("94 00 01 a4 'echo' a1 ff", "01", "a1 ff"); /* not UTF-8, and none of our business */
}

TEST(a_notification_is_read)
{
    struct hex h = hex("93 02 c4 01 'n' 91 05");
    struct envelope e;
    const char *why;

    assert_int_equal(envelope_read(hex_span(&h), &e, &why), ENVELOPE_OK);
    assert_int_equal(e.type, ENVELOPE_NOTIFICATION);
    assert_int_equal(e.msgid.len, 0);
    assert_true(span_is(e.method, "n"));
    assert_true(bytes_are(e.params, "91 05"));
}

TEST(a_response_is_read)
{
    struct hex h = hex("94 01 cd 0102 92 01 a1 'e' 81 01 02");
    struct envelope e;
    const char *why;

    assert_int_equal(envelope_read(hex_span(&h), &e, &why), ENVELOPE_OK);
    assert_int_equal(e.type, ENVELOPE_RESPONSE);
    assert_true(bytes_are(e.msgid, "cd 0102"));
    assert_true(bytes_are(e.error, "92 01 a1 'e'"));
    assert_true(bytes_are(e.result, "81 01 02"));
}

static void verdict_is(const char *text, enum envelope_verdict expected)
{
    struct hex h = hex(text);
    struct envelope e;
    const char *why = NULL;

    if (envelope_read(hex_span(&h), &e, &why) != expected)
        fail_msg("%s: %s", text, why == NULL ? "was taken" : why);
    assert_non_null(why);
    assert_int_equal(e.msgid.len > 0, expected == ENVELOPE_ANSWERABLE);
}

/* Else whoever answers has this end looked for through as many elements as a message holds. */
TEST(an_error_has_so_many_elements_at_most)
{
    static uint8_t bytes[ERROR_ELEMENTS + 16];
    struct envelope e;
    const char *why;

    for (uint32_t more = 0; more <= 1; more++) {
        uint8_t *p = enc_uint(enc_uint(enc_array(bytes, 4), 1), 7);
        p = enc_array(p, ERROR_ELEMENTS + more);
        memset(p, 0xc0, ERROR_ELEMENTS + more + 1);
        struct span message = span_of(bytes, (size_t)(p - bytes) + ERROR_ELEMENTS + more + 1);
        assert_int_equal(envelope_read(message, &e, &why),
                         more ? ENVELOPE_UNANSWERABLE : ENVELOPE_OK);
        if (!more)
            assert_int_equal(e.result.len, 1);
    }
}

TEST(a_bad_request_with_an_id_can_be_answered)
{
    verdict_is("92 00 01", ENVELOPE_ANSWERABLE);
    verdict_is("93 00 01 a4 'echo'", ENVELOPE_ANSWERABLE);
    verdict_is("95 00 01 a4 'echo' 90 c0", ENVELOPE_ANSWERABLE);
    verdict_is("94 00 01 05 90", ENVELOPE_ANSWERABLE);
    verdict_is("94 00 01 c0 90", ENVELOPE_ANSWERABLE);
    verdict_is("94 00 01 c7 01 01 'e' 90", ENVELOPE_ANSWERABLE);
    verdict_is("94 03 01 a4 'echo' 90", ENVELOPE_ANSWERABLE);
    verdict_is("94 ce ffffffff 01 a4 'echo' 90", ENVELOPE_ANSWERABLE);
}

TEST(what_nobody_could_match_is_not_answered)
{
    verdict_is("05", ENVELOPE_UNANSWERABLE);
    verdict_is("a4 'echo'", ENVELOPE_UNANSWERABLE);
    verdict_is("80", ENVELOPE_UNANSWERABLE);
    verdict_is("82 00 01 02 03", ENVELOPE_UNANSWERABLE);
    verdict_is("90", ENVELOPE_UNANSWERABLE);
    verdict_is("91 00", ENVELOPE_UNANSWERABLE);
    verdict_is("91 03", ENVELOPE_UNANSWERABLE);
    verdict_is("94 c0 01 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 ff 01 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 ca 00000000 01 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 00 ff a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 00 d0 80 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 00 ca 3f800000 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 00 a1 '1' a4 'echo' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 00 c0 a4 'echo' 90", ENVELOPE_UNANSWERABLE);
}

TEST(a_bad_notification_or_response_is_never_answered)
{
    verdict_is("92 02 a1 'n'", ENVELOPE_UNANSWERABLE);
    verdict_is("94 02 01 a1 'n' 90", ENVELOPE_UNANSWERABLE);
    verdict_is("94 02 a1 'n' 90 90", ENVELOPE_UNANSWERABLE);
    verdict_is("93 02 05 90", ENVELOPE_UNANSWERABLE);
    verdict_is("93 01 05 c0", ENVELOPE_UNANSWERABLE);
    verdict_is("94 01 ff c0 c0", ENVELOPE_UNANSWERABLE);
}

/* A method name of so many bytes. */
static enum envelope_verdict with_name(size_t len)
{
    uint8_t message[6 + METHOD_NAME_MAX + 2];
    struct envelope e;
    const char *why;

    memset(message, 'm', sizeof message);
    memcpy(message, "\x94\x00\x01\xda", 4);
    message[4] = (uint8_t)(len >> 8);
    message[5] = (uint8_t)len;
    message[6 + len] = 0x90;
    return envelope_read(span_of(message, 7 + len), &e, &why);
}

TEST(a_name_has_256_bytes_at_most)
{
    assert_int_equal(with_name(METHOD_NAME_MAX - 1), ENVELOPE_OK);
    assert_int_equal(with_name(METHOD_NAME_MAX), ENVELOPE_OK);
    assert_int_equal(with_name(METHOD_NAME_MAX + 1), ENVELOPE_ANSWERABLE);
}

/* What the scanner says of `bytes`, with or without envelope_begin(); and the envelope. */
static enum scan_verdict scan(struct span bytes, const struct scan_limits *limits, bool begin,
                              struct scanner *s, struct envelope *e)
{
    const char *why;

    scanner_init(s);
    if (begin && !envelope_begin(bytes, limits, s, e))
        return scan(bytes, limits, false, s, e);
    enum scan_verdict v = scanner_run(s, limits, bytes);
    if (v == SCAN_WHOLE && begin)
        envelope_end(e, span_of(bytes.at, s->done));
    else if (v == SCAN_WHOLE)
        assert_int_equal(envelope_read(span_of(bytes.at, s->done), e, &why), ENVELOPE_OK);
    return v;
}

static void same_both_ways(struct span bytes, const struct scan_limits *limits)
{
    struct scanner a, b;
    struct envelope plain, begun;
    enum scan_verdict v = scan(bytes, limits, false, &a, &plain);

    assert_int_equal(scan(bytes, limits, true, &b, &begun), v);
    if (v != SCAN_WHOLE)
        return;
    assert_int_equal(a.done, b.done);
    assert_int_equal(plain.type, begun.type);
    assert_true(span_equal(plain.msgid, begun.msgid) && plain.msgid.at == begun.msgid.at);
    bool request = plain.type != ENVELOPE_RESPONSE;
    assert_true(span_equal(plain.method, begun.method));
    assert_true(!request || plain.method.at == begun.method.at);
    struct span last = request ? plain.params : plain.result;
    struct span same = request ? begun.params : begun.result;
    assert_true(span_equal(last, same) && last.at == same.at);
    assert_true(span_equal(plain.error, begun.error));
}

TEST(a_beginning_changes_nothing)
{
    static const char *const texts[] = {"94 00 01 a4 'echo' 91 c4 05 'bytes' 94 00",
                                        "94 00 cf 0123456789abcdef a0 82 01 91 02 03 04",
                                        "94 00 d2 00000001 bf '0123456789012345678901234567890' 90",
                                        "94 00 01 a4 'echo' 91 91 91 c1",
                                        "94 00 7f a4 'echo' 93 dd 00000003 01 02 03 a1 'x' c0",
                                        "93 02 a6 'notify' 93 01 02 03 04",
                                        "94 01 ce 00010203 c0 c4 05 'bytes' 94 01",
                                        "94 01 07 c0 91 82 01 91 02 03 04 94 01 08 c0 c0",
                                        "94 01 07 a4 'echo' c0 94 01 08 c0 c0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hex h = hex(texts[i]);
        for (size_t len = 0; len <= h.len; len++)
            for (uint32_t max = 1; max < 60; max++)
                for (uint32_t depth = 0; depth < 5; depth++) {
                    const struct scan_limits limits = {.message_max = max, .depth_max = depth};
                    same_both_ways(span_of(h.at, len), &limits);
                }
    }
}

TEST(only_the_common_beginning_is_taken)
{
    static const char *const others[] = {
        "94 00 ff a4 'echo' 90 00 00 00 00", "94 00 01 d9 04 'echo' 90 00 00 00",
        "94 01 01 a4 'echo' 90 00 00 00 00", "94 01 ff c0 90 00 00 00 00 00 00 00",
        "94 02 01 c0 90 00 00 00 00 00 00",  "94 02 01 a4 'echo' 90 00 00 00 00",
        "95 00 01 a4 'echo' 90 00 00 00 00", "94 00 01 c0 'echo' 90 00 00 00 00",
        "94 00 d0 ff a4 'echo' 90 00 00 00"};
    static const struct scan_limits limits = {.message_max = 1000, .depth_max = 8};
    struct scanner s;
    struct envelope e;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct hex h = hex(others[i]);
        scanner_init(&s);
        assert_false(envelope_begin(hex_span(&h), &limits, &s, &e));
        assert_int_equal(s.done, 0);
    }
    struct hex h = hex("94 00 01 a4 'echo' 91 a4 'word'");
    assert_true(envelope_begin(hex_span(&h), &limits, &s, &e));
    assert_int_equal(s.done, 8);
    struct hex response = hex("94 01 cd 0102 c0 c4 05 'bytes'");
    scanner_init(&s);
    assert_true(envelope_begin(hex_span(&response), &limits, &s, &e));
    assert_int_equal(s.done, 6);
}
