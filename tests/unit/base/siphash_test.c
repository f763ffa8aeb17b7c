#include "base/siphash.h"

#include "tests/support/cmocka_env.h"

static const uint64_t seed[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/* Of the bytes 0, 1, 2, ...: the first with the seed of the authors' own tests, the others with
 * none, as CPython hashes bytes when PYTHONHASHSEED is 0. */
TEST(hashes_as_others_do)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } seeded[] = {{0, 0xabac0158050fc4dc}, {1, 0xc9f49bf37d57ca93}, {4, 0xcf75576088d38328}},
      plain[] = {{1, 0x68a914128e01e473}, {7, 0x2f098ab0c751325a},  {8, 0xead411e67ebe2eea},
                 {9, 0x75927f9d95124362}, {15, 0xf30eb725bb91c9ea}, {16, 0x8972188433a5c5b7},
                 {63, 0x385d3e39e5f37359}};
    static const uint64_t none[2];
    uint8_t bytes[64];
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof seeded / sizeof *seeded; i++)
        assert_int_equal(siphash(seed, span_of(bytes, seeded[i].len)), seeded[i].hash);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_int_equal(siphash(none, span_of(bytes, plain[i].len)), plain[i].hash);
}
