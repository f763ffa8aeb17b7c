#include "server/jobs/feed/feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/table.h"

/* The name of a tenant, which may be gone before its events are: made with its first event. */
struct feed_tenant {
    uint64_t last;            /* the number of the last event that has it */
    struct feed_tenant *next; /* of those that are gone, as they went */
    size_t len;
    uint8_t name[];
};

/* What few events have.  An event of a cron has the cron's name as its key and the method as its
 * text, since there may be no queue of the method; that of an actor has its name as its key. */
struct extra {
    uint16_t key_len, text_len;
    uint8_t bytes[];
};

struct feed_record {
    uint64_t id, at;
    const struct job_queue *queue;    /* stays as long as the jobs; NULL: of a cron or an actor */
    const struct feed_tenant *tenant; /* NULL: of a queue, or there was no memory */
    struct extra *extra;              /* malloc'ed; NULL: none */
    uint32_t attempt;
    uint8_t kind, reason;
};

/* --- Kinds --- */

enum { NOT_IN_THE_FEED = 1 << JOB_EVENT_PROGRESS | 1 << JOB_EVENT_PARTIAL };

const char *feed_kind_name(unsigned kind)
{
    static const char *const own[] = {"forgotten",          "queue_paused",  "queue_resumed",
                                      "queue_draining",     "cron_paused",   "cron_resumed",
                                      "actor_started",      "actor_stopped", "actor_dropped",
                                      "actor_type_changed", "batch_ended"};
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
    *feed = (struct feed){.epoch = epoch, .next = 1, .floor = 1};
    if (count == 0)
        return true;
    while (room < count)
        room *= 2;
    feed->records = calloc(room, sizeof *feed->records);
    if (!feed->records)
        return false;
    feed->room = room;
    counter_set(&feed->shown_bytes, room * sizeof *feed->records);
    return true;
}

static struct feed_record *record_at(const struct feed *feed, uint64_t seq)
{
    return &feed->records[seq & (feed->room - 1)];
}

static size_t bytes_of(const struct extra *extra)
{
    return sizeof *extra + extra->key_len + extra->text_len;
}

static void drop_extra(struct feed *feed, struct feed_record *r)
{
    assert(feed->extra >= bytes_of(r->extra));
    feed->extra -= bytes_of(r->extra);
    free(r->extra);
    r->extra = NULL;
}

static void free_gone(struct feed *feed, uint64_t below)
{
    while (feed->gone && feed->gone->last < below) {
        struct feed_tenant *t = feed->gone;
        feed->gone = t->next;
        free(t);
    }
}

void feed_fini(struct feed *feed)
{
    for (uint64_t i = 0; i < feed->room; i++)
        free(feed->records[i].extra);
    free_gone(feed, UINT64_MAX);
    free(feed->records);
    *feed = (struct feed){0};
}

void feed_tenant_gone(struct feed *feed, struct feed_tenant *fed)
{
    free_gone(feed, feed_oldest(feed));
    if (!fed)
        return;
    fed->next = NULL;
    *(feed->gone ? &feed->gone_last->next : &feed->gone) = fed;
    feed->gone_last = fed;
}

