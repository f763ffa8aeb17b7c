/* One block of memory: this header and the records, each followed by its text and its data.  The
 * oldest are dropped by moving `start`; the bytes before it are used again when the end is reached.
 */
#include "server/jobs/core/history.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "server/jobs/core/table.h"

struct record {
    uint64_t at;
    uint32_t seq, attempt;
    uint16_t data_len, text_len;
    uint16_t worker;
    uint8_t what, reason;
};

struct history {
    uint32_t next;             /* number of the next event */
    uint32_t stored;           /* number of the first that was not pushed to the store */
    uint16_t count;            /* records */
    uint16_t workers;          /* of these, records that refer to one */
    uint32_t start, end, size; /* bytes of `records` */
    uint32_t hint;             /* where the record is that was looked up last */
    alignas(struct record) uint8_t records[];
};

enum { FIRST = 48 /* bytes: a start and an end, without a text */, GRAIN = 8 };

static struct record *record_at(const struct history *h, uint32_t at)
{
    return (struct record *)(h->records + at);
}

static uint32_t record_bytes(size_t text, size_t data)
{
    return (uint32_t)((sizeof(struct record) + text + data + GRAIN - 1) / GRAIN * GRAIN);
}

static uint32_t behind(const struct history *h, uint32_t at)
{
    const struct record *r = record_at(h, at);
    return at + record_bytes(r->text_len, r->data_len);
}

static void drop_worker(const struct job *job, struct history *h, const struct record *r)
{
    if (r->worker == WORKER_LABEL_NONE)
        return;
    worker_label_unref(&job->queue->table->labels, r->worker);
    h->workers--;
}

static void drop_oldest(const struct job *job, struct history *h)
{
    drop_worker(job, h, record_at(h, h->start));
    h->start = behind(h, h->start);
    h->hint = h->start;
    if (--h->count == 0)
        h->start = h->end = h->hint = 0;
}

/* The oldest traceback.  False: there is none. */
static bool drop_traceback(struct history *h)
{
    uint32_t at = h->start;
    while (at < h->end &&
           !(history_has_traceback(record_at(h, at)->what) && record_at(h, at)->data_len > 0))
        at = behind(h, at);
    if (at == h->end)
        return false;
    uint32_t next = behind(h, at), to = at + record_bytes(record_at(h, at)->text_len, 0);
    record_at(h, at)->data_len = 0;
    memmove(h->records + to, h->records + next, h->end - next);
    h->end -= next - to;
    h->hint = h->start;
    return true;
}

static struct history *history_of(struct job *job)
{
    if (!job->history && (job->history = malloc(sizeof(struct history) + FIRST)))
        *job->history = (struct history){.next = 2, .stored = 2, .size = FIRST};
    return job->history;
}

/* Room for so many bytes at the end; NULL without memory. */
static struct history *with_room(struct job *job, uint32_t bytes)
{
    struct history *h = job->history;
    if (h->size - h->end >= bytes)
        return h;
    memmove(h->records, h->records + h->start, h->end - h->start);
    h->end -= h->start;
    h->start = h->hint = 0;
    if (h->size - h->end >= bytes)
        return h;
    uint32_t size = h->end + bytes + h->end / 2;
    if (size > HISTORY_BYTES_MAX)
        size = HISTORY_BYTES_MAX;
    h = realloc(h, sizeof *h + size);
    if (h) {
        h->size = size;
        job->history = h;
    }
    return h;
}

static void copy(uint8_t *to, const void *from, size_t len)
{
    if (len > 0)
        memcpy(to, from, len);
}

static void append(struct job *job, const struct history_event *event, uint16_t text, uint16_t data)
{
    struct history *h = job->history;
    struct record *r = record_at(h, h->end);
    *r = (struct record){.at = event->at,
                         .seq = h->next,
                         .attempt = event->attempt,
                         .data_len = data,
                         .text_len = text,
                         .worker = event->worker,
                         .what = event->what,
                         .reason = event->reason};
    uint8_t *body = (uint8_t *)(r + 1);
    copy(body, event->text.at, text);
    copy(body + text, event->data.at, data);
    h->end += record_bytes(text, data);
    h->count++;
    if (event->worker == WORKER_LABEL_NONE)
        return;
    h->workers++;
    worker_label_ref(&job->queue->table->labels, event->worker);
}

