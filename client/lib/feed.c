/* The feed of a server: its request, and its pages as structs. */
#include "client/lib/decode.h"
#include "client/lib/pairs.h"

#include <ergon/client_feed.h>

static const struct ergon_answer unsized = {
    .outcome = ERGON_END_INVALID,
    .code = "",
    .text = "the filter tells no size: set .size to sizeof(struct ergon_feed_filter)"};

struct ergon_request *ergon_request_events(const struct ergon_feed_filter *given)
{
    struct ergon_request *r = request_new("task.events", 1);
    struct ergon_feed_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    if (!options_copy(&f, sizeof f, given))
        m.refused = &unsized;
    pairs_text(&m, "after", f.after);
    pairs_text(&m, "event", f.event);
    pairs_text(&m, "state", f.state);
    pairs_texts(&m, "id", f.ids, f.id_count);
    pairs_text(&m, "method", f.method);
    pairs_text(&m, "tenant", f.tenant);
    pairs_text(&m, "key", f.key);
    pairs_number(&m, "timeout", f.wait_ms);
    pairs_number(&m, "max", f.max);
    pairs_pack(&m, r);
    return request_done(r);
}

#define FIELD(type, kind, member)                                                                  \
    {                                                                                              \
#member, kind, offsetof(struct type, member), sizeof(((struct type *)0)->member)           \
    }
#define PAGE(kind, member)  FIELD(ergon_feed_page, kind, member)
#define EVENT(kind, member) FIELD(ergon_feed_event, kind, member)

static const struct decode_field PAGE_FIELDS[] = {
    PAGE(DECODE_TEXT, next),
    PAGE(DECODE_TEXT, gap),
    PAGE(DECODE_NUMBER, missed),
    PAGE(DECODE_RAW, events),
    {0},
};

static const struct decode_field EVENT_FIELDS[] = {
    EVENT(DECODE_NUMBER, seq),     EVENT(DECODE_NUMBER, at),
    EVENT(DECODE_NUMBER, attempt), EVENT(DECODE_TEXT, event),
    EVENT(DECODE_TEXT, id),        EVENT(DECODE_TEXT, method),
    EVENT(DECODE_TEXT, tenant),    EVENT(DECODE_TEXT, key),
    EVENT(DECODE_TEXT, reason),    EVENT(DECODE_TEXT, text),
    EVENT(DECODE_TEXT, cron),      EVENT(DECODE_TEXT, actor),
    EVENT(DECODE_TEXT, batch),     {0},
};

bool ergon_read_feed(struct ergon_raw answer, struct ergon_feed_page *out)
{
    *out = (struct ergon_feed_page){0};
    return decode_map(answer, PAGE_FIELDS, out) && out->next[0] != 0 && out->events.len > 0;
}

/* *at counts bytes from the start of the array. */
bool ergon_next_event(const struct ergon_feed_page *page, size_t *at, struct ergon_feed_event *out)
{
    struct span events = span_of(page->events.at, page->events.len), one;
    struct reader r = reader_of(events);
    uint32_t count;
    if (!read_array(&r, &count))
        return false;
    if (*at > 0)
        r.at = events.at + (*at < events.len ? *at : events.len);
    if (!read_any(&r, &one))
        return false;
    *at = (size_t)(r.at - events.at);
    *out = (struct ergon_feed_event){0};
    return decode_map((struct ergon_raw){one.at, one.len}, EVENT_FIELDS, out);
}
