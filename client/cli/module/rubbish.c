#include "client/cli/module/rubbish.h"

#include <math.h>

/* --- Values at the borders --- */

static const int64_t INTEGERS[] = {0,
                                   1,
                                   -1,
                                   31,
                                   127,
                                   128,
                                   255,
                                   256,
                                   32767,
                                   32768,
                                   65535,
                                   65536,
                                   -32,
                                   -33,
                                   -128,
                                   -129,
                                   -32768,
                                   -32769,
                                   1000,
                                   4096,
                                   100000,
                                   86400,
                                   1 << 30,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT32_MAX + INT64_C(1),
                                   INT32_MIN - INT64_C(1),
                                   UINT32_MAX,
                                   UINT32_MAX + INT64_C(1),
                                   INT64_C(1) << 53};
static const double FLOATS[] = {0.0,    -0.0,    0.5,    -1.5, 1e308,    -1e308,   5e-324,
                                9.3e18, -9.3e18, 1.9e19, 1e-9, INFINITY, -INFINITY};

struct text {
    const char *at;
    uint32_t len;
};
#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
static const struct text TEXTS[] = {
    TEXT(""),
    TEXT("a"),
    TEXT("0"),
    TEXT("-1"),
    TEXT("1e999"),
    TEXT("null"),
    TEXT(" "),
    TEXT("\n"),
    TEXT("%s%n%s%n%s%n"),
    TEXT("../../../../etc/passwd"),
    TEXT("a\0b"),
    TEXT("\0"),
    TEXT("'; \"\\"),
    TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
    TEXT("\xe2\x80\xae"),     /* right to left */
    TEXT("\xff\xfe\x80"),     /* from here on no UTF-8 */
    TEXT("\xc0\x80"),         /* an overlong NUL */
    TEXT("\xed\xa0\x80"),     /* half of a pair */
    TEXT("\xf0\x9f\x98"),     /* cut */
    TEXT("\xf5\x80\x80\x80"), /* above U+10FFFF */
};
static const uint32_t LENGTHS[] = {31, 32, 255, 256, 4096, 65535, 65536};
struct extension {
    int8_t type;
    uint32_t len;
};
static const struct extension EXTENSIONS[] = {{0, 1},  {1, 2},  {-1, 4},  {-1, 8},    {-1, 12},
                                              {-1, 3}, {5, 16}, {127, 0}, {-128, 300}};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

static void pack_text(struct pack *to, const char *at, uint32_t len)
{
    pack_span(to, span_of(at, len));
}

static void pack_bytes_of(struct pack *to, const char *at, uint32_t len)
{
    to->failed |=
        msgpack_pack_bin(&to->packer, len) != 0 || msgpack_pack_bin_body(&to->packer, at, len) != 0;
}

/* A byte again and again: a str, or with `bin` bytes. */
static void pack_run(struct pack *to, bool bin, uint32_t len)
{
    char run[4096];
    memset(run, 'x', sizeof run);
    to->failed |=
        (bin ? msgpack_pack_bin(&to->packer, len) : msgpack_pack_str(&to->packer, len)) != 0;
    for (uint32_t part; len > 0; len -= part) {
        part = len < sizeof run ? len : (uint32_t)sizeof run;
        to->failed |= (bin ? msgpack_pack_bin_body(&to->packer, run, part)
                           : msgpack_pack_str_body(&to->packer, run, part)) != 0;
    }
}

static void pack_extension(struct pack *to, struct extension e)
{
    static const char body[300] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    to->failed |= msgpack_pack_ext(&to->packer, e.len, e.type) != 0 ||
                  (e.len > 0 && msgpack_pack_ext_body(&to->packer, body, e.len) != 0);
}

static void pack_int(struct pack *to, int64_t v)
{
    to->failed |= msgpack_pack_int64(&to->packer, v) != 0;
}

static void pack_real(struct pack *to, double v)
{
    to->failed |= msgpack_pack_double(&to->packer, v) != 0;
}

/* Arrays or maps in one another, `depth` of them. */
static void pack_nest(struct pack *to, bool maps, uint32_t depth)
{
    for (uint32_t i = 1; i < depth; i++)
        if (maps) {
            pack_map(to, 1);
            pack_int(to, i);
        } else {
            pack_array(to, 1);
        }
    pack_array(to, 0);
}

static void pack_many(struct pack *to, uint32_t count)
{
    pack_array(to, count);
    for (uint32_t i = 0; i < count; i++)
        pack_nil(to);
}

/* Keys of every type, of which some come twice. */
static void pack_odd_keys(struct pack *to)
{
    pack_map(to, 10);
    for (int i = 0; i < 2; i++) {
        pack_key_uint(to, "a", 1);
        pack_nil(to);
        pack_nil(to);
        pack_bool(to, true);
        pack_int(to, INT64_MIN);
        pack_real(to, NAN);
        pack_text(to, "", 0);
        pack_array(to, 0);
        pack_map(to, 0);
    }
}

