/* The namespace task.*: how work comes in, and what is asked of jobs that the server keeps. */
#include "base/clock.h"
#include "proto/job_options.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/verbs/view.h"
#include "server/rpc/read_spec.h"
#include "server/rpc/task_filter.h"
#include "server/tracing/tracer.h"

/* --- submit, call --- */

static const char submit_usage[] = "task.submit takes [method, [params], {options}]";
static const char call_usage[] = "task.call takes [method, [params], {options}]";

/* A call that asks for nothing but a deadline, and names no more than its trace, is no job: it goes
 * the way of a plain one. */
struct short_call {
    struct span name, params;
    uint64_t within;         /* ns */
    struct trace_link trace; /* or none */
};

enum { SHORT_OPTIONS = 3 };

/* False: it is none of these, or wrong, or was there before. */
static bool read_short_option(struct reader *r, struct short_call *out)
{
    struct span key;

    if (!read_text(r, &key))
        return false;
    if (span_is(key, "deadline"))
        return out->within == UINT64_MAX && read_duration(r, &out->within);
    if (span_is(key, "traceparent"))
        return !trace_context_is(&out->trace.context) && option_traceparent(r, &out->trace.context);
    return span_is(key, "tracestate") && out->trace.state.len == 0 &&
           option_tracestate(r, &out->trace.state);
}

/* True: it is one.  Looks only; the parameters may turn out to be wrong. */
static bool is_short(struct rpc_request *rq, struct short_call *out)
{
    struct reader r;
    uint32_t count, pairs = 0;

    *out = (struct short_call){.params = span_text("\xc0"), .within = UINT64_MAX};
    read_params(rq->params, &r, &count);
    if (count < 1 || count > 3 || !read_text(&r, &out->name) ||
        (count > 1 && !rpc_read_any(rq, rq->params, &r, &out->params)))
        return false;
    if (count < 3 || read_nil(&r))
        return true;
    if (!read_map(&r, &pairs) || pairs > SHORT_OPTIONS)
        return false;
    while (pairs > 0 && read_short_option(&r, out))
        pairs--;
    return pairs == 0;
}

static void start_short(struct rpc_request *rq, const struct short_call *call)
{
    struct method *m = registry_find(rq->loop->shared->registry, call->name);
    ao_time now = activator_now(rq->loop->activator);

    if (!rpc_admit(rq, call->name, m ? m->name.at : NULL, RPC_GUARDED))
        return;
    if (!m) {
        rpc_refuse(rq, ERGON_E_NO_METHOD, "no handler \"%.*s\"; %s",
                   (int)(call->name.len < 256 ? call->name.len : 256), (const char *)call->name.at,
                   rpc_where_else(call->name));
        return;
    }
    ao_time deadline = clock_after(now, call->within);
    struct trace_link trace = {.context = call->trace.context};
    bool is_traced = trace_context_is(&trace.context);
    if (is_traced)
        trace.state = call->trace.state; /* without a traceparent it says nothing */
    else
        is_traced = tracer_begins(rq->loop->sampler, &trace.context);
    rpc_start_call(rq, m, call->params, deadline, is_traced ? &trace : NULL);
}

static void serve_one(struct rpc_request *rq, const struct operation_class *cls, const char *usage)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, cls, 1))
        return;
    spec_defaults(&jr, &jr.op->submission.specs[0]);
    if (spec_read(&jr, &jr.op->submission.specs[0], jr.count, usage))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

/* task.call [method, [params], {options}] */
void serve_task_call(struct rpc_request *rq)
{
    struct short_call call;

    if (is_short(rq, &call))
        start_short(rq, &call);
    else
        serve_one(rq, &operation_task_call, call_usage);
}

/* task.submit [method, [params], {options}] */
void serve_task_submit(struct rpc_request *rq)
{
    serve_one(rq, &operation_task_submit, submit_usage);
}

/* --- get, wait, watch, change, list --- */

