/* The encoder against msgpack-c byte by byte, and the responses against golden bytes. */
#include "proto/encoder.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/proto/hex.h"

#include <msgpack.h>

struct oracle {
    msgpack_sbuffer bytes;
    msgpack_packer packer;
};

static int setup(void **state)
{
    struct oracle *o = malloc(sizeof *o);
    if (o == NULL)
        return -1;
    msgpack_sbuffer_init(&o->bytes);
    msgpack_packer_init(&o->packer, &o->bytes, msgpack_sbuffer_write);
    *state = o;
    return 0;
}

static int teardown(void **state)
{
    struct oracle *o = *state;
    msgpack_sbuffer_destroy(&o->bytes);
    free(o);
    return 0;
}

#define ENCODER_TEST(name) TEST_OF(struct oracle *o, NULL, setup, teardown, name)

/* What lies between buf and end is what the oracle packed. */
static void same(struct oracle *o, const uint8_t *buf, const uint8_t *end)
{
    assert_int_equal(end - buf, o->bytes.size);
    assert_memory_equal(buf, o->bytes.data, o->bytes.size);
    msgpack_sbuffer_clear(&o->bytes);
}

ENCODER_TEST(integers_are_the_shortest)
{
    uint8_t buf[ENC_INT_MAX];

    for (unsigned bit = 0; bit < 64; bit++)
        for (int64_t off = -2; off <= 2; off++) {
            uint64_t u = (UINT64_C(1) << bit) + (uint64_t)off;
            msgpack_pack_uint64(&o->packer, u);
            same(o, buf, enc_uint(buf, u));
            msgpack_pack_int64(&o->packer, (int64_t)u);
            same(o, buf, enc_int(buf, (int64_t)u));
            msgpack_pack_int64(&o->packer, (int64_t)(0 - u));
            same(o, buf, enc_int(buf, (int64_t)(0 - u)));
        }
}

ENCODER_TEST(headers_are_the_shortest)
{
    static const uint32_t counts[] = {0,   1,   15,    16,    31,         32,        255,
                                      256, 257, 65535, 65536, 0x7fffffff, 0xffffffff};
    uint8_t buf[ENC_HEAD_MAX];

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        msgpack_pack_array(&o->packer, counts[i]);
        same(o, buf, enc_array(buf, counts[i]));
        msgpack_pack_map(&o->packer, counts[i]);
        same(o, buf, enc_map(buf, counts[i]));
        msgpack_pack_str(&o->packer, counts[i]);
        same(o, buf, enc_str_head(buf, counts[i]));
        msgpack_pack_bin(&o->packer, counts[i]);
        same(o, buf, enc_bin_head(buf, counts[i]));
    }
}

ENCODER_TEST(small_values_are_written)
{
    uint8_t buf[32];

    msgpack_pack_nil(&o->packer);
    same(o, buf, enc_nil(buf));
    msgpack_pack_true(&o->packer);
    same(o, buf, enc_bool(buf, true));
    msgpack_pack_false(&o->packer);
    same(o, buf, enc_bool(buf, false));
    msgpack_pack_double(&o->packer, -0.1);
    same(o, buf, enc_double(buf, -0.1));
    msgpack_pack_str_with_body(&o->packer, "kala", 4);
    same(o, buf, enc_str(buf, span_text("kala")));
    msgpack_pack_bin_with_body(&o->packer, "\0\1", 2);
    same(o, buf, enc_bin(buf, span_of("\0\1", 2)));
    msgpack_pack_bin(&o->packer, 0);
    same(o, buf, enc_bin(buf, span_of(NULL, 0)));
}

static void is_hex(const uint8_t *buf, const uint8_t *end, const char *expected)
{
    struct hex h = hex(expected);

    assert_int_equal(end - buf, h.len);
    assert_memory_equal(buf, h.at, h.len);
}

TEST(the_id_goes_back_as_it_came)
{
    static const char *const ids[] = {"05", "cc 05", "d1 00 05", "cf 00 00 00 01 00 00 00 00",
                                      "d3 00 00 00 00 00 00 00 05"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct hex id = hex(ids[i]);
        char expected[64];
        uint8_t buf[ENC_RESPONSE_MAX];
        snprintf(expected, sizeof expected, "94 01 %s c0", ids[i]);
        is_hex(buf, enc_response_head(buf, hex_span(&id)), expected);
    }
}

