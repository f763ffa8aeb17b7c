/* The namespaces sem.* and event.*: what clients share by name. */
#include "base/chance.h"
#include "base/hex.h"
#include "proto/job_options.h"
#include "server/jobs/core/ids.h"
#include "server/rpc/read_spec.h"

static const ao_time wait_time = AO_S(8), grace_time = AO_S(10);
static const ao_time timeout_most = AO_S(3600);
enum { HOLDERS_SHOWN = 32 * 1024 /* bytes of a semaphore that is explained */ };

#define EXPECTS_COUNT "a number from 1 to 4294967295"

/* --- What they have in common --- */

/* [name, ...]: begins the request, and reads the name.  False: it was answered. */
static bool begin(struct job_request *jr, struct rpc_request *rq, const struct operation_class *cls,
                  struct span *(*name_of)(struct operation *))
{
    if (!job_request_begin(jr, rq, cls, 0))
        return false;
    struct span *name = name_of(jr->op);
    if (jr->count > 0 && option_name(&jr->r, name)) {
        job_request_keep(jr, name);
        return true;
    }
    rpc_refuse_params(rq, RPC_EXPECTS_NAME);
    job_request_abort(jr);
    return false;
}

static struct span *semaphore_name(struct operation *op)
{
    return &op->semaphore.name;
}

static struct span *event_name(struct operation *op)
{
    return &op->event.name;
}

/* The map behind `count` parameters, and none behind it. */
static bool read_options(struct job_request *jr, uint32_t count, const struct option *options,
                         uint32_t option_count)
{
    if (jr->count == count)
        return true;
    if (jr->count == count + 1)
        return rpc_read_options(jr->rq, &jr->r, options, option_count);
    rpc_refuse_params(jr->rq, "");
    return false;
}

static void finish(struct job_request *jr, bool good, bool poll)
{
    if (good)
        job_request_send(jr, poll);
    else
        job_request_abort(jr);
}

static bool read_positive(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns > 0;
}

static bool read_within_hour(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns <= timeout_most;
}

/* --- sem.* --- */

/* What tells the jobs of the connection's end.  It stays as long as this does.  Behind its FIN a
 * peer can give nothing back: it is lost then. */
static void send_holder(const struct rpc_request *rq)
{
    struct rpc_request silent = *rq;
    struct job_request jr;
    for (struct call *c = *(struct call **)conn_user(rq->conn); c; c = c->next)
        if (call_is_operation(c) && ao_of(c, struct operation, call)->cls == &operation_sem_holder)
            return;
    conn_mode(rq->conn)->fin_ends = true;
    silent.msgid = (struct span){0};
    silent.params = span_text("\x90");
    if (!job_request_begin(&jr, &silent, &operation_sem_holder, 0))
        return;
    jr.op->holder.by_conn.hash = conn_id(rq->conn);
    job_request_send(&jr, true);
}

static void send_with_holder(struct job_request *jr, bool good)
{
    jr->op->semaphore.conn = conn_id(jr->rq->conn);
    if (good)
        send_holder(jr->rq);
    finish(jr, good, true);
}

static bool read_level(struct reader *r, void *out)
{
    struct span text;
    bool good = read_text(r, &text) && (span_is(text, "none") || span_is(text, "fsync"));
    *(uint8_t *)out = good && span_is(text, "none") ? SEMAPHORE_FLEETING : SEMAPHORE_DURABLE;
    return good;
}

#define EXPECTS_LEVEL "\"none\" or \"fsync\""

void serve_sem_create(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_create, semaphore_name))
        return;
    const struct option options[] = {
        {"durable", read_level, &jr.op->semaphore.durable, EXPECTS_LEVEL}};
    bool good = jr.count > 1 && option_count(&jr.r, &jr.op->semaphore.of);
    if (!good)
        rpc_refuse_params(rq, "; permits are " EXPECTS_COUNT);
    finish(&jr, good && read_options(&jr, 2, options, 1), false);
}

static bool read_acquire(struct job_request *jr, struct semaphore_arguments *a)
{
    a->permits = 1;
    a->wait = wait_time;
    a->grace = grace_time;
    const struct option options[] = {
        {"permits", option_count, &a->permits, EXPECTS_COUNT},
        {"of", option_count, &a->of, EXPECTS_COUNT},
        {"wait", option_duration, &a->wait, JOB_EXPECTS_DURATION},
        {"ttl", read_positive, &a->ttl, JOB_EXPECTS_DURATION ", more than 0"},
        {"grace", read_within_hour, &a->grace, JOB_EXPECTS_DURATION ", at most an hour"},
        {"durable", read_level, &a->durable, EXPECTS_LEVEL},
    };
    return read_options(jr, 1, options, sizeof options / sizeof *options);
}

