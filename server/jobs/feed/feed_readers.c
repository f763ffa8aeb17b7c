#include "server/jobs/feed/feed_readers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/verbs/attempt_view.h"
#include "server/jobs/verbs/view.h"

/* See jobs_worked(). */
enum { LOOK_WORK = 1, READER_WORK = 1, EVENT_WORK = 5, ANSWER_WORK = 20, BYTES_A_PIECE = 1024 };

/* --- Readers that wait --- */

static void join(struct feed_readers *readers, struct operation *op)
{
    op->feed.prev = readers->last;
    op->feed.next = NULL;
    *(readers->last ? &readers->last->feed.next : &readers->first) = op;
    readers->last = op;
    readers->count++;
}

static void leave(struct feed_readers *readers, struct operation *op)
{
    *(op->feed.prev ? &op->feed.prev->feed.next : &readers->first) = op->feed.next;
    *(op->feed.next ? &op->feed.next->feed.prev : &readers->last) = op->feed.prev;
    assert(readers->count > 0);
    readers->count--;
}

/* --- What one sees --- */

static bool fits_ids(const struct feed_arguments *f, uint64_t id)
{
    for (uint32_t i = 0; i < f->id_count; i++)
        if (f->ids[i] == id)
            return true;
    return f->id_count == 0;
}

static bool may_know(const struct operation *op, const struct feed_event *event)
{
    if (event->kind == FEED_ACTOR_TYPE_CHANGED)
        return true; /* as actor.types */
    if (feed_kind_is_of_actor(event->kind))
        return operation_may_object(
            op, &(struct rights_object){.tenant = event->tenant, .key = event->actor});
    if (event->id == 0 && !feed_kind_is_of_cron(event->kind) && !feed_kind_is_of_batch(event->kind))
        return operation_may_queue(op, event->method);
    return operation_may_object(op, &(struct rights_object){.tenant = event->tenant,
                                                            .queue = event->method,
                                                            .key = event->key});
}

static bool fits(const struct operation *op, const struct feed_event *event)
{
    const struct feed_arguments *f = &op->feed;
    return f->kinds >> event->kind & 1 && fits_ids(f, event->id) &&
           filter_fits_name(f->method, event->method) &&
           filter_fits_name(f->tenant, event->tenant) && filter_fits_name(f->key, event->key) &&
           may_know(op, event);
}

/* What it has come to may have been dropped since. */
static void catch_up(const struct feed *feed, struct operation *op)
{
    struct feed_arguments *f = &op->feed;
    uint64_t oldest = feed_oldest(feed);
    if (f->after.seq >= oldest)
        return;
    if (f->gap == FEED_NO_GAP)
        f->gap = FEED_GAP_OVERRUN;
    f->missed += oldest - f->after.seq;
    f->after.seq = oldest;
}

/* Goes on to the first event that is the reader's, while `work` lasts.  True: there is one. */
static bool find(const struct jobs *jobs, struct operation *op, uint32_t *work)
{
    const struct feed *feed = &jobs->table.feed;
    struct feed_event event;
    uint64_t *seq = &op->feed.after.seq;
    for (; *work < FEED_STEP_WORK && feed_get(feed, *seq, &event); *seq = event.seq + 1) {
        *work += LOOK_WORK;
        if (!fits(op, &event))
            continue;
        *seq = event.seq;
        return true;
    }
    return false;
}

/* --- The answer --- */

static bool has_traceback(const struct feed_event *event)
{
    return event->kind < JOB_EVENT_COUNT && history_has_traceback(event->kind);
}

/* The history of the task, which is searched for it, has it as long as that is there. */
static void pack_traceback(struct jobs *jobs, const struct operation *op, struct pack *p,
                           const struct feed_event *event, uint32_t *work)
{
    const struct job *job = table_find(&jobs->table, event->id);
    struct history_event found;
    *work += job ? (uint32_t)history_bytes(job) / BYTES_A_PIECE : 0;
    bool there = job && history_find(job, event->kind, event->attempt, &found);
    attempt_pack_traceback(p, there ? attempt_traceback(&found) : (struct span){0},
                           there ? operation_sees(op, job) : 0);
}

