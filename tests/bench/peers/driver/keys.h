/* The keys that requests name: "counter/00000000" and so on, which are actors of
 * tests/bench/actors, too. */
#ifndef ERGON_PEERS_KEYS_H
#define ERGON_PEERS_KEYS_H

#include "tests/bench/peers/driver/protocol.h"

enum { KEY_DIGITS = 8, KEY_LENGTH = 8 + KEY_DIGITS, KEYS_MAX = 100000000 };

/* Bits that say nothing of those of the next number (splitmix64). */
static inline uint64_t key_mix(uint64_t v)
{
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

/* Writes the name of the request's key, KEY_LENGTH bytes. */
static inline void key_put(char *to, const struct request *r)
{
    const struct shape *s = r->work;
    uint64_t key = (s->in_order ? r->number : key_mix(r->number)) % s->keys;

    memcpy(to, "counter/", KEY_LENGTH - KEY_DIGITS);
    for (int i = KEY_LENGTH; i-- > KEY_LENGTH - KEY_DIGITS; key /= 10)
        to[i] = (char)('0' + key % 10);
}

#endif
