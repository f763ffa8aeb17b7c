/* The port of a loop's workers (worker_executor.h): what the worker loop does to their connections.
 * A task becomes a request of ours.
 *
 * Brief parameters are copied into the connection's output; long ones go out from where they lie,
 * for the task has them until it is answered, or its job until the task has returned.  To a process
 * of a module they go by memory that it shares with us (worker_process.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "proto/encoder.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs.h"
#include "server/tasks/attempt.h"
#include "server/tasks/call_params.h"
#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"
#include "server/tasks/turn.h"
#include "server/workers/worker_process.h"
#include "server/workers/workers.h"

enum {
    BY_REFERENCE_MIN = 64 * 1024, /* bytes */
    HEAD_MAX = 1 + 1 + ENC_INT_MAX + ENC_HEAD_MAX + METHOD_NAME_MAX + 2 * ENC_HEAD_MAX,
    CONTEXT_MAX = 1024 + TRACESTATE_MAX /* bytes, with the longest tenant and tracestate */
};
static_assert(HEAD_MAX + CONTEXT_MAX <= 2048, "PROTOCOL.md says how long a request may be");

/* Parameters as [...]: how many, and the values; any other value is read as an array of it. */
struct values {
    uint32_t count;
    struct span raw;
    bool old;      /* the peer gets them as of 2013 */
    size_t len;    /* bytes, as the peer gets them */
    size_t shared; /* bytes of the array, where it is in shared memory instead; else 0 */
};

static struct values values_of(struct span params, bool old)
{
    struct reader r;
    struct values v = {.old = old};

    read_params(params, &r, &v.count);
    v.raw = reader_rest(&r);
    if (v.count == 0)
        v.raw.len = 0;
    v.len = old ? enc_raw_length(v.raw) : v.raw.len;
    return v;
}

/* --- The context of a task --- */

static uint8_t *put_text(uint8_t *p, const char *text)
{
    return enc_str(p, span_text(text));
}

/* With a head that peers of 2013 know, too. */
static uint8_t *put_span(uint8_t *p, struct span text)
{
    enum { MOST = TRACESTATE_MAX };
    uint32_t len = (uint32_t)(text.len < MOST ? text.len : MOST);

    p = enc_raw_head(p, len);
    return len > 0 ? (uint8_t *)memcpy(p, text.at, len) + len : p;
}

static uint8_t *put_left(uint8_t *p, const struct task *t, ao_time now)
{
    if (t->deadline == AO_NEVER)
        return enc_nil(p);
    return enc_uint(p, t->deadline > now ? (t->deadline - now) / AO_MS(1) : 0);
}

static uint8_t *put_trace(uint8_t *p, const struct trace_link *link)
{
    char text[TRACEPARENT_SIZE];

    p = put_text(p, "traceparent");
    p = put_span(p, span_text(traceparent_text(&link->context, text)));
    return link->state.len > 0 ? put_span(put_text(p, "tracestate"), link->state) : p;
}

/* What a turn adds to the context: its pairs, and bytes, at most. */
enum { TURN_PAIRS = 5, TURN_MAX = 64 + ACTOR_NAME_MAX + ID_CALLS_SIZE };

static const struct attempt_turn *turn_of(const struct task *t)
{
    return task_is(t, TASK_ATTEMPT) ? t->attempt->turn : NULL;
}

static size_t turn_bytes(const struct attempt_turn *turn)
{
    return !turn ? 0 : TURN_MAX + turn->state.len;
}

static uint8_t *put_raw(uint8_t *p, struct span raw)
{
    return (uint8_t *)memcpy(p, raw.at, raw.len) + raw.len;
}

static uint8_t *put_turn(uint8_t *p, const struct attempt *a, const struct attempt_turn *turn)
{
    char calls[ID_CALLS_SIZE];
    struct span state = turn->state.len > 0 ? turn->state : span_text("\xc0");

    p = put_span(put_text(p, "actor"), turn->actor);
    p = enc_uint(put_text(p, "version"), turn->version);
    p = enc_uint(put_text(p, "schema"), turn->schema);
    p = put_span(put_text(p, "calls"), span_text(id_calls_text(a->id, turn->round, calls)));
    return put_raw(put_text(p, "state"), state);
}

static uint8_t *put_shared(uint8_t *p, const struct task *t, size_t size)
{
    p = enc_array(put_text(p, "params"), 2);
    return enc_uint(enc_uint(p, call_params_offset((uint16_t)(t->out.shared - 1))), size);
}

static uint8_t *put_batch(uint8_t *p, const char *key, uint64_t id)
{
    char text[ID_TEXT_SIZE];
    return id > 0 ? put_span(put_text(p, key), span_text(id_batch_text(id, text))) : p;
}

static uint32_t batch_pairs(const struct attempt_batches *of)
{
    return (of->member_of > 0 ? 1u : 0) + (of->callback_of > 0 ? 1u : 0);
}

static uint8_t *put_batches(uint8_t *p, const struct attempt_batches *of)
{
    return put_batch(put_batch(p, "batch", of->member_of), "callback_of", of->callback_of);
}

