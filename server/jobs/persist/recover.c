#include "server/jobs/persist/recover.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/history_reload.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/queueing.h"
#include "server/jobs/sched/result_refs.h"
#include "server/jobs/sched/spans.h"
#include "server/tasks/registry.h"

static const char said_before[] = "its data are not kept across a restart of the server";

static int event_of_name(struct span name)
{
    for (int what = 0; what < JOB_EVENT_COUNT; what++)
        if (span_is(name, job_event_name((enum job_event)what)))
            return what;
    return -1;
}

/* JOB_REASON_COUNT: the row does not say it, as those of earlier versions do not. */
static enum job_reason reason_of_name(struct span name)
{
    int reason = 0;
    while (reason < JOB_REASON_COUNT && !span_is(name, job_reason_name((enum job_reason)reason)))
        reason++;
    return (enum job_reason)reason;
}

static bool is_said(uint8_t what)
{
    return what == JOB_EVENT_PROGRESS || what == JOB_EVENT_PARTIAL;
}

/* Its text, or what the row has in place of one. */
static void read_text(struct history_event *event, struct span text)
{
    if (job_event_is_wait((enum job_event)event->what))
        event->reason = (uint8_t)reason_of_name(text);
    else if (is_said(event->what) && text.len == 0)
        event->text = span_text(said_before);
    else
        event->text = text;
}

/* A reference, or none. */
static uint16_t worker_of(struct jobs *jobs, struct span text)
{
    if (text.len == 0)
        return WORKER_LABEL_NONE;
    const struct worker_label_parts parts = worker_label_parts(text);
    return worker_label_make(&jobs_table(jobs)->labels, &parts);
}

/* What its handler said last may have had any number up to the next that is always stored. */
void replay_crash(struct jobs *jobs, struct job *job)
{
    struct history_event last;
    history_remember_start(jobs_table(jobs), job);
    if (history_get(job, history_next(job) - 1, &last) && is_said(last.what)) {
        history_skip(job, (last.seq / HISTORY_SAID_STEP + 1) * HISTORY_SAID_STEP);
        history_mark_stored(job);
    }
}

/* The file knows when the last attempt began; so the first began no later than what came next. */
static void start_before(struct jobs *jobs, struct job *job, const struct store_event *next,
                         enum job_event what)
{
    if (job->history || next->attempt == 0)
        return;
    uint32_t attempt = next->attempt - (what == JOB_EVENT_STARTED);
    struct history_event start = {.seq = 2,
                                  .what = JOB_EVENT_STARTED,
                                  .attempt = attempt,
                                  .worker =
                                      attempt == job->attempt ? job->ran_by : WORKER_LABEL_NONE,
                                  .at = job->started < next->at ? job->started : next->at};
    history_remember(jobs_table(jobs), job, &start);
}