static void pack_wide_map(struct pack *to, uint32_t pairs)
{
    pack_map(to, pairs);
    for (uint32_t i = 0; i < pairs; i++) {
        pack_int(to, i);
        pack_nil(to);
    }
}

/* What is of no table. */
enum { ODD_COUNT = 17 };
static void pack_odd(struct pack *to, uint32_t which, uint32_t depth)
{
    switch (which) {
    case 0:
        pack_nil(to);
        break;
    case 1:
    case 2:
        pack_bool(to, which == 1);
        break;
    case 3:
    case 4: /* above the largest that has a sign */
        pack_uint(to, which == 3 ? UINT64_MAX : (uint64_t)INT64_MAX + 1);
        break;
    case 5:
        pack_real(to, NAN);
        break;
    case 6:
        to->failed |= msgpack_pack_float(&to->packer, 3.5F) != 0;
        break;
    case 7:
    case 8:
        pack_many(to, which == 7 ? 0 : 70000);
        break;
    case 9:
    case 10:
        pack_wide_map(to, which == 9 ? 0 : 1000);
        break;
    case 11:
        pack_odd_keys(to);
        break;
    case 12:
    case 13:
        pack_nest(to, which == 13, depth);
        break;
    case 14:
        pack_nest(to, false, 2);
        break;
    case 15:
        pack_many(to, 3);
        break;
    default:
        pack_run(to, true, 0);
    }
}

enum {
    TEXTS_AT = COUNT(INTEGERS) + COUNT(FLOATS),
    RUNS_AT = TEXTS_AT + 2 * COUNT(TEXTS),
    EXTENSIONS_AT = RUNS_AT + 2 * COUNT(LENGTHS),
    ODD_AT = EXTENSIONS_AT + COUNT(EXTENSIONS),
    BORDERS = ODD_AT + ODD_COUNT
};

/* Each text is a str, and the same as bytes.  None has more levels than `depth`. */
static void pack_border(struct pack *to, uint32_t which, uint32_t depth)
{
    if (which < COUNT(INTEGERS)) {
        pack_int(to, INTEGERS[which]);
    } else if (which < TEXTS_AT) {
        pack_real(to, FLOATS[which - COUNT(INTEGERS)]);
    } else if (which < RUNS_AT) {
        const struct text *t = &TEXTS[(which - TEXTS_AT) / 2];
        if ((which - TEXTS_AT) % 2 == 0)
            pack_text(to, t->at, t->len);
        else
            pack_bytes_of(to, t->at, t->len);
    } else if (which < EXTENSIONS_AT) {
        pack_run(to, (which - RUNS_AT) % 2, LENGTHS[(which - RUNS_AT) / 2]);
    } else if (which < ODD_AT) {
        pack_extension(to, EXTENSIONS[which - EXTENSIONS_AT]);
    } else {
        pack_odd(to, which - ODD_AT, depth);
    }
}

static void pack_large(struct pack *to, uint32_t which)
{
    if (which == 2)
        pack_many(to, RUBBISH_LARGE);
    else
        pack_run(to, which == 1, RUBBISH_LARGE);
}

/* --- Values by chance --- */

enum { LEVELS = 4 };

static uint32_t below(struct bench_random *c, uint32_t most)
{
    return (uint32_t)(bench_random_next(c) % most);
}

static void pack_noise(struct pack *to, struct bench_random *c)
{
    uint64_t noise[8];
    uint32_t len = below(c, sizeof noise + 1);
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        noise[i] = bench_random_next(c);
    if (below(c, 2) == 0)
        pack_text(to, (const char *)noise, len);
    else
        pack_bytes_of(to, (const char *)noise, len);
}

static void pack_number(struct pack *to, struct bench_random *c)
{
    uint64_t any = bench_random_next(c) >> below(c, 64);
    if (below(c, 4) == 0)
        pack_real(to, ((double)any - 1e3) / (1 + below(c, 1000)));
    else
        pack_int(to, below(c, 2) == 0 ? (int64_t)any : (int64_t)(UINT64_C(0) - any));
}

static void pack_word(const struct rubbish *r, struct pack *to, struct bench_random *c)
{
    if (r->words->count == 0)
        pack_noise(to, c);
    else
        pack_span(to, r->words->at[below(c, r->words->count)]);
}

