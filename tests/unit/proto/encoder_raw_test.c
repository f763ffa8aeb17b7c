#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/proto/hex.h"

#define EIGHT       "'eightlet'"
#define FORTY       EIGHT EIGHT EIGHT EIGHT EIGHT
#define TWO_HUNDRED FORTY FORTY FORTY FORTY FORTY

static void becomes(const char *in, const char *out)
{
    struct hex before = hex(in);
    struct hex after = hex(out);
    uint8_t buf[HEX_MAX];

    assert_int_equal(enc_raw_length(hex_span(&before)), after.len);
    assert_ptr_equal(enc_raw(buf, hex_span(&before)), buf + after.len);
    assert_memory_equal(buf, after.at, after.len);
}

TEST(old_values_stay)
{
    static const char *const old[] = {
        "c0",
        "c2",
        "c3",
        "05",
        "e0",
        "cc ff",
        "cb 3ff0000000000000",
        "a3 'abc'",
        "da 0003 'abc'",
        "90",
        "93 01 02 03",
        "81 a1 'k' 05",
        "dc 0001 05",
        "db 00000003 'abc'",
    };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        becomes(old[i], old[i]);
}

TEST(new_strings_become_old)
{
    becomes("d9 28" FORTY, "da 0028" FORTY);
    becomes("d9 c8" TWO_HUNDRED, "da 00c8" TWO_HUNDRED);
    becomes("d9 03 'abc'", "a3 'abc'");
}

TEST(bin_becomes_a_string)
{
    becomes("c4 00", "a0");
    becomes("c4 03 'abc'", "a3 'abc'");
    becomes("c4 28" FORTY, "da 0028" FORTY);
    becomes("c5 00c8" TWO_HUNDRED, "da 00c8" TWO_HUNDRED);
    becomes("c6 00000028" FORTY, "da 0028" FORTY);
}

TEST(ext_becomes_nil)
{
    becomes("d4 ff 00", "c0");
    becomes("d6 ff 00000000", "c0");
    becomes("d8 01 00000000 00000000 00000000 00000000", "c0");
    becomes("c7 03 01 'abc'", "c0");
    becomes("c8 0003 01 'abc'", "c0");
    becomes("c9 00000003 01 'abc'", "c0");
}

TEST(it_reaches_into_arrays_and_maps)
{
    becomes("93 c4 01 'a' 81 c4 01 'k' 92 d4 01 00 d9 01 'b' c4 01 'c'",
            "93 a1 'a' 81 a1 'k' 92 c0 a1 'b' a1 'c'");
}

TEST(a_string_of_70000_bytes_keeps_a_long_header)
{
    enum { LEN = 70000 };
    uint8_t *in = calloc(1, LEN + ENC_HEAD_MAX);
    uint8_t *out = calloc(1, LEN + ENC_HEAD_MAX);

    assert_true(in != NULL && out != NULL);
    struct span v = span_of(in, (size_t)(enc_bin_head(in, LEN) - in) + LEN);
    assert_int_equal(enc_raw_length(v), LEN + 5);
    assert_ptr_equal(enc_raw(out, v), out + LEN + 5);
    assert_memory_equal(out, "\xdb\x00\x01\x11\x70", 5);
    free(out);
    free(in);
}