void serve_sem_acquire(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_acquire, semaphore_name))
        return;
    bool good = read_acquire(&jr, &jr.op->semaphore);
    if (good && !chance_bytes(jr.op->semaphore.secret, HOLD_SECRET)) {
        rpc_refuse(rq, ERGON_E_MEMORY, "the system gives no random numbers");
        good = false;
    }
    send_with_holder(&jr, good);
}

static bool read_secret(struct reader *r, uint8_t *secret)
{
    struct span text;
    return read_text(r, &text) && text.len == 2 * HOLD_SECRET &&
           hex_read(text.at, secret, HOLD_SECRET);
}

/* [name, hold, {ttl}] */
static bool begin_held(struct job_request *jr, struct rpc_request *rq,
                       const struct operation_class *cls)
{
    if (!begin(jr, rq, cls, semaphore_name))
        return false;
    if (jr->count > 1 && read_secret(&jr->r, jr->op->semaphore.secret))
        return true;
    rpc_refuse_params(rq, "; a hold is the text that sem.acquire answered");
    job_request_abort(jr);
    return false;
}

void serve_sem_release(struct rpc_request *rq)
{
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_release))
        finish(&jr, read_options(&jr, 2, NULL, 0), false);
}

static bool read_ttl(struct job_request *jr)
{
    const struct option options[] = {
        {"ttl", read_positive, &jr->op->semaphore.ttl, JOB_EXPECTS_DURATION ", more than 0"}};
    return read_options(jr, 2, options, 1);
}

void serve_sem_renew(struct rpc_request *rq)
{
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_renew))
        send_with_holder(&jr, read_ttl(&jr));
}

void serve_sem_resume(struct rpc_request *rq)
{
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_resume))
        send_with_holder(&jr, read_ttl(&jr));
}

void serve_sem_delete(struct rpc_request *rq)
{
    struct job_request jr;
    if (begin(&jr, rq, &operation_sem_delete, semaphore_name))
        finish(&jr, read_options(&jr, 1, NULL, 0), false);
}

/* The map behind `count` parameters says whose semaphore it is. */
static bool read_whose(struct job_request *jr, uint32_t count)
{
    struct span *tenant = &jr->op->semaphore.tenant;
    const struct option options[] = {
        {"tenant", option_name, tenant, "its owner: the name of a tenant"}};
    bool good = read_options(jr, count, options, 1);
    job_request_keep(jr, tenant);
    return good;
}

void serve_sem_explain(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_explain, semaphore_name))
        return;
    jr.answer = HOLDERS_SHOWN;
    finish(&jr, read_whose(&jr, 1), false);
}

void serve_sem_revoke(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_revoke, semaphore_name))
        return;
    bool good = jr.count > 1 && read_uint(&jr.r, &jr.op->semaphore.fence);
    if (!good)
        rpc_refuse_params(rq, "; a fence is the number that sem.explain shows");
    finish(&jr, good && read_whose(&jr, 2), false);
}

/* --- event.* --- */

void serve_event_set(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_event_set, event_name))
        return;
    struct span *value = &jr.op->event.value;
    *value = span_text("\xc0");
    bool good = jr.count == 1 || (jr.count == 2 && rpc_read_any(rq, rq->params, &jr.r, value));
    if (!good)
        rpc_refuse_params(rq, "");
    else if (value->len > EVENT_VALUE_MAX)
        rpc_refuse(rq, ERGON_E_TOO_LARGE, "the value of an event has at most %d bytes",
                   EVENT_VALUE_MAX);
    job_request_keep(&jr, value);
    finish(&jr, good && value->len <= EVENT_VALUE_MAX, false);
}

static bool read_from(struct reader *r, void *out)
{
    uint64_t *from = out;
    return read_uint(r, from) && *from > 0;
}

void serve_event_wait(struct rpc_request *rq)
{
    struct job_request jr;
    if (!begin(&jr, rq, &operation_event_wait, event_name))
        return;
    struct event_arguments *a = &jr.op->event;
    a->timeout = wait_time;
    const struct option options[] = {
        {"from", read_from, &a->waits.from, "a number from 1"},
        {"timeout", read_within_hour, &a->timeout,
         "a duration of at most an hour: milliseconds, or text such as \"5s\""},
    };
    jr.answer = EVENT_VALUE_MAX;
    finish(&jr, read_options(&jr, 1, options, 2), true);
}