static void pack_event(struct jobs *jobs, const struct operation *op, struct pack *p,
                       const struct feed_event *event, uint32_t *work)
{
    char id[ID_TEXT_SIZE];
    bool waits = event->kind < JOB_EVENT_COUNT && event->reason < JOB_REASON_COUNT &&
                 job_event_is_wait((enum job_event)event->kind);
    pack_map(p, 10u + (event->cron.len > 0) + (event->actor.len > 0) + (event->batch.len > 0) +
                    has_traceback(event));
    pack_key_uint(p, "seq", event->seq);
    view_ms(p, "at", event->at);
    pack_key_str(p, "event", feed_kind_name(event->kind));
    pack_key_str(p, "id", event->id ? id_text(event->id, id) : NULL);
    view_name(p, "method", event->method);
    view_name(p, "tenant", event->tenant);
    view_name(p, "key", event->key);
    pack_key_uint(p, "attempt", event->attempt);
    pack_key_str(p, "reason", waits ? job_reason_name((enum job_reason)event->reason) : NULL);
    view_name(p, "text", event->text);
    if (event->cron.len > 0)
        pack_key_span(p, "cron", event->cron);
    if (event->actor.len > 0)
        pack_key_span(p, "actor", event->actor);
    if (event->batch.len > 0)
        pack_key_span(p, "batch", event->batch);
    if (has_traceback(event))
        pack_traceback(jobs, op, p, event, work);
}

static uint32_t pack_page(struct jobs *jobs, struct operation *op, struct pack *page,
                          uint32_t *work)
{
    struct feed_event event;
    uint32_t count = 0;
    while (count < op->feed.max && page->buffer.size < FEED_PAGE_BYTES && find(jobs, op, work) &&
           feed_get(&jobs->table.feed, op->feed.after.seq, &event)) {
        pack_event(jobs, op, page, &event, work);
        op->feed.after.seq = event.seq + 1;
        *work += EVENT_WORK;
        count++;
    }
    return count;
}

static void pack_gap(struct pack *p, const struct feed_arguments *f)
{
    static const char *const names[] = {NULL, "overrun", "restart"};
    pack_key_str(p, "gap", names[f->gap]);
    pack_str(p, "missed");
    if (f->gap == FEED_GAP_RESTART) /* of what the other start had nobody knows */
        pack_nil(p);
    else
        pack_uint(p, f->missed);
}

/* Answers with a page of what there is. */
static void answer(struct jobs *jobs, struct operation *op, uint32_t *work)
{
    const struct feed *feed = &jobs->table.feed;
    struct pack *p = &op->reply.result, page;
    char cursor[FEED_CURSOR_SIZE];
    pack_init(&page);
    catch_up(feed, op);
    uint32_t count = pack_page(jobs, op, &page, work);
    *work += ANSWER_WORK;
    pack_init(p);
    pack_map(p, 4);
    pack_str(p, "events");
    pack_array(p, count);
    pack_raw(p, pack_bytes(&page));
    p->failed |= page.failed;
    pack_key_str(p, "next",
                 feed_cursor_text((struct feed_cursor){feed->epoch, op->feed.after.seq}, cursor));
    pack_gap(p, &op->feed);
    pack_fini(&page);
    operation_finish(op);
}

static void finish(struct jobs *jobs, struct operation *op, uint32_t *work)
{
    leave(jobs->feed_readers, op);
    waiters_leave(op);
    answer(jobs, op, work);
}

/* The time is over. */
static void due(struct jobs *jobs, struct operation *op)
{
    uint32_t work = 0;
    finish(jobs, op, &work);
    jobs_worked(jobs, work);
}

static void dropped(struct jobs *jobs, struct operation *op)
{
    leave(jobs->feed_readers, op);
    waiters_drop(jobs, op);
}

/* --- The turns --- */

/* A reader looks at what came; one that is not answered goes behind the others. */
static void serve_reader(struct jobs *jobs, struct operation *op, uint32_t *work)
{
    *work += READER_WORK;
    catch_up(&jobs->table.feed, op);
    if (op->feed.gap != FEED_NO_GAP || find(jobs, op, work)) {
        finish(jobs, op, work);
        return;
    }
    leave(jobs->feed_readers, op);
    join(jobs->feed_readers, op);
}

static enum ao_verdict readers_step(struct ao *self)
{
    struct feed_readers *readers = ao_of(self, struct feed_readers, ao);
    struct jobs *jobs = readers->jobs;
    uint64_t upto = jobs->table.feed.next;
    uint32_t work = 0, left = readers->count;
    if (readers->seen == upto || left == 0)
        return AO_DONE;
    for (; left > 0 && work < FEED_STEP_WORK; left--)
        serve_reader(jobs, readers->first, &work);
    if (work < FEED_STEP_WORK)
        readers->seen = upto;
    ao_sleep_for(self, AO_MS(FEED_REST_MS));
    return AO_PARK;
}

