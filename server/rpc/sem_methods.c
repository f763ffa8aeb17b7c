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
                  struct span *(*name_of)(struct operation *), const char *usage)
{
    if (!job_request_begin(jr, rq, cls, 0))
        return false;
    struct span *name = name_of(jr->op);
    if (jr->count > 0 && option_name(&jr->r, name)) {
        job_request_keep(jr, name);
        return true;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s; a name is a string of 1 to 256 bytes of UTF-8", usage);
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
                         uint32_t option_count, const char *usage)
{
    if (jr->count == count)
        return true;
    if (jr->count == count + 1)
        return rpc_read_options(jr->rq, &jr->r, options, option_count);
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "%s", usage);
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

static void serve_create(struct rpc_request *rq)
{
    static const char usage[] = "sem.create takes [name, permits, {durable}]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_create, semaphore_name, usage))
        return;
    const struct option options[] = {
        {"durable", read_level, &jr.op->semaphore.durable, EXPECTS_LEVEL}};
    bool good = jr.count > 1 && option_count(&jr.r, &jr.op->semaphore.of);
    if (!good)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s; permits are " EXPECTS_COUNT, usage);
    finish(&jr, good && read_options(&jr, 2, options, 1, usage), false);
}

static bool read_acquire(struct job_request *jr, struct semaphore_arguments *a)
{
    static const char usage[] =
        "sem.acquire takes [name, {permits, of, wait, ttl, grace, durable}]";
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
    return read_options(jr, 1, options, sizeof options / sizeof *options, usage);
}

static void serve_acquire(struct rpc_request *rq)
{
    static const char usage[] = "sem.acquire takes [name, {options}]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_acquire, semaphore_name, usage))
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
                       const struct operation_class *cls, const char *usage)
{
    if (!begin(jr, rq, cls, semaphore_name, usage))
        return false;
    if (jr->count > 1 && read_secret(&jr->r, jr->op->semaphore.secret))
        return true;
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s; a hold is the text that sem.acquire answered", usage);
    job_request_abort(jr);
    return false;
}

static void serve_release(struct rpc_request *rq)
{
    static const char usage[] = "sem.release takes [name, hold]";
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_release, usage))
        finish(&jr, read_options(&jr, 2, NULL, 0, usage), false);
}

static bool read_ttl(struct job_request *jr, const char *usage)
{
    const struct option options[] = {
        {"ttl", read_positive, &jr->op->semaphore.ttl, JOB_EXPECTS_DURATION ", more than 0"}};
    return read_options(jr, 2, options, 1, usage);
}

static void serve_renew(struct rpc_request *rq)
{
    static const char usage[] = "sem.renew takes [name, hold, {ttl}]";
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_renew, usage))
        send_with_holder(&jr, read_ttl(&jr, usage));
}

static void serve_resume(struct rpc_request *rq)
{
    static const char usage[] = "sem.resume takes [name, hold, {ttl}]";
    struct job_request jr;
    if (begin_held(&jr, rq, &operation_sem_resume, usage))
        send_with_holder(&jr, read_ttl(&jr, usage));
}

static void serve_delete(struct rpc_request *rq)
{
    static const char usage[] = "sem.delete takes [name]";
    struct job_request jr;
    if (begin(&jr, rq, &operation_sem_delete, semaphore_name, usage))
        finish(&jr, read_options(&jr, 1, NULL, 0, usage), false);
}

static void serve_list(struct rpc_request *rq)
{
    job_request_bare(rq, &operation_sem_list);
}

/* The map behind `count` parameters says whose semaphore it is. */
static bool read_whose(struct job_request *jr, uint32_t count, const char *usage)
{
    struct span *tenant = &jr->op->semaphore.tenant;
    const struct option options[] = {{"tenant", option_name, tenant, "whose it is: a name"}};
    bool good = read_options(jr, count, options, 1, usage);
    job_request_keep(jr, tenant);
    return good;
}