/* The event of the submission: how many share the run. */
static void read_shares(struct job *job, struct span text)
{
    uint64_t shares = 0;
    for (size_t i = 0; i < text.len && i < 10 && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        shares = 10 * shares + (uint64_t)(text.at[i] - '0');
    if (job->more && shares > 0 && shares < UINT32_MAX)
        job->more->waiters = (uint32_t)shares;
}

void replay_event(struct jobs *jobs, const struct store_event *row)
{
    struct job *job = table_find(jobs_table(jobs), row->id);
    int what = event_of_name(row->what);
    assert(jobs_table(jobs)->recovering);
    if (!job || what < 0)
        return;
    if (row->seq == 1) {
        read_shares(job, row->text);
        return;
    }
    if (row->seq > 2)
        start_before(jobs, job, row, (enum job_event)what);
    if (what == JOB_EVENT_FENCED && job_is(job, JOB_NOT_REPLAYED) && row->seq > history_next(job))
        history_remember_end(jobs_table(jobs), job); /* of an attempt that came back after it */
    struct history_event event = {.seq = row->seq,
                                  .what = (uint8_t)what,
                                  .attempt = row->attempt,
                                  .at = row->at,
                                  .data = row->data};
    if (what == JOB_EVENT_STARTED)
        event.worker = worker_of(jobs, row->text);
    else
        read_text(&event, row->text);
    history_remember(jobs_table(jobs), job, &event);
    worker_label_unref(&jobs_table(jobs)->labels, event.worker);
}

enum { INTERNED_MOST = METHODS_OFFERED / 10 };

/* --- Rows become jobs --- */

void recover_counts(struct jobs *jobs, const struct store_counts *counts)
{
    struct job_sums *durable = &jobs_table(jobs)->durable;
    durable->submitted = (uint64_t)counts->submitted;
    durable->ended[JOB_DONE] = (uint64_t)counts->done;
    durable->ended[JOB_FAILED] = (uint64_t)counts->failed;
    durable->ended[JOB_CANCELLED] = (uint64_t)counts->cancelled;
    durable->ended[JOB_EXPIRED] = (uint64_t)counts->expired;
    durable->ended[JOB_DEAD] = (uint64_t)counts->dead;
}

/* Names that nobody offered for so long are no more than rubbish. */
static bool is_remembered(const struct jobs *jobs, const struct store_queue *row)
{
    const uint64_t month = AO_S(30 * 86400);
    uint64_t now = table_wall(jobs_table(jobs));
    return row->offered_at > 0 && (now < row->offered_at || now - row->offered_at < month);
}

bool recover_queue(struct jobs *jobs, const struct store_queue *row)
{
    bool offered = is_remembered(jobs, row);
    assert(jobs_table(jobs)->recovering && !jobs_table(jobs)->first); /* queues come before tasks */
    struct method *m;
    enum ergon_error error =
        offered ? registry_intern(jobs_options(jobs)->registry, row->method, &m) : ERGON_OK;
    struct job_queue *q = table_queue(jobs_table(jobs), row->method);
    if (!q)
        return false;
    if (error !=
        ERGON_OK) /* there are as many as there may be: it waits until a worker registers it */
        log_warn("a method that workers offered is not known until one does again",
                 LOG_STR("method", (const char *)q->name.at),
                 LOG_STR("reason", error_meaning(error)));
    q->offer.at = offered ? row->offered_at : 0;
    q->saved_offer = row->offered_at;
    q->paused = q->saved_paused = row->paused;
    q->draining = q->saved_draining = row->draining;
    q->secret = q->saved_secret = row->secret;
    return true;
}

static uint32_t unpack_ids(struct span from, uint64_t *to)
{
    uint32_t count = (uint32_t)(from.len / sizeof(uint64_t));
    for (uint32_t i = 0; i < count; i++) {
        to[i] = 0;
        for (unsigned byte = 0; byte < 8; byte++)
            to[i] = to[i] << 8 | from.at[8 * i + byte];
    }
    return count;
}

/* Both in one block, which begins at `after`. */
static bool take_ids(const struct store_task *row, struct job_spec *spec)
{
    size_t bytes = row->after.len + row->after_any.len;
    uint64_t *ids = bytes > 0 ? malloc(bytes) : NULL;
    if (bytes > 0 && !ids)
        return false;
    spec->after = ids;
    if (!ids)
        return true;
    spec->after_count = unpack_ids(row->after, ids);
    spec->after_any = ids + spec->after_count;
    spec->after_any_count = unpack_ids(row->after_any, ids + spec->after_count);
    return true;
}

static bool take_options(const struct store_task *row, struct job_spec *spec)
{
    spec->key = row->key;
    spec->coalesce = row->coalesce;
    spec->limit_key = row->limit_key;
    spec->limit = row->limit;
    spec->take = row->take;
    spec->rate_key = row->rate_key;
    spec->rate = row->rate;
    spec->rate_per = row->rate_per;
    spec->timeout = row->timeout ? row->timeout : AO_NEVER;
    spec->retries = row->retries;
    spec->policy = row->policy;
    spec->priority = row->priority < SPEC_PRIORITY_MAX ? row->priority : SPEC_PRIORITY_MAX;
    if (traceparent_parse(row->traceparent, &spec->traceparent))
        spec->tracestate = row->tracestate;
    return take_ids(row, spec);
}

/* A task without options has the defaults; a message without them follows its type. */
static bool spec_of(const struct store_task *row, struct job_spec *spec)
{
    job_spec_init(spec);
    spec->method = row->method;
    spec->tenant = row->tenant;
    spec->params = row->params;
    spec->durable = row->durable;
    spec->actor = row->actor;
    spec->reminder = row->reminder;
    spec->every = row->every;
    spec->batch = row->batch;
    return !row->has_options || take_options(row, spec);
}

static char *text_of(struct span span, char *to)
{
    if (span.len > 0)
        memcpy(to, span.at, span.len);
    to[span.len] = '\0';
    return to;
}

/* False without memory. */
static bool take_checkpoint(struct job *job, const struct store_task *row)
{
    if (row->state == JOB_DONE || row->checkpoint.len == 0)
        return true;
    struct job_more *more = job_more(job);
    if (more)
        more->checkpoint = blob_copy(row->checkpoint);
    return more && more->checkpoint;
}

static bool take_end(struct job *job, const struct store_task *row)
{
    bool failed = row->error_code.len > 0;
    bool cut = row->state == JOB_DONE && row->result.len == 0; /* nil has a byte, too */
    if (!failed && !cut && row->result.len == 0)
        return true;
    struct job_result *end = job->end = calloc(1, sizeof *end);
    if (!end)
        return false;
    end->cut = cut;
    if (failed) {
        end->code = malloc(row->error_code.len + row->error_text.len + 2);
        if (!end->code)
            return false;
        text_of(row->error_code, end->code);
        end->text = text_of(row->error_text, end->code + row->error_code.len + 1);
    }
    if (row->result.len > 0) {
        end->result = blob_copy(row->result);
        if (!end->result)
            return false;
    }
    return true;
}

static uint8_t at_most_255(uint32_t count)
{
    return (uint8_t)(count < UINT8_MAX ? count : UINT8_MAX);
}

/* False without memory. */
static bool take_losses(struct job *job, const struct store_task *row)
{
    struct job_more *more = row->losses > 0 ? job_more(job) : job->more;
    if (more) {
        more->losses = at_most_255(row->losses);
        more->lost = at_most_255(row->lost);
    }
    return more || row->losses == 0;
}

/* Rows come by id, so what it names is there, if it is kept; and is kept from now on.  False
 * without memory. */
static bool take_refs(struct jobs *jobs, struct job *job, const struct store_task *row)
{
    const struct dependent any = {0};
    struct scheduler *s = jobs_scheduler(jobs);
    char text[JOB_TEXT_MAX];
    if (row->state == JOB_DONE)
        return true;
    return result_refs_find(s, job) &&
           (!job_state_open((enum job_state)row->state) ||
            result_refs_hold(s, job, &any, text, sizeof text) == ERGON_OK);
}

static ao_time due_of(struct jobs *jobs, uint64_t due_at)
{
    if (due_at > CODEC_DUE_NEVER / 2)
        return AO_NEVER;
    return due_at ? table_time_of(jobs_table(jobs), due_at) : 0;
}

/* What the file counts is an end, or open. */
static void take_life(struct jobs *jobs, struct job *job, const struct store_task *row)
{
    bool open = job_state_open((enum job_state)row->state);
    uint32_t attempt = store_attempt(row, jobs_table(jobs)->boards);
    job->deadline_at = row->deadline_at;
    if (open && row->deadline_at)
        job->deadline = table_time_of(jobs_table(jobs), row->deadline_at);
    job->due = due_of(jobs, row->due_at);
    job->arrival = open ? row->due_at : 0;
    job->attempt = attempt;
    job->failures = row->failures;
    job->crashes = at_most_255(row->crashes);
    if (row->cancel_asked)
        job_mark(job, JOB_CANCEL);
    job->started = row->started_at;
    job->ran_by = worker_of(jobs, row->ran_by);
    job->ended = row->ended_at;
    job->counted = open ? JOB_QUEUED : row->state;
    job->row = open && row->state != JOB_RUNNING ? JOB_QUEUED : row->state;
    job->saved = !open ? JOB_SAVED_ENDED : row->has_life ? JOB_SAVED_OPEN : JOB_SAVED_FIRST;
    job->row_attempt = attempt; /* so it is read again by the next */
    job->saved_attempt = attempt - (row->state == JOB_RUNNING && attempt > 0);
}

/* What has ended has all its state; what is open gets it in recover_go_on(). */
static void enter(struct jobs *jobs, struct job *job, enum job_state state)
{
    bool open = job_state_open(state);
    table_enter(jobs_table(jobs), job);
    table_enter_keys(jobs_table(jobs), job, open && !job_is(job, JOB_CANCEL));
    if (open)
        return;
    job_mark(job, JOB_NOT_REPLAYED);
    job_set_state(jobs_table(jobs), job, state, JOB_WHY_ENDED);
}

/* The actor of a million messages is a million places in memory, of which each is waited for. */
static void nears(struct jobs *jobs, struct job_spec *spec)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    if (spec->actor.len > 0)
        messages->nears(messages->arg, spec->tenant, spec);
}