static const struct ao_class readers_class = {.name = "feed", .step = readers_step};

void feed_readers_wake(struct jobs *jobs)
{
    struct feed_readers *readers = jobs->feed_readers;
    if (readers->first && readers->seen != jobs->table.feed.next &&
        ao_state(&readers->ao) == AO_STATE_INACTIVE && ao_current() != &readers->ao)
        ao_activate(&readers->ao);
}

/* --- The operation --- */

/* Where it begins.  False: it was answered. */
static bool begin(const struct feed *feed, struct operation *op)
{
    struct feed_arguments *f = &op->feed;
    if (feed->room == 0) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "this server keeps no feed of events: `tasks.events` is 0");
        return false;
    }
    if (f->after.epoch == 0) {
        f->after.seq = f->from_oldest ? feed_oldest(feed) : feed->next;
    } else if (f->after.epoch != feed->epoch) {
        f->gap = FEED_GAP_RESTART;
        f->after.seq = feed_oldest(feed);
    } else if (f->after.seq > feed->next) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "option \"after\" names an event that has not happened");
        return false;
    }
    return true;
}

/* A reader that may wait is answered by the readers' object, too, even if there is something
 * already: a thousand clients that ask again and again take no more of the jobs' time than a
 * thousand that wait. */
static void serve(struct jobs *jobs, struct operation *op)
{
    struct feed_readers *readers = jobs->feed_readers;
    if (!begin(&jobs->table.feed, op))
        return;
    join(readers, op);
    op->waiting.held = true;
    if (!waiters_poll(jobs, op, op->feed.timeout)) {
        due(jobs, op);
        return;
    }
    if (op->feed.after.seq < jobs->table.feed.next || op->feed.gap != FEED_NO_GAP)
        readers->seen = 0;
    else if (readers->count == 1)
        readers->seen = jobs->table.feed.next;
    feed_readers_wake(jobs);
}

/* --- The subsystem --- */

/* Of the feed: the time of this start as ids have it, which is 0 for no start, and chance, since
 * the clock may have been set back. */
static uint64_t epoch_of(const struct jobs *jobs)
{
    const uint64_t counted = (1 << 22) - 1; /* ids.h */
    return (jobs->table.next_id & ~counted) | (activator_random(jobs->activator) & counted) | 1;
}

static bool init(struct jobs *jobs, char *error, size_t size)
{
    uint32_t count = jobs->options.settings.events;
    struct feed_readers *readers = calloc(1, sizeof *readers);
    jobs->feed_readers = readers;
    if (!readers)
        return false;
    readers->jobs = jobs;
    ao_init(&readers->ao, &readers_class, jobs->activator);
    if (feed_init(&jobs->table.feed, count, epoch_of(jobs)))
        return true;
    snprintf(error, size, "no memory for the last %u events of tasks", count);
    return false;
}

static void fini(struct jobs *jobs)
{
    if (!jobs->feed_readers)
        return;
    ao_deactivate(&jobs->feed_readers->ao);
    ao_fini(&jobs->feed_readers->ao);
    free(jobs->feed_readers);
}

static void stop(struct jobs *jobs)
{
    while (jobs->feed_readers && jobs->feed_readers->first)
        due(jobs, jobs->feed_readers->first);
}

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    out->feed_events = counter_read(&jobs->table.feed.shown_events);
    out->feed_bytes = counter_read(&jobs->table.feed.shown_bytes);
}

/* clang-format off */
static const struct figure figures[] = {
    {"feed", FIGURE_AT(struct jobs_info, feed_events), "events",
     "ergon_feed_events", true, NULL, "Events of the server-wide feed since the start."},
    {"feed", FIGURE_AT(struct jobs_info, feed_bytes), "bytes",
     "ergon_feed_bytes", false, "bytes", "Memory that the feed takes."},
};
/* clang-format on */

const struct subsystem subsystem_feed_readers = {.init = init,
                                                 .fini = fini,
                                                 .stop = stop,
                                                 .show = show,
                                                 .figures = figures,
                                                 .figure_count = sizeof figures / sizeof *figures};

const struct operation_class operation_task_events = {.method = method_task_events,
                                                      .shows_contents = true,
                                                      .serve = serve,
                                                      .dropped = dropped,
                                                      .due = due};