static void serve_explain(struct rpc_request *rq)
{
    static const char usage[] = "sem.explain takes [name, {tenant}]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_explain, semaphore_name, usage))
        return;
    jr.answer = HOLDERS_SHOWN;
    finish(&jr, read_whose(&jr, 1, usage), false);
}

static void serve_revoke(struct rpc_request *rq)
{
    static const char usage[] = "sem.revoke takes [name, fence, {tenant}]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_sem_revoke, semaphore_name, usage))
        return;
    bool good = jr.count > 1 && read_uint(&jr.r, &jr.op->semaphore.fence);
    if (!good)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s; a fence is the number that sem.explain tells",
                   usage);
    finish(&jr, good && read_whose(&jr, 2, usage), false);
}

/* --- event.* --- */

static void serve_set(struct rpc_request *rq)
{
    static const char usage[] = "event.set takes [name, value]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_event_set, event_name, usage))
        return;
    struct span *value = &jr.op->event.value;
    *value = span_text("\xc0");
    bool good = jr.count == 1 || (jr.count == 2 && rpc_read_any(rq, rq->params, &jr.r, value));
    if (!good)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", usage);
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

static void serve_wait(struct rpc_request *rq)
{
    static const char usage[] = "event.wait takes [name, {from, timeout}]";
    struct job_request jr;
    if (!begin(&jr, rq, &operation_event_wait, event_name, usage))
        return;
    struct event_arguments *a = &jr.op->event;
    a->timeout = wait_time;
    const struct option options[] = {
        {"from", read_from, &a->waits.from, "a number from 1"},
        {"timeout", read_within_hour, &a->timeout,
         "a duration of at most an hour: milliseconds, or text such as \"5s\""},
    };
    jr.answer = EVENT_VALUE_MAX;
    finish(&jr, read_options(&jr, 1, options, 2, usage), true);
}

static const struct rpc_method sem_methods[] = {
    {"sem.create", RPC_GUARDED, RPC_USES, serve_create, "[name: str, permits: int, {durable: str}]",
     "make a semaphore that stays, or give it another number of permits"},
    {"sem.delete", RPC_GUARDED, RPC_USES, serve_delete, "[name: str]",
     "let a semaphore go when nobody needs it"},
    {"sem.acquire", RPC_GUARDED, RPC_USES, serve_acquire,
     "[name: str, {permits: int, of: int, wait: duration, ttl: duration, grace: duration, "
     "durable: str}]",
     "wait for permits of a semaphore, and hold them"},
    {"sem.release", RPC_GUARDED, RPC_USES, serve_release, "[name: str, hold: str]",
     "give back what is held"},
    {"sem.renew", RPC_GUARDED, RPC_USES, serve_renew, "[name: str, hold: str, {ttl: duration}]",
     "hold on: the time to live begins anew"},
    {"sem.resume", RPC_GUARDED, RPC_USES, serve_resume, "[name: str, hold: str, {ttl: duration}]",
     "go on holding what another connection held"},
    {"sem.list", RPC_GUARDED, RPC_USES, serve_list, "[]", "the semaphores, and their figures"},
    {"sem.explain", RPC_GUARDED, RPC_USES, serve_explain, "[name: str, {tenant: str}]",
     "who holds permits of a semaphore or limit, and who waits"},
    {"sem.revoke", RPC_GUARDED, RPC_RULES, serve_revoke, "[name: str, fence: int, {tenant: str}]",
     "take back what a client holds that is lost or stuck"},
};
const struct rpc_methods rpc_sem_methods = {sem_methods, sizeof sem_methods / sizeof *sem_methods};

static const struct rpc_method event_methods[] = {
    {"event.set", RPC_GUARDED, RPC_USES, serve_set, "[name: str, value]",
     "set an event: who waits for it goes on"},
    {"event.wait", RPC_GUARDED, RPC_USES, serve_wait, "[name: str, {from: int, timeout: duration}]",
     "wait until an event is set"},
};
const struct rpc_methods rpc_event_methods = {event_methods,
                                              sizeof event_methods / sizeof *event_methods};
