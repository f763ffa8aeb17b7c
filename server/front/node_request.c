#include "server/front/node_request.h"

#include "proto/reader.h"
#include "server/jobs/core/ids.h"

/* nil: it is a plain call. */
static bool read_task(struct reader *r, uint64_t *id)
{
    struct span text;

    return read_nil(r) || (read_text(r, &text) && id_parse(text, id));
}

static bool read_attempt(struct reader *r, uint32_t *attempt)
{
    uint64_t n;

    if (!read_uint(r, &n) || n == 0 || n > UINT32_MAX)
        return false;
    *attempt = (uint32_t)n;
    return true;
}

/* ms that are left; nil: there is no deadline. */
static bool read_left(struct reader *r, ao_time now, ao_time *deadline)
{
    uint64_t ms;

    if (read_nil(r))
        return true;
    if (!read_uint(r, &ms))
        return false;
    if (ms < (AO_NEVER - now) / AO_MS(1))
        *deadline = now + AO_MS(ms);
    return true;
}

/* [offset, bytes] */
static bool read_shared(struct reader *r, struct node_call_request *out)
{
    uint32_t count;

    return read_array(r, &count) && count == 2 && read_uint(r, &out->shared_at) &&
           read_uint(r, &out->shared_len);
}

static bool read_pair(struct reader *r, ao_time now, struct node_call_request *out)
{
    struct span name, value;

    if (!read_text(r, &name))
        return false;
    if (span_is(name, "task"))
        return read_task(r, &out->id);
    if (span_is(name, "batch"))
        return read_text(r, &value) && id_batch_parse(value, &out->batches.member_of);
    if (span_is(name, "callback_of"))
        return read_text(r, &value) && id_batch_parse(value, &out->batches.callback_of);
    if (span_is(name, "attempt"))
        return read_attempt(r, &out->attempt);
    if (span_is(name, "left"))
        return read_left(r, now, &out->deadline);
    if (span_is(name, "traceparent"))
        return read_text(r, &value) && traceparent_parse(value, &out->trace.context);
    if (span_is(name, "checkpoint"))
        return read_any(r, &out->checkpoint);
    if (span_is(name, "params"))
        return read_shared(r, out);
    if (span_is(name, "tracestate"))
        return read_text(r, &out->trace.state);
    return read_any(r, &value);
}

static bool read_context(struct reader *r, ao_time now, struct node_call_request *out)
{
    uint32_t pairs;

    if (!read_map(r, &pairs))
        return false;
    while (pairs-- > 0)
        if (!read_pair(r, now, out))
            return false;
    return true;
}

bool node_request_read(const struct envelope *e, ao_time now, struct node_call_request *out)
{
    struct reader r = reader_of(e->msgid), params = reader_of(e->params);
    struct span skipped;

    *out = (struct node_call_request){.attempt = 1, .deadline = AO_NEVER};
    if (!read_uint(&r, &out->number) || !read_array(&params, &out->count) || out->count == 0)
        return false;
    const uint8_t *first = params.at;
    out->count--;
    for (uint32_t i = 0; i < out->count; i++)
        if (!read_any(&params, &skipped))
            return false;
    out->values = span_of(first, (size_t)(params.at - first));
    return read_context(&params, now, out);
}