/* False without memory. */
static bool take_row(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                     const struct store_task *row)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    job->created = row->created;
    if (jobs_table(jobs)->created < row->created)
        jobs_table(jobs)->created = row->created;
    take_life(jobs, job, row);
    return take_end(job, row) &&
           (!job->is_message || messages->recovered(messages->arg, job, spec, !row->has_options)) &&
           admission_join(jobs_scheduler(jobs), job, spec) && take_checkpoint(job, row) &&
           take_losses(job, row) && take_refs(jobs, job, row);
}

bool recover_task(struct jobs *jobs, const struct store_task *row, const char **failure)
{
    struct job_spec spec;
    assert(jobs_table(jobs)->recovering);
    *failure = "a task in the store has a state that is none";
    if (row->state >= JOB_STATE_COUNT)
        return false;
    *failure = "no memory for the tasks in the store";
    if (!spec_of(row, &spec))
        return false;
    nears(jobs, &spec);
    struct job *job = job_new(jobs_table(jobs), &spec, row->id);
    nears(jobs, &spec);
    bool whole = job && take_row(jobs, job, &spec, row);
    free((void *)spec.after);
    if (whole) {
        const struct member_hooks *members = &jobs_scheduler(jobs)->members;
        enter(jobs, job, (enum job_state)row->state);
        if (job->in_batch)
            members->recovered(members->arg, job, (enum job_state)row->state);
    } else if (job) {
        result_refs_let_go(jobs_scheduler(jobs), job);
        scheduler_forget(jobs_scheduler(jobs), job);
        job_free(jobs_table(jobs), job);
    }
    return whole;
}