static const ao_time poll_time = AO_S(8); /* less than the ten seconds that common clients wait */
static const ao_time poll_most = AO_S(3600);
enum {
    HISTORY_SHOWN = 192 * 1024, /* bytes of a whole history, as it is shown */
    ATTEMPTS_SHOWN = 2 * HISTORY_SHOWN
};
enum { VIEW_BYTES = 1024 /* of one task as it is shown, without its result; more is rare */ };
enum { PAGE = 100, PAGE_MOST = 1000, EVENTS = 100, EVENTS_MOST = 10000 };

static bool read_poll(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns <= poll_most;
}

#define EXPECTS_POLL "a duration of at most an hour: milliseconds, or text such as \"5s\""

/* [id, {options}] or [ids, {options}]: reads the options, and sends. */
static void send_with(struct job_request *jr, const struct option *options, uint32_t count,
                      bool poll)
{
    bool good = job_request_options(jr, options, count);
    if (jr->op->cls == &operation_task_wait)
        jr->answer = 2 * VIEW_BYTES * jr->op->wait.count;
    if (good)
        job_request_send(jr, poll);
    else
        job_request_abort(jr);
}

/* The parts of a task that task.get shows, each by an option of this name. */
static const struct {
    const char *name;
    enum view_part part;
    bool is_default;
} view_parts[] = {
    {"result", VIEW_RESULT, true},    {"history", VIEW_HISTORY, false},
    {"params", VIEW_PARAMS, false},   {"params_text", VIEW_PARAMS_TEXT, false},
    {"options", VIEW_OPTIONS, false}, {"attempts", VIEW_ATTEMPTS, false},
};
enum { VIEW_PARTS = sizeof view_parts / sizeof view_parts[0] };

static bool read_parts(struct job_request *jr, unsigned *parts)
{
    struct option options[VIEW_PARTS];
    bool asked[VIEW_PARTS];

    for (unsigned i = 0; i < VIEW_PARTS; i++) {
        asked[i] = view_parts[i].is_default;
        options[i] = (struct option){view_parts[i].name, option_flag, &asked[i], "true or false"};
    }
    if (!job_request_options(jr, options, VIEW_PARTS))
        return false;
    for (unsigned i = 0; i < VIEW_PARTS; i++)
        *parts |= asked[i] ? view_parts[i].part : 0;
    return true;
}

/* Bytes of the answer, at most; of parameters, as much as a message may have. */
static uint32_t get_bytes(const struct rpc_request *rq, unsigned parts)
{
    uint32_t bytes = parts & VIEW_HISTORY ? HISTORY_SHOWN : VIEW_BYTES;

    bytes += parts & VIEW_ATTEMPTS ? ATTEMPTS_SHOWN : 0;
    bytes += parts & VIEW_PARAMS_TEXT ? DISPLAY_MAX : 0;
    return bytes + (parts & VIEW_PARAMS ? rq->loop->shared->limits.scan.message_max : 0);
}

void serve_task_get(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_task_get, 0))
        return;
    struct job_arguments *job = &jr.op->job;
    if (!job_request_read_id(&jr, &job->id) || !read_parts(&jr, &job->parts)) {
        job_request_abort(&jr);
        return;
    }
    jr.answer = get_bytes(rq, job->parts);
    if (job->parts & VIEW_PARAMS && !rpc_may_begin(rq, jr.answer))
        job_request_abort(&jr); /* it comes again */
    else
        job_request_send(&jr, false);
}

void serve_task_wait(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_task_wait, 0))
        return;
    struct wait_arguments *wait = &jr.op->wait;
    wait->with_result = true;
    wait->timeout = poll_time;
    const struct option options[] = {
        {"timeout", read_poll, &wait->timeout, EXPECTS_POLL},
        {"any", option_flag, &wait->any, "true or false"},
        {"result", option_flag, &wait->with_result, "true or false"},
    };
    if (job_request_read_ids(&jr, wait))
        send_with(&jr, options, 3, true);
    else
        job_request_abort(&jr);
}

