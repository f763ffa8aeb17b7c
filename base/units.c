#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Each table from the largest unit to the smallest. */
static const struct unit durations[] = {
    {"d", 86400000000000}, {"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
    {"ms", 1000000},       {"us", 1000},         {"ns", 1},
};

static const struct unit sizes[] = {{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}, {"b", 1}};

enum { DURATIONS = sizeof durations / sizeof *durations, SIZES = sizeof sizes / sizeof *sizes };

enum { DIGITS_MAX = 20 /* of UINT64_MAX; with zeros in front, too, nobody needs more */ };

/* Takes the digits at the front of *text.  False when there are none, or too many, or they
 * overflow. */
static bool take_digits(struct span *text, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < text->len && text->at[i] >= '0' && text->at[i] <= '9'; i++)
        if (i == DIGITS_MAX || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(text->at[i] - '0'), &n))
            return false;
    *text = span_behind(*text, i);
    *out = n;
    return i > 0;
}

static char lower(uint8_t c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* "k", "kb", "kib" and their capitals for the unit "k"; "b" only for itself. */
static bool is_size_unit(struct span text, const char *letter)
{
    char low[3] = {0};

    if (text.len == 0 || text.len > sizeof low)
        return false;
    for (size_t i = 0; i < text.len; i++)
        low[i] = lower(text.at[i]);
    struct span tail = span_of(low + 1, text.len - 1);
    if (low[0] != *letter)
        return false;
    return tail.len == 0 || (*letter != 'b' && (span_is(tail, "b") || span_is(tail, "ib")));
}

/* A number that stands for itself only when it is 0. */
static bool bare_zero(struct span rest, uint64_t n, uint64_t *out)
{
    *out = 0;
    return rest.len == 0 && n == 0;
}

bool units_duration(struct span text, uint64_t *ns)
{
    uint64_t n;

    if (!take_digits(&text, &n))
        return false;
    for (size_t i = 0; i < DURATIONS; i++)
        if (span_is(text, durations[i].name))
            return !__builtin_mul_overflow(n, durations[i].factor, ns);
    return bare_zero(text, n, ns);
}

bool units_duration_too_long(struct span text)
{
    size_t digits = 0;

    while (digits < text.len && text.at[digits] >= '0' && text.at[digits] <= '9')
        digits++;
    struct span unit = span_behind(text, digits);
    for (size_t i = 0; digits > 0 && i < DURATIONS; i++)
        if (span_is(unit, durations[i].name))
            return true;
    return false;
}

const char *units_duration_expected(struct span text)
{
    return units_duration_too_long(text) ? "a duration of at most 213503d"
                                         : "a duration with a unit, as 250ms or 5s";
}

bool units_size(struct span text, uint64_t *bytes)
{
    uint64_t n;

    if (!take_digits(&text, &n))
        return false;
    for (size_t i = 0; i < SIZES; i++)
        if (is_size_unit(text, sizes[i].name))
            return !__builtin_mul_overflow(n, sizes[i].factor, bytes);
    return bare_zero(text, n, bytes);
}

static const char *text_of(uint64_t n, const struct unit *unit, char *buf, size_t size)
{
    while (n % unit->factor != 0)
        unit++;
    snprintf(buf, size, "%" PRIu64 "%s", n / unit->factor, n == 0 ? "" : unit->name);
    return buf;
}

const char *units_duration_text(uint64_t ns, char *buf, size_t size)
{
    return text_of(ns, durations, buf, size);
}

const char *units_size_text(uint64_t bytes, char *buf, size_t size)
{
    return text_of(bytes, sizes, buf, size);
}
