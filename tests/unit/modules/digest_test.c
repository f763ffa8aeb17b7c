/* hash. */
#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/modules/builtin_world.h"

static uint8_t params[100000];

static struct span call_of(const char *algorithm, size_t len, const char *form)
{
    static uint8_t data[90000];
    uint8_t *p = enc_array(params, form ? 3 : 2);
    p = enc_bin(enc_str(p, span_text(algorithm)), span_of(data, len));
    if (form)
        p = enc_str(p, span_text(form));
    return span_of(params, (size_t)(p - params));
}

BUILTIN_TEST(known_digests)
{
    assert_int_equal(builtin_call("hash", call_of("md5", 0, "hex")), 0);
    builtin_expect_bytes(span_text("d41d8cd98f00b204e9800998ecf8427e"));
    assert_int_equal(builtin_call("hash", call_of("sha1", 0, NULL)), 0);
    builtin_expect_bytes(span_text("\xda\x39\xa3\xee\x5e\x6b\x4b\x0d\x32\x55"
                                   "\xbf\xef\x95\x60\x18\x90\xaf\xd8\x07\x09"));
}

BUILTIN_TEST(what_it_refuses)
{
    assert_int_equal(builtin_call("hash", call_of("sha255", 3, NULL)), -1);
    builtin_expect_failure("BAD_PARAMS", "sha255");
    assert_int_equal(builtin_call("hash", call_of("md5", 3, "base64")), -1);
    builtin_expect_failure("BAD_PARAMS", "hex");
    assert_int_equal(builtin_call("hash", call_of("a-name-longer-than-any-algorithm-has", 3, NULL)),
                     -1);
    builtin_expect_failure("BAD_PARAMS", "algorithm");
    assert_int_equal(builtin_call("hash", params_none()), -1);
    builtin_expect_failure("BAD_PARAMS", "hash takes");
}

BUILTIN_TEST(without_memory)
{
    builtin_call_without_memory("hash", call_of("sha512", 90000, "hex"));
    builtin_call_without_memory("hash", call_of("sha256", 10, NULL));
}