/* A watcher that is pushed to waits as long as the task lives, unless it says otherwise. */
static void send_watch(struct job_request *jr, bool given)
{
    struct watch_arguments *watch = &jr->op->watch;

    if (watch->push && !conn_mode(jr->rq->conn)->push) {
        rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS,
                   "push is for connections that said server.hello [{push: true}]");
        job_request_abort(jr);
        return;
    }
    if (!given)
        watch->timeout = watch->push ? AO_NEVER : poll_time;
    if (watch->max > EVENTS_MOST)
        watch->max = EVENTS_MOST;
    job_request_send(jr, true);
}

void serve_task_watch(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_task_watch, 0))
        return;
    struct watch_arguments *watch = &jr.op->watch;
    watch->from = 1;
    watch->max = EVENTS;
    watch->timeout = AO_NEVER;
    const struct option options[] = {
        {"from", option_count, &watch->from, "the number of an event, from 1"},
        {"max", option_count, &watch->max, "a number from 1"},
        {"timeout", read_poll, &watch->timeout, EXPECTS_POLL},
        {"push", option_flag, &watch->push, "true or false"},
    };
    if (!job_request_read_id(&jr, &watch->id) || !job_request_options(&jr, options, 4))
        job_request_abort(&jr);
    else
        send_watch(&jr, watch->timeout != AO_NEVER);
}

static bool read_change(struct job_request *jr, struct job_change *change)
{
    static const uint64_t not_given = UINT64_MAX;
    *change =
        (struct job_change){.priority = CHANGE_NO_PRIORITY, .delay = AO_NEVER, .at = not_given};
    const struct option options[] = {
        {"priority", option_priority, &change->priority, job_options[JOB_OPTION_priority].expects},
        {"delay", option_duration, &change->delay, job_options[JOB_OPTION_delay].expects},
        {"at", option_moment, &change->at, job_options[JOB_OPTION_at].expects},
    };
    if (!job_request_options(jr, options, 3))
        return false;
    change->timed = change->delay != AO_NEVER || change->at != not_given;
    if (change->at == 0)
        change->delay = 0; /* 1970 has come, so the task may begin at once */
    else if (change->at == not_given)
        change->at = 0;
    if (change->timed || change->priority != CHANGE_NO_PRIORITY)
        return true;
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "nothing is to change: give priority, delay or at");
    return false;
}

void serve_task_change(struct rpc_request *rq)
{
    struct job_request jr;
    if (!job_request_begin(&jr, rq, &operation_task_change, 0))
        return;
    if (job_request_read_id(&jr, &jr.op->change.id) && read_change(&jr, &jr.op->change.change))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

static bool read_cursor(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span text;

    if (read_text(r, &text) && id_parse(text, out))
        return true;
    *r = before;
    return false;
}

static bool read_searched(struct reader *r, void *out)
{
    struct span *text = out;
    return read_text(r, text) && text->len > 0 && text->len <= SEARCH_TEXT_MAX;
}

void serve_task_list(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_task_list, 0))
        return;
    struct list_arguments *list = &jr.op->list;
    list->filter.state = -1;
    list->max = PAGE;
    bool text = false;
    const struct option own[] = {
        {"limit", option_count, &list->max, "a number from 1"},
        {"cursor", read_cursor, &list->cursor, "what `next` of the page before said"},
        {"params_text", option_flag, &text, "true or false"},
        {"contains", read_searched, &list->contains.is.text, "a text of 1 to 256 bytes"},
    };
    job_request_keep(&jr, &list->contains.is.text);
    if (jr.count > 1 || (jr.count == 1 && !task_filter_read(&jr, &list->filter, own, 4))) {
        if (jr.count > 1)
            rpc_refuse_params(rq, "");
        job_request_abort(&jr);
        return;
    }
    if (list->max > PAGE_MOST)
        list->max = PAGE_MOST;
    list->parts = text ? VIEW_PARAMS_TEXT : 0;
    uint32_t each = VIEW_BYTES + (text ? DISPLAY_MAX : 0);
    jr.answer = list->max < LIST_BYTES_MAX / each ? list->max * each : LIST_BYTES_MAX;
    job_request_send(&jr, false);
}