static void error_is(enum error_shape shape, struct error_answer error, const char *expected)
{
    struct hex id = hex("07");
    uint8_t buf[128];

    is_hex(buf, enc_error_response(buf, sizeof buf, hex_span(&id), shape, &error), expected);
}

TEST(an_error_has_three_shapes)
{
    struct span text = span_text("no");

    error_is(ERROR_SHAPE_TEXT, (struct error_answer){.code = ERGON_E_BUSY, .text = text},
             "94 01 07 a8 'BUSY: no' c0");
    error_is(ERROR_SHAPE_PAIR, (struct error_answer){.code = ERGON_E_NO_METHOD, .text = text},
             "94 01 07 92 d1 80a7 ad 'NO_METHOD: no' c0");
    error_is(
        ERROR_SHAPE_MAP, (struct error_answer){.code = ERGON_E_BUSY, .text = text},
        "94 01 07 84 a4 'code' 02 a7 'message' a8 'BUSY: no' a9 'retryable' c3 a4 'data' c0 c0");
}

TEST(an_error_without_text_says_its_meaning)
{
    error_is(ERROR_SHAPE_TEXT, (struct error_answer){.code = ERGON_E_NOT_FOUND},
             "94 01 07 da 0021 'NOT_FOUND: there is no such thing' c0");
    error_is(ERROR_SHAPE_TEXT,
             (struct error_answer){.code = ERGON_E_BUSY, .text = span_text("n\xe9")},
             "94 01 07 aa 'BUSY: n' efbfbd c0");
}

TEST(a_handler_names_its_own_error)
{
    error_is(ERROR_SHAPE_PAIR,
             (struct error_answer){
                 .code = ERGON_E_FAILED, .name = span_text("NO_SPACE"), .text = span_text("full")},
             "94 01 07 92 01 ae 'NO_SPACE: full' c0");
}

/* In every shape, for names and texts of any length: within the room, whole, and as long as can be.
 */
static void cut_is_within(size_t room, enum error_shape shape, const struct error_answer *error)
{
    static const struct scan_limits limits = {.message_max = 4096, .depth_max = 8};
    struct hex id = hex("cf ffffffff ffffffff");
    uint8_t buf[512];
    uint8_t *end = enc_error_response(buf, room, hex_span(&id), shape, error);
    struct scanner s;

    assert_in_range(end - buf, 16, room);
    scanner_init(&s);
    assert_int_equal(scanner_run(&s, &limits, span_of(buf, (size_t)(end - buf))), SCAN_WHOLE);
    assert_int_equal(s.done, end - buf);
    if (error->text.len >= room)
        assert_true((size_t)(end - buf) + 8 >= room);
}

TEST(a_long_error_is_cut_to_its_room)
{
    char text[600];

    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "ä", 2);
    for (size_t room = 128; room < 512; room += 13)
        for (unsigned shape = 0; shape < 3; shape++)
            for (size_t len = 0; len <= sizeof text; len += 50) {
                struct error_answer error = {.code = ERGON_E_BAD_REQUEST,
                                             .name = span_of(text, len / 2),
                                             .text = span_of(text, len)};
                cut_is_within(room, (enum error_shape)shape, &error);
            }
}

TEST(a_cut_text_keeps_its_characters_whole)
{
    char text[301] = "x";
    uint8_t buf[128];
    struct hex id = hex("00");

    for (size_t i = 1; i < 300; i += 3)
        memcpy(text + i, "€", i + 3 <= sizeof text ? 3 : 1);
    for (size_t room = sizeof buf; room > 124; room--) {
        struct error_answer error = {.code = ERGON_E_FAILED, .text = span_of(text, 300)};
        uint8_t *end = enc_error_response(buf, room, hex_span(&id), ERROR_SHAPE_TEXT, &error);
        struct reader r = reader_of(span_of(buf, (size_t)(end - buf)));
        uint32_t parts;
        struct span raw;
        struct span message;
        assert_true(read_array(&r, &parts) && read_any(&r, &raw) && read_any(&r, &raw));
        assert_true(read_text(&r, &message));
        assert_int_equal((message.len - strlen("FAILED: x")) % 3, 0);
    }
}
