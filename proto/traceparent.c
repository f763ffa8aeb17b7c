#include "proto/traceparent.h"

enum { AT_TRACE = 3, AT_SPAN = 36, AT_FLAGS = 53 };

static bool is_zero(const uint8_t *bytes, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= bytes[i];
    return any == 0;
}

bool trace_context_is(const struct trace_context *context)
{
    return !is_zero(context->trace, TRACE_ID_LEN);
}

/* -1: it is none, or an upper-case one, which the format has not. */
static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const uint8_t *text, uint8_t *out, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Version 00 ends there; a later one may go on behind a '-'. */
static bool ends_well(struct span text, uint8_t version)
{
    if (text.len == TRACEPARENT_LEN)
        return true;
    return version > 0 && text.at[TRACEPARENT_LEN] == '-' && text.len <= TRACEPARENT_LONGEST;
}

bool traceparent_parse(struct span text, struct trace_context *out)
{
    enum { VERSION_NONE = 0xff };
    struct trace_context read;
    uint8_t version;
    if (text.len < TRACEPARENT_LEN || text.at[AT_TRACE - 1] != '-' || text.at[AT_SPAN - 1] != '-' ||
        text.at[AT_FLAGS - 1] != '-')
        return false;
    if (!read_hex(text.at, &version, 1) || version == VERSION_NONE || !ends_well(text, version))
        return false;
    if (!read_hex(text.at + AT_TRACE, read.trace, TRACE_ID_LEN) ||
        !read_hex(text.at + AT_SPAN, read.span, SPAN_ID_LEN) ||
        !read_hex(text.at + AT_FLAGS, &read.flags, 1))
        return false;
    if (is_zero(read.trace, TRACE_ID_LEN) || is_zero(read.span, SPAN_ID_LEN))
        return false;
    *out = read;
    return true;
}

void trace_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

const char *traceparent_text(const struct trace_context *context, char buf[static TRACEPARENT_SIZE])
{
    memcpy(buf, "00-", AT_TRACE);
    trace_hex(context->trace, TRACE_ID_LEN, buf + AT_TRACE);
    buf[AT_SPAN - 1] = '-';
    trace_hex(context->span, SPAN_ID_LEN, buf + AT_SPAN);
    buf[AT_FLAGS - 1] = '-';
    trace_hex(&context->flags, 1, buf + AT_FLAGS);
    buf[TRACEPARENT_LEN] = '\0';
    return buf;
}

bool tracestate_valid(struct span text)
{
    if (text.len == 0 || text.len > TRACESTATE_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < 0x20 || text.at[i] > 0x7e)
            return false;
    return true;
}
