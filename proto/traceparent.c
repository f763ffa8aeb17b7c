#include "proto/traceparent.h"

#include "base/hex.h"

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
    if (!hex_read(text.at, &version, 1) || version == VERSION_NONE || !ends_well(text, version))
        return false;
    if (!hex_read(text.at + AT_TRACE, read.trace, TRACE_ID_LEN) ||
        !hex_read(text.at + AT_SPAN, read.span, SPAN_ID_LEN) ||
        !hex_read(text.at + AT_FLAGS, &read.flags, 1))
        return false;
    if (is_zero(read.trace, TRACE_ID_LEN) || is_zero(read.span, SPAN_ID_LEN))
        return false;
    *out = read;
    return true;
}

const char *traceparent_text(const struct trace_context *context, char buf[static TRACEPARENT_SIZE])
{
    memcpy(buf, "00-", AT_TRACE);
    hex_write(context->trace, TRACE_ID_LEN, buf + AT_TRACE);
    buf[AT_SPAN - 1] = '-';
    hex_write(context->span, SPAN_ID_LEN, buf + AT_SPAN);
    buf[AT_FLAGS - 1] = '-';
    hex_write(&context->flags, 1, buf + AT_FLAGS);
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