/* {call, task, attempt, left, tenant}; of a plain call no task and no tenant; of one that belongs
 * to a trace {traceparent, tracestate}, too; of one that has to do with a batch {batch,
 * callback_of}; of a turn {actor, version, schema, calls, state}; of a task that has one
 * {checkpoint}; of one whose parameters are elsewhere {params}. */
static uint8_t *put_context(uint8_t *p, const struct task *t, const struct values *v,
                            uint32_t number, ao_time now)
{
    const struct attempt *a = task_is(t, TASK_ATTEMPT) ? t->attempt : NULL;
    const struct task_trace *trace = task_trace(t);
    const struct attempt_turn *turn = turn_of(t);
    bool is_actor = turn_is_of_actor(turn);
    uint32_t pairs = is_actor ? TURN_PAIRS : turn ? 1u : 0u;
    char id[ID_TEXT_SIZE];

    pairs += (a && a->batches ? batch_pairs(a->batches) : 0) + (v->shared > 0 ? 1 : 0);
    p = enc_map(p, (!trace ? 5u : trace->link.state.len > 0 ? 7u : 6u) + pairs);
    p = enc_uint(put_text(p, "call"), number);
    p = put_text(p, "task");
    p = a ? put_span(p, span_text(id_text(a->id, id))) : enc_nil(p);
    p = enc_uint(put_text(p, "attempt"), a ? a->attempt : 1);
    p = put_left(put_text(p, "left"), t, now);
    p = put_text(p, "tenant");
    p = a ? put_span(p, jobs_owner_tenant(a->owner)) : enc_nil(p);
    p = trace ? put_trace(p, &trace->link) : p;
    p = a && a->batches ? put_batches(p, a->batches) : p;
    p = v->shared > 0 ? put_shared(p, t, v->shared) : p;
    if (is_actor)
        return put_turn(p, a, turn);
    return turn ? put_raw(put_text(p, "checkpoint"), turn->state) : p;
}

/* --- The request --- */

static uint8_t *put_head(uint8_t *p, uint32_t number, struct span method, uint32_t values)
{
    p = enc_array(p, 4);
    p = enc_uint(enc_uint(p, 0), number);
    p = enc_raw_head(p, (uint32_t)method.len);
    p = (uint8_t *)memcpy(p, method.at, method.len) + method.len;
    return enc_array(p, values);
}

static void keep(void *block)
{
    (void)block;
}

static bool send_long(struct worker *w, struct task *t, uint32_t number, struct values v)
{
    struct connection *c = w->link->conn;
    uint8_t *p = conn_reserve(c, HEAD_MAX);

    if (!p)
        return false;
    conn_commit(c, put_head(p, number, t->method->name, v.count + w->context));
    if (!conn_send_block(c, t, v.raw, keep))
        return false;
    p = w->context ? conn_reserve(c, CONTEXT_MAX + turn_bytes(turn_of(t))) : NULL;
    if (p)
        conn_commit(c, put_context(p, t, &v, number, activator_now(w->link->loop->activator)));
    return p != NULL || !w->context;
}

static uint8_t *put_values(uint8_t *p, struct values v)
{
    if (v.raw.len == 0)
        return p;
    return v.old ? enc_raw(p, v.raw) : (uint8_t *)memcpy(p, v.raw.at, v.raw.len) + v.raw.len;
}

static bool send_copied(struct worker *w, struct task *t, uint32_t number, struct values v)
{
    struct connection *c = w->link->conn;
    uint8_t *p = conn_reserve(c, HEAD_MAX + v.len + CONTEXT_MAX + turn_bytes(turn_of(t)));

    if (!p)
        return false;
    p = put_head(p, number, t->method->name, v.count + w->context);
    p = put_values(p, v);
    if (w->context)
        p = put_context(p, t, &v, number, activator_now(w->link->loop->activator));
    conn_commit(c, p);
    return true;
}

static bool send_request(struct worker *w, struct task *t, uint32_t number, struct values v)
{
    return v.len >= BY_REFERENCE_MIN && !v.old ? send_long(w, t, number, v)
                                               : send_copied(w, t, number, v);
}

/* At most. */
static uint64_t request_bytes(const struct worker *w, const struct task *t, struct values v)
{
    return v.len + HEAD_MAX + (w->context ? CONTEXT_MAX + turn_bytes(turn_of(t)) : 0);
}

/* A worker that got a longer message than it takes would end the connection, and its other tasks
 * would be lost with this one. */
static bool takes(const struct worker *w, const struct task *t, struct values v)
{
    return w->message == 0 || request_bytes(w, t, v) <= w->message;
}

/* Not inline: its text would be room on the stack of each request. */
static __attribute__((noinline)) void fail_too_large(const struct worker *w, struct task *t,
                                                     struct values v)
{
    char id[WORKER_ID_SIZE], text[160];