/* --- The board --- */

static void *segment(void *arg, uint32_t n, bool grow)
{
    return store_board_segment(arg, n, grow);
}

/* Its row may know already how that attempt ended. */
static bool begun(void *arg, struct board_place *place)
{
    struct jobs *jobs = arg;
    const struct board_slot *slot = place->slot;
    struct job *job = table_find(jobs_table(jobs), slot->id);
    if (!job || slot->attempt <= job->saved_attempt || slot->attempt > JOB_COUNT_MAX)
        return false;
    if (slot->attempt >= job->attempt) {
        if (slot->attempt > job->attempt) { /* its row names the worker of another */
            worker_label_unref(&jobs_table(jobs)->labels, job->ran_by);
            job->ran_by = WORKER_LABEL_NONE;
        }
        job->attempt = slot->attempt;
        job->started = table_wall_of(jobs_table(jobs),
                                     atomic_load_explicit(&slot->mark.began, memory_order_relaxed));
    }
    place->next = job->places;
    job->places = place;
    return true;
}

int recover_new_board(struct jobs *jobs, char *error, size_t size)
{
    const struct board_memory memory = {.arg = jobs_store(jobs), .segment = segment};
    assert(!jobs_scheduler(jobs)->board);
    jobs_scheduler(jobs)->board = board_new(&memory);
    if (jobs_scheduler(jobs)->board)
        return 0;
    snprintf(error, size, "no memory for the board");
    return -1;
}

int recover_board(struct jobs *jobs, char *error, size_t size)
{
    enum store_board was;
    assert(jobs_table(jobs)->count == 0);
    if (store_board_open(jobs_store(jobs), &was, error, size) != 0 ||
        recover_new_board(jobs, error, size) != 0)
        return -1;
    struct board *board = jobs_scheduler(jobs)->board;
    if (was == STORE_BOARD_KEPT && !board_is_sound(board)) {
        log_warn("the file that lists the tasks that ran at the last crash is damaged");
        was = STORE_BOARD_LOST;
    }
    if (was != STORE_BOARD_KEPT &&
        store_board_renew(jobs_store(jobs), was == STORE_BOARD_LOST, error, size) != 0)
        return -1;
    return 0;
}

int recover_begins(struct jobs *jobs, char *error, size_t size)
{
    assert(jobs_scheduler(jobs)->board && !jobs_table(jobs)->recovering);
    if (board_read(jobs_scheduler(jobs)->board, begun, jobs))
        return 0;
    snprintf(error, size, "no memory for the board");
    return -1;
}

/* --- What was open goes on --- */

/* It waits for the end of that one, or has gone on since then. */
static void relink_one(struct jobs *jobs, struct job *job, const struct job *on, bool any)
{
    char text[JOB_TEXT_MAX];
    if (on->state != JOB_NEW && on->ended > job->created && on->ended > job->arrival)
        job->arrival = on->ended;
    dependencies_link(jobs_scheduler(jobs), job, on->id, any, text, sizeof text);
}

