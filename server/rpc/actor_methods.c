/* The namespace actor.*. */
#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/actors/actors.h"
#include "server/jobs/actors/listing.h"
#include "server/rpc/read_spec.h"
#include "server/runtime/activator.h"
#include "server/tasks/attempt.h"
#include "server/workers/worker_answer.h"

enum {
    PAGE = 100,
    PAGE_MOST = 1000,
    BUSIEST_MOST = 100,
    VIEW_BYTES = 512 /* of an actor; more is rare */
};

static const ao_time watch_time = AO_S(8), watch_time_most = AO_S(3600);

/* --- call, tell --- */

/* A call ends with the attempt that makes it.  One with a key goes on, for the next attempt. */
static void limit_by_attempt(struct job_request *jr, const struct task *t)
{
    struct job_spec *spec = &jr->op->submission.specs[0];
    ao_time now = activator_now(jr->rq->loop->activator);
    bool ends = jr->op->cls == &operation_actor_call && spec->key.len == 0;

    if (!ends || t->deadline == AO_NEVER)
        return;
    ao_time left = t->deadline > now ? t->deadline - now : 1;
    if (left < spec->deadline)
        spec->deadline = left;
}

/* `turn`: the number of our request whose turn sends; 0: none. */
static bool set_caller(struct job_request *jr, uint32_t turn)
{
    struct submission_arguments *s = &jr->op->submission;
    const struct task *t = turn > 0 ? worker_running(jr->rq->conn, turn) : NULL;

    s->caller = 0;
    if (turn == 0)
        return true;
    if (!t || !task_is(t, TASK_ATTEMPT) || !turn_is_of_actor(t->attempt->turn)) {
        rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS,
                   "`turn` is the `call` of a context of this connection whose turn has not ended");
        return false;
    }
    s->caller = t->attempt->id;
    s->caller_attempt = t->attempt->turn->attempt;
    limit_by_attempt(jr, t);
    return true;
}

static void serve_message(struct rpc_request *rq, const struct operation_class *cls,
                          const char *usage)
{
    struct job_request jr;
    uint32_t turn = 0;

    if (!job_request_begin(&jr, rq, cls, 1))
        return;
    spec_defaults(&jr, &jr.op->submission.specs[0]);
    if (spec_read_message(&jr, &jr.op->submission.specs[0], usage, &turn) && set_caller(&jr, turn))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

void serve_actor_call(struct rpc_request *rq)
{
    serve_message(rq, &operation_actor_call,
                  "actor.call takes [actor, method, [params], {options}]");
}

void serve_actor_tell(struct rpc_request *rq)
{
    serve_message(rq, &operation_actor_tell,
                  "actor.tell takes [actor, method, [params], {options}]");
}

/* --- About one actor --- */

static bool read_reason(struct reader *r, void *out)
{
    struct span *reason = out;
    return read_text(r, reason) && reason->len < TURN_TEXT_MAX;
}

static bool read_from(struct reader *r, void *out)
{
    uint64_t *from = out;
    return read_uint(r, from) && *from > 0;
}

static bool read_within_hour(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns <= watch_time_most;
}

static bool is_actor(struct span name)
{
    return actor_type_of_name(name).len > 0 && utf8_is_name(name, ACTOR_NAME_MAX);
}

/* The options of one method beside `tenant`: writes them there, and returns how many they are. */
typedef uint32_t own_options(struct actor_arguments *a, struct option *at);
enum { OWN_MOST = 2 };

/* [actor, {tenant, and `own`}] */
static void serve_one(struct rpc_request *rq, const struct operation_class *cls, own_options *own,
                      bool poll)
{
    struct job_request jr;
    struct option options[1 + OWN_MOST];

    if (!job_request_begin(&jr, rq, cls, 0))
        return;
    struct actor_arguments *a = &jr.op->actor;
    options[0] =
        (struct option){"tenant", option_name, &a->tenant, "its owner: the name of a tenant"};
    uint32_t count = 1 + (own ? own(a, options + 1) : 0);
    job_request_keep(&jr, &a->name);
    job_request_keep(&jr, &a->tenant);
    job_request_keep(&jr, &a->reason);
    bool good = jr.count >= 1 && jr.count <= 2 && option_name(&jr.r, &a->name);
    if (!good)
        rpc_refuse_params(rq, RPC_EXPECTS_NAME);
    else if (!(good = is_actor(a->name)))
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "an actor has a name TYPE/KEY of at most %d bytes of UTF-8 without U+0000",
                   ACTOR_NAME_MAX);
    if (good && (jr.count == 1 || rpc_read_options(rq, &jr.r, options, count)))
        job_request_send(&jr, poll);
    else
        job_request_abort(&jr);
}

static uint32_t get_options(struct actor_arguments *a, struct option *at)
{
    a->with_state = true;
    *at = (struct option){"state", option_flag, &a->with_state, "true or false"};
    return 1;
}

