/* A traceparent, and a tracestate.  An input is a text.
 *
 * The rules of the format are looked at a second time, each by itself; what is taken is written as
 * a text of version 00 that is taken as the same. */
#include <string.h>

#include "proto/traceparent.h"
#include "tests/fuzz/fuzz.h"

static bool is_hex(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == 0 || !strchr("0123456789abcdef", text[i]))
            return false;
    return true;
}

static bool is_zeroes(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != '0')
            return false;
    return true;
}

static bool is_one(const uint8_t *text, size_t size)
{
    if (size < 55 || size > TRACEPARENT_LONGEST)
        return false;
    if (text[2] != '-' || text[35] != '-' || text[52] != '-')
        return false;
    if (!is_hex(text, 2) || !is_hex(text + 3, 32) || !is_hex(text + 36, 16) ||
        !is_hex(text + 53, 2))
        return false;
    if (is_zeroes(text + 3, 32) || is_zeroes(text + 36, 16) || memcmp(text, "ff", 2) == 0)
        return false;
    return size == 55 || (memcmp(text, "00", 2) != 0 && text[55] == '-');
}

static void check_state(const uint8_t *data, size_t size)
{
    bool good = size > 0 && size <= TRACESTATE_MAX;
    for (size_t i = 0; i < size; i++)
        good = good && data[i] >= ' ' && data[i] <= '~';
    CHECK(tracestate_valid(span_of(data, size)) == good);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct trace_context context = {0}, again = {0};
    char text[TRACEPARENT_SIZE];

    check_state(data, size);
    bool taken = traceparent_parse(span_of(data, size), &context);
    CHECK(taken == is_one(data, size) && taken == trace_context_is(&context));
    if (!taken)
        return;
    traceparent_text(&context, text);
    CHECK(memcmp(text, "00", 2) == 0 && memcmp(text + 2, data + 2, TRACEPARENT_LEN - 2) == 0);
    CHECK(traceparent_parse(span_text(text), &again));
    CHECK(memcmp(&again, &context, sizeof context) == 0);
}