uint32_t history_add(struct job *job, const struct history_event *event, uint32_t max)
{
    struct history *h = history_of(job);
    uint16_t text = (uint16_t)utf8_cut(event->text, HISTORY_TEXT_MAX).len;
    uint16_t data = event->data.len <= HISTORY_DATA_MAX ? (uint16_t)event->data.len : 0;
    uint32_t bytes = record_bytes(text, data);
    if (!h || h->next > JOB_COUNT_MAX)
        return history_next(job);
    while (h->end - h->start + bytes > HISTORY_BYTES_MAX && drop_traceback(h))
        ;
    while (h->count > 0 && (h->count >= max || h->end - h->start + bytes > HISTORY_BYTES_MAX))
        drop_oldest(job, h);
    if (max > 0 && with_room(job, bytes))
        append(job, event, text, data);
    assert(job->history->stored <= job->history->next);
    return job->history->next++;
}

void history_skip(struct job *job, uint32_t next)
{
    struct history *h = history_of(job);
    if (h && h->next < next)
        h->next = next;
}

uint32_t history_next(const struct job *job)
{
    return job->history ? job->history->next : 2;
}

uint32_t history_oldest(const struct job *job)
{
    const struct history *h = job->history;
    return h && h->count > 0 ? record_at(h, h->start)->seq : 0;
}

static void submission(const struct job *job, struct history_event *out)
{
    *out = (struct history_event){.seq = 1, .what = JOB_EVENT_SUBMITTED, .at = job->created};
}

static void event_of(const struct record *r, struct history_event *out)
{
    const uint8_t *body = (const uint8_t *)(r + 1);
    *out = (struct history_event){.seq = r->seq,
                                  .attempt = r->attempt,
                                  .what = r->what,
                                  .reason = r->reason,
                                  .at = r->at,
                                  .worker = r->worker,
                                  .text = span_of(body, r->text_len),
                                  .data = span_of(body + r->text_len, r->data_len)};
}

bool history_get(const struct job *job, uint32_t seq, struct history_event *out)
{
    struct history *h = job->history;
    if (seq <= 1) {
        submission(job, out);
        return true;
    }
    if (!h || h->count == 0 || seq >= h->next)
        return false;
    uint32_t at = record_at(h, h->hint)->seq <= seq ? h->hint : h->start;
    while (at < h->end && record_at(h, at)->seq < seq)
        at = behind(h, at);
    if (at == h->end)
        return false;
    h->hint = at;
    event_of(record_at(h, at), out);
    return true;
}

/* Numbers of attempts do not go back.  Readers go on from attempt to attempt. */
bool history_find(const struct job *job, uint8_t what, uint32_t attempt, struct history_event *out)
{
    struct history *h = job->history;
    if (!h || h->count == 0)
        return false;
    uint32_t at = record_at(h, h->hint)->attempt < attempt ? h->hint : h->start, found = h->end;
    for (; at < h->end && record_at(h, at)->attempt <= attempt; at = behind(h, at))
        if (record_at(h, at)->attempt == attempt && record_at(h, at)->what == what)
            found = at;
    if (found == h->end)
        return false;
    h->hint = found;
    event_of(record_at(h, found), out);
    return true;
}

void history_free(struct job *job)
{
    struct history *h = job->history;
    for (uint32_t at = h ? h->start : 0; h && h->workers > 0; at = behind(h, at))
        drop_worker(job, h, record_at(h, at));
    free(job->history);
    job->history = NULL;
}

size_t history_bytes(const struct job *job)
{
    return job->history ? sizeof *job->history + job->history->size : 0;
}

uint32_t history_stored(const struct job *job)
{
    return job->history ? job->history->stored : 2;
}

void history_mark_stored(struct job *job)
{
    if (job->history)
        job->history->stored = job->history->next;
}
