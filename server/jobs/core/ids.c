#include "server/jobs/core/ids.h"

#include <assert.h>
#include <stdio.h>

#define EPOCH_MS UINT64_C(1577836800000) /* of 1 January 2020, Unix */
#define EPOCH_US (EPOCH_MS * 1000)

enum { COUNT_BITS = 22, DIGITS = 13, DIGIT_BITS = 5, TOP_DIGIT_MAX = 15 /* of 64 bits */ };

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* without i, l, o, u */

/* Of each byte its place in the alphabet and one more; 0: it is no digit. */
static const uint8_t places[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['g'] = 17, ['h'] = 18, ['j'] = 19, ['k'] = 20, ['m'] = 21, ['n'] = 22, ['p'] = 23, ['q'] = 24,
    ['r'] = 25, ['s'] = 26, ['t'] = 27, ['v'] = 28, ['w'] = 29, ['x'] = 30, ['y'] = 31, ['z'] = 32};

uint64_t id_first(uint64_t unix_ns, uint64_t last)
{
    uint64_t ms = unix_ns / 1000000;
    uint64_t first = ms > EPOCH_MS ? (ms - EPOCH_MS) << COUNT_BITS : 0;
    return first > last ? first : last + 1;
}

const char *id_text(uint64_t id, char buf[static ID_TEXT_SIZE])
{
    buf[0] = 't';
    for (int i = DIGITS; i > 0; i--, id >>= DIGIT_BITS)
        buf[i] = alphabet[id & 31];
    buf[DIGITS + 1] = '\0';
    return buf;
}

const char *id_calls_text(uint64_t id, uint32_t round, char buf[static ID_CALLS_SIZE])
{
    id_text(id, buf);
    if (round > 0)
        snprintf(buf + ID_TEXT_LEN, ID_CALLS_SIZE - ID_TEXT_LEN, ".%u", (unsigned)round);
    return buf;
}

static bool parse(struct span text, uint8_t head, uint64_t *id)
{
    uint64_t value = 0;
    uint8_t all = 0; /* bits of all digits: more than 31, one is none */
    if (text.len != DIGITS + 1 || text.at[0] != head || places[text.at[1]] > TOP_DIGIT_MAX + 1)
        return false;
    for (int i = 1; i <= DIGITS; i++) {
        uint8_t digit = (uint8_t)(places[text.at[i]] - 1);
        all = (uint8_t)(all | digit);
        value = value << DIGIT_BITS | (digit & 31);
    }
    if (all > 31)
        return false;
    *id = value;
    return value != 0;
}

bool id_parse(struct span text, uint64_t *id)
{
    return parse(text, 't', id);
}

const char *id_batch_text(uint64_t id, char buf[static ID_TEXT_SIZE])
{
    id_text(id, buf);
    buf[0] = 'b';
    return buf;
}

bool id_batch_parse(struct span text, uint64_t *id)
{
    return parse(text, 'b', id);
}

uint64_t stamp_next(uint64_t *last, uint64_t unix_ns)
{
    uint64_t us = unix_ns / 1000;
    us = us > EPOCH_US ? us - EPOCH_US : 0;
    *last = us > *last ? us : *last + 1;
    assert(*last < UINT64_C(1) << 53);
    return *last;
}

void stamp_past(uint64_t *last, uint64_t stamp)
{
    if (*last < stamp)
        *last = stamp;
}
