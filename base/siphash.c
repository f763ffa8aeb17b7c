#include "base/siphash.h"

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t turned(uint64_t x, unsigned left)
{
    return x << left | x >> (64 - left);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->b = turned(s->b, 13) ^ s->a;
    s->a = turned(s->a, 32);
    s->c += s->d;
    s->d = turned(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = turned(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = turned(s->b, 17) ^ s->c;
    s->c = turned(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

/* Little-endian, at most eight bytes. */
static inline uint64_t word_of(const uint8_t *at, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

/* Those behind the whole words; behind one they are the end of eight that are read at once. */
static inline uint64_t rest_of(struct span bytes, size_t whole)
{
    size_t rest = bytes.len - whole;
    if (rest == 0 || whole == 0)
        return rest > 0 ? word_of(bytes.at, rest) : 0;
    return word_of(bytes.at + bytes.len - 8, 8) >> (8 * (8 - rest));
}

uint64_t siphash(const uint64_t seed[2], struct span bytes)
{
    struct sip s = {seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d,
                    seed[0] ^ 0x6c7967656e657261, seed[1] ^ 0x7465646279746573};
    size_t whole = bytes.len & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        sip_word(&s, word_of(bytes.at + i, 8));
    sip_word(&s, rest_of(bytes, whole) | (uint64_t)bytes.len << 56);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