/* --- events --- */

static bool read_after(struct reader *r, void *out)
{
    struct feed_arguments *feed = out;
    struct reader before = *r;
    struct span text;
    if (read_text(r, &text)) {
        feed->from_oldest = span_is(text, "oldest");
        if (feed->from_oldest || feed_cursor_parse(text, &feed->after))
            return true;
    }
    *r = before;
    return false;
}

enum { FEED_NAMES = 64 /* more than there are */ };

/* A name, or an array of names: each adds to the set.  An empty array is as if none were given. */
static bool read_kinds(struct reader *r, uint32_t (*kinds_of)(struct span name), uint32_t *out)
{
    struct reader before = *r;
    struct span name;
    uint32_t kinds = 0, count = 1, one;
    bool good;
    if (!read_array(r, &count))
        *r = before;
    good = count <= FEED_NAMES;
    for (uint32_t left = count; good && left > 0; left--) {
        good = read_text(r, &name) && (one = kinds_of(name)) != 0;
        kinds |= good ? one : 0;
    }
    if (good && count > 0)
        *out &= kinds;
    if (!good)
        *r = before;
    return good;
}

/* An id, or an array of ids.  An empty array is as if none were given. */
static bool read_feed_ids(struct reader *r, void *out)
{
    struct feed_arguments *feed = out;
    struct reader before = *r;
    struct span text;
    uint32_t count = 1;
    if (!read_array(r, &count))
        *r = before;
    for (feed->id_count = 0; feed->id_count < count; feed->id_count++)
        if (count > FEED_IDS || !read_text(r, &text) ||
            !id_parse(text, &feed->ids[feed->id_count])) {
            *r = before;
            return false;
        }
    return true;
}

static bool read_events(struct reader *r, void *out)
{
    return read_kinds(r, feed_kinds_named, out);
}

static bool read_states(struct reader *r, void *out)
{
    return read_kinds(r, feed_kinds_of_state, out);
}

void serve_task_events(struct rpc_request *rq)
{
    enum { EVENT_BYTES = 256 /* of one as it is shown; more is rare */ };
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_task_events, 0))
        return;
    struct feed_arguments *feed = &jr.op->feed;
    *feed = (struct feed_arguments){.kinds = UINT32_MAX, .max = EVENTS, .timeout = poll_time};
    const struct option options[] = {
        {"after", read_after, feed, "what `next` of the page before said, or \"oldest\""},
        {"max", option_count, &feed->max, "a number from 1"},
        {"timeout", read_poll, &feed->timeout, EXPECTS_POLL},
        {"event", read_events, &feed->kinds,
         "a name or an array of at most 64 names, such as submitted, started, attempt_failed, "
         "done"},
        {"state", read_states, &feed->kinds,
         "a name or an array of at most 64 names: queued, delayed, waiting, running, done, failed, "
         "cancelled, expired or dead"},
        {"id", read_feed_ids, feed, "a task's id or an array of at most 32 ids"},
        {"method", option_name, &feed->method, JOB_EXPECTS_NAME},
        {"tenant", option_name, &feed->tenant, JOB_EXPECTS_NAME},
        {"key", option_name, &feed->key, JOB_EXPECTS_NAME},
    };
    job_request_keep(&jr, &feed->method);
    job_request_keep(&jr, &feed->tenant);
    job_request_keep(&jr, &feed->key);
    if (jr.count > 1 || (jr.count == 1 && !rpc_read_options(rq, &jr.r, options,
                                                            sizeof options / sizeof options[0]))) {
        if (jr.count > 1)
            rpc_refuse_params(rq, "");
        job_request_abort(&jr);
        return;
    }
    if (feed->max > EVENTS_MOST)
        feed->max = EVENTS_MOST;
    jr.answer =
        feed->max < FEED_PAGE_BYTES / EVENT_BYTES ? feed->max * EVENT_BYTES : FEED_PAGE_BYTES;
    job_request_send(&jr, true);
}
