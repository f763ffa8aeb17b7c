#include "tests/fuzz/fuzz_rest.h"

static struct span rest;

void fuzz_begin(const uint8_t *data, size_t size)
{
    rest = span_of(data, size);
}

struct span fuzz_rest(void)
{
    return rest;
}

bool fuzz_more(void)
{
    return rest.len > 0;
}

uint8_t fuzz_byte(void)
{
    struct span s = fuzz_bytes(1);

    return s.len > 0 ? *s.at : 0;
}

struct span fuzz_bytes(size_t most)
{
    struct span s = span_of(rest.at, most < rest.len ? most : rest.len);

    rest = span_behind(rest, s.len);
    return s;
}

uint64_t fuzz_number(void)
{
    struct span bytes = fuzz_bytes(fuzz_byte() % 9);
    uint64_t n = 0;

    for (size_t i = 0; i < bytes.len; i++)
        n = n << 8 | bytes.at[i];
    return n;
}
