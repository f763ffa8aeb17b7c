#include "server/jobs/core/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/table.h"

/* The name of a tenant, which may be gone before its events are. */
struct feed_tenant {
    uint32_t refs; /* events, and the place among those that are remembered */
    uint32_t len;
    uint8_t name[];
};

/* What few events have. */
struct extra {
    uint16_t key_len, text_len;
    uint8_t bytes[];
};

struct feed_record {
    uint64_t id, at;
    const struct job_queue *queue; /* stays as long as the jobs; NULL: the event was lost */
    struct feed_tenant *tenant;    /* a reference; NULL: of a queue */
    struct extra *extra;           /* malloc'ed; NULL: none */
    uint32_t attempt;
    uint8_t kind, reason;
};

/* --- Kinds --- */

enum { NOT_IN_THE_FEED = 1 << JOB_EVENT_PROGRESS | 1 << JOB_EVENT_PARTIAL };

const char *feed_kind_name(unsigned kind)
{
    static const char *const own[] = {"forgotten", "queue_paused", "queue_resumed",
                                      "queue_draining"};
    return kind < JOB_EVENT_COUNT ? job_event_name((enum job_event)kind)
                                  : own[kind - JOB_EVENT_COUNT];
}

uint32_t feed_kinds_named(struct span name)
{
    for (unsigned kind = 0; kind < FEED_KIND_COUNT; kind++)
        if (span_is(name, feed_kind_name(kind)))
            return 1u << kind & ~(uint32_t)NOT_IN_THE_FEED;
    return 0;
}

uint32_t feed_kinds_of_state(struct span state)
{
    static const uint32_t of[JOB_STATE_COUNT] = {[JOB_QUEUED] = 1u << JOB_EVENT_QUEUED |
                                                                1u << JOB_EVENT_RETRIED,
                                                 [JOB_DELAYED] = 1u << JOB_EVENT_DELAYED,
                                                 [JOB_WAITING] = 1u << JOB_EVENT_WAITING,
                                                 [JOB_RUNNING] = 1u << JOB_EVENT_STARTED,
                                                 [JOB_DONE] = 1u << JOB_EVENT_DONE,
                                                 [JOB_FAILED] = 1u << JOB_EVENT_FAILED,
                                                 [JOB_CANCELLED] = 1u << JOB_EVENT_CANCELLED,
                                                 [JOB_EXPIRED] = 1u << JOB_EVENT_EXPIRED,
                                                 [JOB_DEAD] = 1u << JOB_EVENT_DEAD};
    for (unsigned s = 0; s < JOB_STATE_COUNT; s++)
        if (span_is(state, job_state_names[s]))
            return of[s];
    return 0;
}

/* --- The ring --- */

bool feed_init(struct feed *feed, uint32_t count, uint64_t epoch)
{
    uint64_t room = 1;
    *feed = (struct feed){.epoch = epoch, .oldest = 1, .next = 1};
    if (count == 0)
        return true;
    while (room < count)
        room *= 2;
    feed->records = calloc(room, sizeof *feed->records);
    if (!feed->records)
        return false;
    feed->room = room;
    return true;
}

static void unref(struct feed_tenant *t)
{
    if (t && --t->refs == 0)
        free(t);
}

static size_t bytes_of(const struct extra *extra)
{
    return sizeof *extra + extra->key_len + extra->text_len;
}

static struct feed_record *record_at(const struct feed *feed, uint64_t seq)
{
    return &feed->records[seq & (feed->room - 1)];
}

static void drop_oldest(struct feed *feed)
{
    struct feed_record *r = record_at(feed, feed->oldest++);
    unref(r->tenant);
    if (r->extra) {
        feed->extra -= bytes_of(r->extra);
        free(r->extra);
    }
}

void feed_fini(struct feed *feed)
{
    while (feed->oldest < feed->next)
        drop_oldest(feed);
    for (unsigned i = 0; i < FEED_TENANTS; i++)
        unref(feed->tenants[i]);
    free(feed->records);
    *feed = (struct feed){0};
}

/* A reference; NULL without memory. */
static struct feed_tenant *tenant_of(struct feed *feed, const struct tenant *tenant)
{
    struct feed_tenant **place = &feed->tenants[(uintptr_t)tenant / 64 % FEED_TENANTS];
    struct span name = tenant->name;
    if (!*place || !span_equal(span_of((*place)->name, (*place)->len), name)) {
        struct feed_tenant *t = malloc(sizeof *t + name.len);
        if (!t)
            return NULL;
        *t = (struct feed_tenant){.refs = 1, .len = (uint32_t)name.len};
        memcpy(t->name, name.at, name.len);
        unref(*place);
        *place = t;
    }
    (*place)->refs++;
    return *place;
}