static uint32_t start_options(struct actor_arguments *a, struct option *at)
{
    *at = (struct option){"reset", option_flag, &a->reset, "true or false"};
    return 1;
}

static uint32_t stop_options(struct actor_arguments *a, struct option *at)
{
    *at = (struct option){"reason", read_reason, &a->reason, "a text of at most 159 bytes"};
    return 1;
}

static uint32_t watch_options(struct actor_arguments *a, struct option *at)
{
    a->timeout = watch_time;
    at[0] = (struct option){"from", read_from, &a->waits.from, "a number from 1"};
    at[1] = (struct option){"timeout", read_within_hour, &a->timeout,
                            "a duration of at most an hour: milliseconds, or text such as \"5s\""};
    return 2;
}

void serve_actor_get(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_get, get_options, false);
}

void serve_actor_watch(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_watch, watch_options, true);
}

void serve_actor_explain(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_explain, NULL, false);
}

void serve_actor_start(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_start, start_options, false);
}

void serve_actor_stop(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_stop, stop_options, false);
}

void serve_actor_wake(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_wake, NULL, false);
}

void serve_actor_drop(struct rpc_request *rq)
{
    serve_one(rq, &operation_actor_drop, NULL, false);
}

/* --- remind, forget --- */

void serve_actor_remind(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_actor_remind, 1))
        return;
    spec_defaults(&jr, &jr.op->submission.specs[0]);
    if (spec_read_reminder(&jr, &jr.op->submission.specs[0]))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

void serve_actor_forget(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_actor_forget, 0))
        return;
    struct actor_arguments *a = &jr.op->actor;
    const struct option options[] = {
        {"tenant", option_name, &a->tenant, "its owner: the name of a tenant"}};
    job_request_keep(&jr, &a->name);
    job_request_keep(&jr, &a->tenant);
    job_request_keep(&jr, &a->reminder);
    bool good = jr.count >= 2 && jr.count <= 3 && option_name(&jr.r, &a->name) &&
                option_name(&jr.r, &a->reminder) && is_actor(a->name);
    if (!good)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "actor.forget takes [actor, name, {tenant}]: an actor has a name TYPE/KEY, a "
                   "reminder one of 1 to %d bytes of UTF-8 without U+0000",
                   JOB_NAME_MAX);
    if (good && (jr.count == 2 || rpc_read_options(rq, &jr.r, options, 1)))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

/* --- list --- */

static bool read_stage(struct reader *r, void *out)
{
    struct span name;
    int *stage = out;
    if (!read_text(r, &name))
        return false;
    for (*stage = ACTOR_STOPPED; *stage >= 0; --*stage)
        if (span_is(name, actor_stage_names[*stage]))
            return true;
    return false;
}

static bool read_text_of(struct reader *r, void *out)
{
    struct span *text = out;
    return read_text(r, text) && text->len <= JOB_NAME_MAX;
}

static bool read_sort(struct reader *r, void *out)
{
    struct span by;
    bool *busiest = out;
    *busiest = read_text(r, &by) && span_is(by, "waiting");
    return *busiest;
}

static bool read_cursor(struct reader *r, void *out)
{
    struct span *cursor = out, name, tenant;
    return read_text(r, cursor) && actor_cursor_read(*cursor, &name, &tenant);
}

void serve_actor_list(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_actor_list, 0))
        return;
    struct actor_list_arguments *l = &jr.op->actors;
    l->stage = -1;
    l->max = PAGE;
    const struct option options[] = {
        {"type", option_name, &l->type, JOB_EXPECTS_NAME},
        {"prefix", read_text_of, &l->prefix, "the begin of a name, as in \"cart/eu-\""},
        {"stage", read_stage, &l->stage, "\"active\", \"sleeping\" or \"stopped\""},
        {"tenant", option_name, &l->tenant, JOB_EXPECTS_NAME},
        {"limit", option_count, &l->max, "a number from 1"},
        {"cursor", read_cursor, &l->cursor, "what `next` of the page before said"},
        {"sort", read_sort, &l->busiest, "\"waiting\""},
    };
    job_request_keep(&jr, &l->type);
    job_request_keep(&jr, &l->prefix);
    job_request_keep(&jr, &l->tenant);
    job_request_keep(&jr, &l->cursor);
    bool good = jr.count <= 1;
    if (!good)
        rpc_refuse_params(rq, "");
    else if (jr.count == 1)
        good = rpc_read_options(rq, &jr.r, options, sizeof options / sizeof *options);
    if (good && l->busiest && l->cursor.len > 0) {
        good = false;
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "with `sort` there is one page, without a `cursor`");
    }
    if (!good) {
        job_request_abort(&jr);
        return;
    }
    uint32_t most = l->busiest ? BUSIEST_MOST : PAGE_MOST;
    l->max = l->max < most ? l->max : most;
    jr.answer = l->max * VIEW_BYTES;
    job_request_send(&jr, false);
}