static void relink(struct jobs *jobs, struct job *job)
{
    const struct job_more *more = job->more;
    uint32_t all = more ? more->after_count + more->after_any_count : 0;
    size_t was = job_bytes(job);
    for (uint32_t i = 0; i < all; i++) {
        const struct job *on = table_find(jobs_table(jobs), more->after_ids[i]);
        if (on) /* else it ended well, and is forgotten */
            relink_one(jobs, job, on, i >= more->after_count);
    }
    table_weigh(jobs_table(jobs), job, was); /* the other ends are weighed where they are linked */
}

/* Handlers of it that had begun and not returned: each another crash of the server, but for those
 * that it had given up. */
static unsigned crashes_of(const struct job *job)
{
    unsigned crashes = 0;
    for (const struct board_place *place = job->places; place; place = place->next)
        crashes += board_is_crash(place);
    return crashes;
}

static void interrupted(struct jobs *jobs, struct job *job)
{
    char text[96];
    /* Files of earlier versions do not tell what ran at workers. */
    unsigned crashes = job->crashes + (queue_is_local(job->queue) ? crashes_of(job) : 0);
    replay_crash(jobs, job);
    job->crashes = at_most_255(crashes);
    snprintf(text, sizeof text, "the server ended while attempt %u ran", job->attempt);
    job_note(jobs_table(jobs), job, JOB_EVENT_INTERRUPTED, text);
    spans_interrupted(jobs_scheduler(jobs), job, text);
    if (job_crashed_enough(jobs_scheduler(jobs), job)) {
        job_end_crashed(jobs_scheduler(jobs), job);
        return;
    }
    job->due = 0;
    job_schedule(jobs_scheduler(jobs), job, true);
}

/* Tasks of methods that neither a module nor a worker offers wait until a worker registers: so
 * these methods become known, and more tasks of them are accepted.  But only a tenth of all names,
 * since strangers may have chosen them: the others are left to workers. */
static void intern_open(struct jobs *jobs)
{
    uint32_t left = INTERNED_MOST;
    for (struct job_queue *q = jobs_table(jobs)->queues; q && left > 0; q = q->next)
        if (!q->method && queue_is_open(q) &&
            registry_intern(jobs_options(jobs)->registry, q->name, &q->method) == ERGON_OK) {
            scheduler_move(jobs_scheduler(jobs), q);
            left--;
        }
}

static bool has_run(const struct job *job)
{
    return job->row == JOB_RUNNING || job->places;
}

/* --- In the order in which they joined the queue --- */

/* Most did as they were submitted.  Others did later: when they were due, when they were tried
 * again or let go on by hand, or when the last of those ended that they came after; `arrival` is
 * that time until they go on, in Unix ns.  They are in a heap by that time; without memory they go
 * on by id, as the others do. */
struct recover_late {
    uint64_t arrival;
    struct job *job;
};

static bool is_late(const struct job *job, ao_time now)
{
    return job->state == JOB_NEW && !has_run(job) && job->arrival > 0 && job->due <= now;
}

static bool is_before(const struct recover_late *x, const struct recover_late *y)
{
    return x->arrival != y->arrival ? x->arrival < y->arrival : x->job->id < y->job->id;
}

static void add_late(struct recover_pass *p, struct job *job)
{
    struct recover_late *grown =
        p->no_memory ? NULL : grow_array(p->late, &p->room, p->count, sizeof *grown);
    const struct recover_late new = {job->arrival, job};
    if (!grown) {
        p->no_memory = true;
        p->count = 0;
        return;
    }
    p->late = grown;
    uint32_t at = p->count++;
    for (; at > 0 && is_before(&new, &grown[(at - 1) / 2]); at = (at - 1) / 2)
        grown[at] = grown[(at - 1) / 2];
    grown[at] = new;
}