/* NULL without memory. */
static struct extra *extra_of(struct span key, struct span text)
{
    text = utf8_cut(text, FEED_TEXT_MAX);
    struct extra *extra = malloc(sizeof *extra + key.len + text.len);
    if (!extra)
        return NULL;
    *extra = (struct extra){.key_len = (uint16_t)key.len, .text_len = (uint16_t)text.len};
    if (key.len > 0)
        memcpy(extra->bytes, key.at, key.len);
    if (text.len > 0)
        memcpy(extra->bytes + key.len, text.at, text.len);
    return extra;
}

/* The next place, with no event in it; the number is taken. */
static struct feed_record *append(struct feed *feed)
{
    if (feed->next - feed->oldest == feed->room)
        drop_oldest(feed);
    counter_add(&feed->shown_events, 1);
    return record_at(feed, feed->next++);
}

/* It is not the only one that is kept: the limit is far above what one may have. */
static void attach(struct feed *feed, struct feed_record *r, struct span key, struct span text)
{
    r->extra = extra_of(key, text);
    if (r->extra)
        feed->extra += bytes_of(r->extra);
    while (feed->extra > feed->room * FEED_EXTRA && feed->next - feed->oldest > 1)
        drop_oldest(feed);
}

static void show(struct feed *feed)
{
    counter_set(&feed->shown_bytes, feed->room * sizeof *feed->records + feed->extra);
}

void feed_add(struct feed *feed, const struct job *job, unsigned kind, uint64_t at, uint8_t reason,
              struct span text)
{
    if (feed->room == 0 || NOT_IN_THE_FEED >> kind & 1)
        return;
    struct feed_record *r = append(feed);
    struct feed_tenant *tenant = tenant_of(feed, job->tenant);
    *r = (struct feed_record){.id = job->id,
                              .at = at,
                              .queue = tenant ? job->queue : NULL,
                              .tenant = tenant,
                              .attempt = job->attempt,
                              .kind = (uint8_t)kind,
                              .reason = reason};
    if (text.len == 0 && !(job->more && job->more->key.name.len > 0))
        return;
    attach(feed, r, job->more ? job->more->key.name : (struct span){0}, text);
    show(feed);
}

void feed_add_queue(struct feed *feed, const struct job_queue *queue, unsigned kind, uint64_t at)
{
    if (feed->room == 0)
        return;
    *append(feed) = (struct feed_record){.at = at, .queue = queue, .kind = (uint8_t)kind};
}

bool feed_get(const struct feed *feed, uint64_t seq, struct feed_event *out)
{
    const struct feed_record *r = NULL;
    for (; seq < feed->next && !(r = record_at(feed, seq))->queue; seq++)
        r = NULL;
    if (!r)
        return false;
    *out = (struct feed_event){.seq = seq,
                               .at = r->at,
                               .id = r->id,
                               .method = r->queue->name,
                               .attempt = r->attempt,
                               .kind = r->kind,
                               .reason = r->reason};
    if (r->tenant)
        out->tenant = span_of(r->tenant->name, r->tenant->len);
    if (r->extra) {
        out->key = span_of(r->extra->bytes, r->extra->key_len);
        out->text = span_of(r->extra->bytes + r->extra->key_len, r->extra->text_len);
    }
    return true;
}

/* --- Cursors --- */

const char *feed_cursor_text(struct feed_cursor cursor, char buf[static FEED_CURSOR_SIZE])
{
    char id[ID_TEXT_SIZE];
    snprintf(buf, FEED_CURSOR_SIZE, "%s-%" PRIu64, id_text(cursor.epoch, id), cursor.seq);
    return buf;
}

bool feed_cursor_parse(struct span text, struct feed_cursor *out)
{
    enum { DIGITS = 19 }; /* a number that any 64 bits hold */
    const uint8_t *digits = text.len > ID_TEXT_LEN ? text.at + ID_TEXT_LEN : NULL;
    uint64_t seq = 0;
    size_t count = digits ? text.len - ID_TEXT_LEN - 1 : 0;
    if (count == 0 || count > DIGITS || *digits++ != '-' ||
        !id_parse(span_of(text.at, ID_TEXT_LEN), &out->epoch))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        seq = seq * 10 + (uint64_t)(digits[i] - '0');
    }
    out->seq = seq;
    return seq > 0 && digits[0] != '0';
}