/* It has none without memory. */
static void name_tenant(struct tenant *tenant)
{
    struct feed_tenant *t = malloc(sizeof *t + tenant->name.len);
    if (!t)
        return;
    *t = (struct feed_tenant){.len = tenant->name.len};
    memcpy(t->name, tenant->name.at, tenant->name.len);
    tenant->fed = t;
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

static void drop_oldest(struct feed *feed)
{
    struct feed_record *r = record_at(feed, feed->floor = feed_oldest(feed));
    if (r->extra)
        drop_extra(feed, r);
    feed->floor++;
}

/* To the last event, which alone never takes more than the limit.  NULL: nothing. */
static void attach(struct feed *feed, struct feed_record *r, struct extra *extra)
{
    r->extra = extra;
    if (extra)
        feed->extra += bytes_of(extra);
    while (feed->extra > feed->room * FEED_EXTRA && feed_oldest(feed) + 1 < feed->next)
        drop_oldest(feed);
    counter_set(&feed->shown_bytes, feed->room * sizeof *feed->records + feed->extra);
}

/* Of a job, in place of the event that stood there. */
static inline void put(struct feed *feed, const struct job *job, unsigned kind, uint64_t at,
                       uint8_t reason)
{
    uint64_t seq = feed->next++;
    struct feed_record *r = record_at(feed, seq);
    struct feed_tenant *tenant = job->tenant->fed;
    if (tenant)
        tenant->last = seq;
    r->id = job->id;
    r->at = at;
    r->queue = job->queue;
    r->tenant = tenant;
    r->attempt = job->attempt;
    r->kind = (uint8_t)kind;
    r->reason = reason;
    counter_set(&feed->shown_events, seq);
}

/* All that most events have not. */
__attribute__((noinline)) static void add_slowly(struct feed *feed, const struct job *job,
                                                 unsigned kind, uint64_t at, uint8_t reason,
                                                 struct span text)
{
    struct span key = job->more ? job->more->key.name : (struct span){0};
    struct feed_record *r = record_at(feed, feed->next);
    if (r->extra)
        drop_extra(feed, r);
    if (!job->tenant->fed)
        name_tenant(job->tenant);
    put(feed, job, kind, at, reason);
    if (key.len > 0 || text.len > 0)
        attach(feed, r, extra_of(key, text));
}

/* An event without a key and a text costs some forty instructions. */
void feed_add(struct feed *feed, const struct job *job, unsigned kind, uint64_t at, uint8_t reason,
              struct span text)
{
    if (feed->room == 0 || NOT_IN_THE_FEED >> kind & 1)
        return;
    if (text.len > 0 || (job->more && job->more->key.name.len > 0) || !job->tenant->fed ||
        record_at(feed, feed->next)->extra)
        add_slowly(feed, job, kind, at, reason, text);
    else
        put(feed, job, kind, at, reason);
}

void feed_add_queue(struct feed *feed, const struct job_queue *queue, unsigned kind, uint64_t at)
{
    if (feed->room == 0)
        return;
    struct feed_record *r = record_at(feed, feed->next);
    if (r->extra)
        drop_extra(feed, r);
    *r = (struct feed_record){.at = at, .queue = queue, .kind = (uint8_t)kind};
    counter_set(&feed->shown_events, feed->next++);
}

static void add_named(struct feed *feed, struct tenant *tenant, struct extra *extra, unsigned kind,
                      uint64_t at)
{
    if (!extra)
        return;
    if (tenant && !tenant->fed)
        name_tenant(tenant);
    uint64_t seq = feed->next++;
    struct feed_record *r = record_at(feed, seq);
    if (r->extra)
        drop_extra(feed, r);
    *r = (struct feed_record){.at = at, .kind = (uint8_t)kind};
    if (tenant && (r->tenant = tenant->fed))
        tenant->fed->last = seq;
    attach(feed, r, extra);
    counter_set(&feed->shown_events, seq);
}

void feed_add_cron(struct feed *feed, struct tenant *tenant, struct span name, struct span method,
                   unsigned kind, uint64_t at)
{
    add_named(feed, tenant, feed->room > 0 ? extra_of(name, method) : NULL, kind, at);
}

void feed_add_actor(struct feed *feed, struct tenant *tenant, struct span name, struct span text,
                    unsigned kind, uint64_t at)
{
    add_named(feed, tenant, feed->room > 0 ? extra_of(name, text) : NULL, kind, at);
}

void feed_add_batch(struct feed *feed, struct tenant *tenant, struct span id, struct span text,
                    uint64_t at)
{
    add_named(feed, tenant, feed->room > 0 ? extra_of(id, text) : NULL, FEED_BATCH_ENDED, at);
}

static struct span *name_of(struct feed_event *event)
{
    if (feed_kind_is_of_cron(event->kind))
        return &event->cron;
    if (feed_kind_is_of_batch(event->kind))
        return &event->batch;
    return feed_kind_is_of_actor(event->kind) ? &event->actor : &event->key;
}

bool feed_get(const struct feed *feed, uint64_t seq, struct feed_event *out)
{
    if (seq >= feed->next)
        return false;
    assert(seq >= feed_oldest(feed));
    const struct feed_record *r = record_at(feed, seq);
    *out = (struct feed_event){.seq = seq,
                               .at = r->at,
                               .id = r->id,
                               .method = r->queue ? r->queue->name : (struct span){0},
                               .attempt = r->attempt,
                               .kind = r->kind,
                               .reason = r->reason};
    if (r->tenant)
        out->tenant = span_of(r->tenant->name, r->tenant->len);
    if (r->extra) {
        bool of_cron = feed_kind_is_of_cron(r->kind);
        *name_of(out) = span_of(r->extra->bytes, r->extra->key_len);
        *(of_cron ? &out->method : &out->text) =
            span_of(r->extra->bytes + r->extra->key_len, r->extra->text_len);
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