/* Once there is much, there is no more: a message has a limit. */
static void pack_leaf(const struct rubbish *r, struct pack *to, struct bench_random *c)
{
    if (pack_size(to) > RUBBISH_LARGE) {
        pack_nil(to);
        return;
    }
    switch (below(c, 8)) {
    case 0:
    case 1:
        pack_border(to, below(c, BORDERS), RUBBISH_DEPTH - LEVELS);
        break;
    case 2:
    case 3:
        pack_word(r, to, c);
        break;
    case 4:
        pack_noise(to, c);
        break;
    default:
        pack_number(to, c);
    }
}

/* A value with at most so many levels below it, the last of which have leaves that are none. */
static void pack_chance(const struct rubbish *r, struct pack *to, struct bench_random *c,
                        uint32_t levels)
{
    uint32_t kind = levels > 0 ? below(c, 6) : 2, count = below(c, 5);
    if (kind == 0) {
        pack_array(to, count);
        for (uint32_t i = 0; i < count; i++)
            pack_chance(r, to, c, levels - 1);
    } else if (kind == 1) {
        pack_map(to, count);
        for (uint32_t i = 0; i < count; i++) {
            if (below(c, 8) == 0)
                pack_number(to, c);
            else
                pack_word(r, to, c);
            pack_chance(r, to, c, levels - 1);
        }
    } else if (levels > 0) {
        pack_leaf(r, to, c);
    } else {
        pack_word(r, to, c);
    }
}

void rubbish_value(const struct rubbish *r, struct bench_random *chance, struct pack *to)
{
    pack_chance(r, to, chance, LEVELS);
}

static void pack_text_like(const struct rubbish *r, struct bench_random *c, struct pack *to)
{
    const struct text *t = &TEXTS[below(c, COUNT(TEXTS))];
    switch (below(c, 4)) {
    case 0:
        pack_text(to, t->at, t->len);
        break;
    case 1:
        pack_run(to, false, LENGTHS[below(c, COUNT(LENGTHS))]);
        break;
    default:
        pack_word(r, to, c);
    }
}

/* Small integers are worth more than their share: 0, 1 and -1 come first. */
void rubbish_like(const struct rubbish *r, struct bench_random *chance, const msgpack_object *other,
                  struct pack *to)
{
    enum { SMALL = 3 };
    bool is_int = other->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
                  other->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
    bool is_real = other->type == MSGPACK_OBJECT_FLOAT32 || other->type == MSGPACK_OBJECT_FLOAT64;
    if (is_int)
        pack_int(to, INTEGERS[below(chance, below(chance, 2) == 0 ? SMALL : COUNT(INTEGERS))]);
    else if (is_real)
        pack_real(to, FLOATS[below(chance, COUNT(FLOATS))]);
    else if (other->type == MSGPACK_OBJECT_STR)
        pack_text_like(r, chance, to);
    else
        pack_chance(r, to, chance, LEVELS);
}

/* Few more often than many. */
static void pack_by_chance(const struct rubbish *r, uint64_t number, struct pack *to)
{
    struct bench_random c = {r->seed};
    c.state = bench_random_next(&c) + number;
    uint32_t most = below(&c, 4) == 0 ? RUBBISH_PARAMS_MAX : 4, count = 1 + below(&c, most);
    pack_array(to, count);
    for (uint32_t i = 0; i < count; i++)
        pack_chance(r, to, &c, LEVELS);
}

/* --- By number --- */

enum { COUNTS = 3 * RUBBISH_PARAMS_MAX, LARGE_COUNT = 3 };

uint64_t rubbish_fixed(const struct rubbish *r)
{
    return 1 + BORDERS + COUNTS + LARGE_COUNT + r->words->count;
}

static void pack_count(struct pack *to, uint32_t which)
{
    uint32_t count = 1 + which % RUBBISH_PARAMS_MAX, kind = which / RUBBISH_PARAMS_MAX;
    pack_array(to, count);
    for (uint32_t i = 0; i < count; i++)
        if (kind == 0)
            pack_nil(to);
        else if (kind == 1)
            pack_int(to, 1);
        else
            pack_text(to, "a", 1);
}

void rubbish_pack(const struct rubbish *r, uint64_t number, struct pack *to)
{
    uint64_t n = number - 2; /* among those that have a parameter */
    if (number > rubbish_fixed(r)) {
        pack_by_chance(r, number, to);
    } else if (number <= 1) {
        pack_array(to, 0);
    } else if (n >= BORDERS && n < BORDERS + COUNTS) {
        pack_count(to, (uint32_t)(n - BORDERS));
    } else {
        pack_array(to, 1);
        if (n < BORDERS)
            pack_border(to, (uint32_t)n, RUBBISH_DEPTH);
        else if (n < BORDERS + COUNTS + LARGE_COUNT)
            pack_large(to, (uint32_t)(n - BORDERS - COUNTS));
        else
            pack_span(to, r->words->at[n - BORDERS - COUNTS - LARGE_COUNT]);
    }
}