static struct job *pop_late(struct recover_pass *p)
{
    struct recover_late *heap = p->late;
    struct job *first = heap[0].job;
    const struct recover_late last = heap[--p->count];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < p->count) {
        child += child + 1 < p->count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

static void go_on(struct jobs *jobs, struct job *job)
{
    assert(job->state == JOB_NEW && !job_is(job, JOB_ENDING));
    job->arrival = 0;
    if (has_run(job))
        interrupted(jobs, job);
    else
        job_schedule(jobs_scheduler(jobs), job, false);
}

/* --- In small steps --- */

static void begin_walk(struct jobs *jobs, struct recover_pass *p)
{
    walk_begin(&jobs_table(jobs)->walks, &p->walk, jobs_table(jobs)->first, false);
}

static void end_walk(struct jobs *jobs, struct recover_pass *p)
{
    walk_end(&jobs_table(jobs)->walks, &p->walk);
    p->phase++;
}

/* By hand, since its last attempt: then it is behind the others. */
static bool was_tried_again(const struct job *job)
{
    struct history_event event;
    for (uint32_t seq = history_next(job) - 1; seq > 1 && history_get(job, seq, &event); seq--)
        if (event.seq != seq || event.what == JOB_EVENT_STARTED)
            return false;
        else if (event.what == JOB_EVENT_RETRIED)
            return true;
    return false;
}

/* A message whose attempts had begun keeps its place, also while it waits for the next.  One that
 * waits for its first time has begun none, though the number of its attempt was raised, as of all
 * that may have begun before a power cut. */
static bool keeps_place(const struct job *job, ao_time now)
{
    if (has_run(job) || job->failures > 0 || job_losses(job) > 0)
        return true;
    bool awaits_first = job->started == 0 && job->arrival > 0 && job->due > now;
    return job->attempt > 0 && !awaits_first && !job_is_quiet(job) && !was_tried_again(job);
}

static void resume(struct jobs *jobs, struct job *job, ao_time now)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    messages->resumes(messages->arg, job, keeps_place(job, now));
}

/* Each open job gets its reason to wait again, and late ones are marked. */
static uint32_t relink_some(struct jobs *jobs, struct recover_pass *p, uint32_t most)
{
    struct job *job = NULL;
    while (most > 0 && (job = walk_next(&p->walk))) {
        most--;
        if (job->state != JOB_NEW)
            continue;
        relink(jobs, job);
        if (job->is_message)
            resume(jobs, job, p->now);
        if (is_late(job, p->now))
            add_late(p, job);
        else
            job->arrival = 0; /* nor will it be late when the clock leaps meanwhile */
    }
    if (!job && most > 0)
        end_walk(jobs, p);
    return most;
}

/* Those that were due until then, in Unix ns. */
static uint32_t late_go_on(struct jobs *jobs, struct recover_pass *p, uint64_t until, uint32_t most)
{
    for (; most > 0 && p->count > 0 && p->late[0].arrival <= until; most--)
        go_on(jobs, pop_late(p));
    return most;
}

/* The timers of those that have ended may not have been set (read_back.h). */
static uint32_t go_on_some(struct jobs *jobs, struct recover_pass *p, uint32_t most)
{
    struct job *job = NULL;
    while (most > 0 && (job = p->walk.at)) {
        bool goes_on = job->state == JOB_NEW && (p->no_memory || !is_late(job, p->now));
        if (goes_on && !p->no_memory)
            most = late_go_on(jobs, p, job->created, most);
        if (most == 0)
            break;
        most--;
        walk_next(&p->walk);
        if (goes_on)
            go_on(jobs, job);
        else if (job->state != JOB_NEW && ao_state(&job->timer) == AO_STATE_INACTIVE)
            job_effect(jobs_table(jobs), job, EFFECT_TIMER);
    }
    if (!job && most > 0)
        end_walk(jobs, p);
    return most;
}

static void finish(struct jobs *jobs, struct recover_pass *p)
{
    intern_open(jobs);
    free(p->late);
    *p = (struct recover_pass){.phase = RECOVER_OVER};
}

bool recover_go_on(struct jobs *jobs, struct recover_pass *p, uint32_t most)
{
    assert(!jobs_table(jobs)->recovering && !jobs_table(jobs)->clock_held);
    if (p->phase == RECOVER_BEGINS) {
        p->now = table_now(jobs_table(jobs));
        begin_walk(jobs, p);
        p->phase = RECOVER_RELINKS;
    }
    if (p->phase == RECOVER_RELINKS) {
        most = relink_some(jobs, p, most);
        if (p->phase != RECOVER_RELINKS)
            begin_walk(jobs, p);
    }
    if (p->phase == RECOVER_GOES_ON)
        most = go_on_some(jobs, p, most);
    if (p->phase == RECOVER_LATE && late_go_on(jobs, p, UINT64_MAX, most) > 0)
        finish(jobs, p);
    return p->phase == RECOVER_OVER;
}

void recover_end(struct jobs *jobs, struct recover_pass *p)
{
    if (p->phase == RECOVER_RELINKS || p->phase == RECOVER_GOES_ON)
        end_walk(jobs, p);
    free(p->late);
    *p = (struct recover_pass){.phase = RECOVER_OVER};
}