    snprintf(text, sizeof text,
             "the request has up to %" PRIu64 " bytes, and worker %s takes %" PRIu64
             " (its option `message`)",
             request_bytes(w, t, v), worker_id(w, id), w->message);
    task_fail(t, ERGON_E_TOO_LARGE, NULL, span_text(text));
}

/* May it still offer what it does?  What a principal may can change while it is connected. */
static bool may_offer(struct worker_link *link)
{
    if (conn_rights(link->conn) == link->rights)
        return true;
    for (struct worker *w = link->first; w; w = w->next)
        for (uint32_t i = 0; i < w->count; i++)
            if (!worker_may_offer(link->conn, w->methods[i]))
                return false;
    link->rights = conn_rights(link->conn);
    return true;
}

/* A worker refused here is notified when the output has room, or an answer has come. */
static bool refuse(struct worker *w)
{
    w->full = true;
    return false;
}

static bool send_task(void *peer, struct worker_executor *r, struct task *t)
{
    struct worker *w = peer;
    struct worker_link *link = w->link;

    if (link->why || conn_output_full(link->conn))
        return refuse(w);
    if (!may_offer(link)) {
        worker_close(link, "it may not offer any more what it registered");
        return refuse(w);
    }
    struct values v = values_of(t->params, conn_mode(link->conn)->raw);
    if (!takes(w, t, v)) {
        fail_too_large(w, t, v);
        worker_executor_answer(r, t);
        return true;
    }
    uint32_t number = requests_open(&link->requests, t);
    if (number == 0) {
        if (link->requests.out == 0) /* neither an answer nor a flush would open the door again */
            worker_close(link, "there is no memory for what it would be asked");
        return refuse(w);
    }
    t->out.request = number;
    t->out.shared = 0;
    if (worker_is_process(link) && worker_process_lend(link, t, v.count, v.raw, &v.shared))
        v.raw = (struct span){0}, v.count = 0, v.len = 0;
    worker_link_settle(link);
    uint64_t begin = conn_committed(link->conn);
    if (!send_request(w, t, number, v)) /* the connection is being closed: it is lost with it */
        return true;
    requests_sent(&link->requests, number, begin, conn_committed(link->conn));
    return true;
}

/* --- Beside requests --- */

static const char *text_of(const struct worker_link *link, enum task_flag why)
{
    if (why == TASK_LATE)
        return "deadline";
    if (why == TASK_GONE)
        return "gone";
    bool draining = atomic_load_explicit(&link->loop->shared->draining, memory_order_relaxed);
    return draining ? "draining" : "cancelled";
}

/* worker.cancel [call, why]: only workers that asked for the context get it. */
static void send_cancel(const struct worker *w, const struct task *t, enum task_flag why)
{
    enum { CANCEL_MAX = 64 };
    uint8_t *p = w->context ? conn_reserve(w->link->conn, CANCEL_MAX) : NULL;

    if (!p)
        return;
    p = enc_uint(enc_array(p, 3), 2);
    p = put_text(p, "worker.cancel");
    p = enc_uint(enc_array(p, 2), t->out.request);
    conn_commit(w->link->conn, put_text(p, text_of(w->link, why)));
}

static void unwanted(void *peer, struct task *t, enum task_flag why)
{
    const struct worker *w = peer;

    send_cancel(w, t, why);
    worker_late_begin(w->link);
}

/* --- Registrations --- */

static void joined(void *peer, struct worker_executor *r, enum ergon_error error, const char *text)
{
    struct worker *w = peer;
    char id[WORKER_ID_SIZE];

    (void)r;
    if (error != ERGON_OK)
        w->executor = NULL;
    else
        log_info("worker registered", LOG_STR("worker", worker_id(w, id)),
                 LOG_UINT("conn", conn_id(w->link->conn)),
                 LOG_PEER("peer", conn_peer(w->link->conn)), LOG_STR("name", w->name),
                 LOG_STR("version", w->version), LOG_UINT("slots", w->slots),
                 LOG_UINT("methods", w->count));
    if (error == ERGON_OK)
        worker_count(w, true);
    worker_answer_waits(w, error, text);
    if (error != ERGON_OK)
        worker_drop(w);
    else if (w->lease > 0)
        worker_lease_begin(w->link);
}

/* A peer that has several registrations is answered when all of them are settled, in whatever order
 * the manager comes to them. */
static void settled(void *peer, struct worker_executor *r, bool open)
{
    struct worker *w = peer;
    const struct worker_link *link = w->link;

    (void)r;
    worker_count_quiet(w, !open);
    w->settling = false;
    for (const struct worker *other = link->first; other; other = other->next)
        if (other->settling)
            return;
    for (w = link->first; w; w = w->next)
        if (worker_is_open(w))
            worker_answer_waits(w, ERGON_OK, NULL);
}

void rpc_serve_workers(struct rpc_loop *loop, struct worker_loop *worker_loop)
{
    const struct worker_port port = {
        .send = send_task, .unwanted = unwanted, .joined = joined, .settled = settled};

    loop->worker_loop = worker_loop;
    worker_loop_set_port(worker_loop, &port);
}
