#include "server/rpc/read_spec.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/access/rights.h"
#include "server/rpc/trail.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/reminder_times.h"
#include "server/tasks/turn.h"

void spec_defaults(const struct job_request *jr, struct job_spec *spec)
{
    job_spec_init(spec);
    spec->params = span_text("\xc0");
    spec->tenant = jr->op->tenant;
    spec->durable = jr->rq->loop->shared->default_durable;
    if (jr->op->cls->is_call)
        spec->durable = DURABLE_NONE;
    if (jr->op->cls == &operation_task_call)
        spec->keep = 0; /* its answer is all that is wanted */
}

bool spec_refuse(struct job_request *jr, enum ergon_error error, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (jr->item > 0)
        rpc_refuse(jr->rq, error, "task %u of the list: %s", (unsigned)jr->item, text);
    else
        rpc_refuse(jr->rq, error, "%s", text);
    return false;
}

bool spec_may_run(struct job_request *jr, struct span method)
{
    const struct method *m = rpc_find_handler(jr->rq->loop, method);
    if (!rpc_admit(jr->rq, method, m ? m->name.at : NULL, RPC_GUARDED))
        return false;
    if (m && m->no_executor)
        return spec_refuse(jr, ERGON_E_NO_EXECUTOR, "%s", error_meaning(ERGON_E_NO_EXECUTOR));
    if (m)
        return true;
    if (!utf8_is_name(method, METHOD_NAME_MAX))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS,
                           "the name of the method must be " JOB_EXPECTS_NAME);
    const char *expected = jr->rq->loop->shared->worker_methods;
    if (expected && patterns_fit(expected, method))
        return true; /* whether a worker has ever offered it, the jobs know */
    return spec_refuse(jr, ERGON_E_NO_METHOD, "no handler \"%.*s\"; %s",
                       (int)(method.len < 256 ? method.len : 256), (const char *)method.at,
                       rpc_where_else(method));
}

/* Of what the task shares with others by name, as semaphores are shared, the first that the rights
 * do not cover; empty: they cover all. */
static struct span lacks_name(const struct rights *rights, bool others, const struct job_spec *spec)
{
    const struct span names[] = {spec->limit_key, spec->rate_key, spec->coalesce,
                                 spec->actor.len > 0 ? spec->key : (struct span){0}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].len > 0 &&
            !rights_cover(rights, spec->method,
                          &(struct rights_object){spec->tenant, spec->method, names[i]}, others))
            return names[i];
    return (struct span){0};
}

static struct rights_object object_of(const struct job_spec *spec)
{
    return (struct rights_object){spec->tenant, spec->method,
                                  spec->actor.len > 0 ? spec->actor : spec->key};
}

static bool may_name(struct job_request *jr, const struct job_spec *spec)
{
    struct span name = lacks_name(jr->op->rights, jr->op->others, spec);

    return name.len == 0 ||
           spec_refuse(jr, ERGON_E_DENIED,
                       "a role's `keys` have to name \"%.*s\" for a task with this limit, "
                       "rate or coalesce, or a message with this key",
                       (int)name.len, (const char *)name.at);
}

bool spec_may_submit(const struct connection *c, const struct job_spec *spec, char *error,
                     size_t size)
{
    const struct principal *who = conn_principal(c);
    const struct rights *rights = who ? principal_rights(who) : NULL;
    const struct rights_object job = object_of(spec);
    bool others = rpc_others_count(c);

    if (!rights || (conn_may(c, spec->method) && rights_cover(rights, spec->method, &job, others) &&
                    lacks_name(rights, others, spec).len == 0))
        return true;
    snprintf(error, size,
             "%s may not submit \"%.*s\"%s%.*s: a role has to grant it the method, the tenant and "
             "the `keys`",
             principal_name(who), (int)spec->method.len, (const char *)spec->method.at,
             job.key.len > 0 ? " for " : "", (int)(job.key.len < 80 ? job.key.len : 80),
             (const char *)job.key.at);
    return false;
}

bool spec_may_share(struct job_request *jr, struct job_spec *spec)
{
    const struct operation *op = jr->op;
    const struct rights_object job = object_of(spec);
    const char *who = principal_name(conn_principal(jr->rq->conn));
    const char *what = "for that queue or key";

    if (rights_cover(op->rights, spec->method, &job, op->others))
        return may_name(jr, spec) && trail_submission(jr->rq, spec->method, spec->tenant);
    if (!rights_cover(op->rights, spec->method, &(struct rights_object){.tenant = spec->tenant},
                      op->others)) {
        what = "for another tenant";
        trail_submission_denied(jr->rq);
    }
    return spec_refuse(jr, ERGON_E_DENIED,
                       "%s may not submit %s: leave it out, or have a role name it%s", who, what,
                       what[4] == 'a' ? " (`tenants`, or \"task.any\")" : "");
}

static bool read_inbox_row(struct reader *r, void *out)
{
    return read_uint(r, out);
}

bool spec_options(struct job_request *jr, struct job_spec *spec)
{
    const struct option own = {"inbox", read_inbox_row, &spec->inbox, "the number of a row"};
    const struct spec_extra extra = {&own, 1};
    bool of_database = conn_is_of_database(jr->rq->conn);
    char error[200];

    if (spec_read_options(&jr->r, spec, &jr->ids, of_database ? &extra : NULL, error, sizeof error))
        return true;
    return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", error);
}

/* What comes with a committed transaction is written, or not taken.  A message is as durable as its
 * actor, which the jobs know. */
static bool last(struct job_request *jr, struct job_spec *spec)
{
    if (spec->inbox == 0 || spec->durable >= DURABLE_FSYNC)
        return true;
    if (spec->said & 1u << JOB_OPTION_durable)
        return spec_refuse(jr, ERGON_E_BAD_PARAMS,
                           "option durable: a transaction submits tasks that are \"fsync\" or "
                           "\"replicated\"; leave it out");
    if (spec->actor.len == 0)
        spec->durable = DURABLE_FSYNC;
    return true;
}

/* Actors are kept in memory, and so are their messages. */
static void address(struct job_spec *spec)
{
    if (spec->actor.len > 0 && !(spec->said & 1u << JOB_OPTION_durable))
        spec->durable = DURABLE_NONE;
    if (spec->actor.len > 0 && !(spec->said & 1u << JOB_OPTION_keep))
        spec->keep = JOB_KEEP_UNSAID;
}

bool spec_read(struct job_request *jr, struct job_spec *spec, uint32_t count, const char *usage)
{
    if (count < 1 || count > 3 || !read_text(&jr->r, &spec->method) ||
        (count > 1 && !rpc_read_any(jr->rq, jr->params, &jr->r, &spec->params)))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", usage);
    if (!spec_may_run(jr, spec->method) || (count > 2 && !spec_options(jr, spec)))
        return false;
    address(spec);
    return last(jr, spec) && spec_may_share(jr, spec);
}

/* The options of a message, with `turn`. */
static bool message_options(struct job_request *jr, struct job_spec *spec, uint32_t *turn)
{
    const struct option own = {"turn", option_count, turn, "the `call` of a context"};
    const struct spec_extra extra = {&own, 1};
    char error[200];

    if (spec_read_options(&jr->r, spec, &jr->ids, &extra, error, sizeof error))
        return true;
    return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", error);
}

/* "cart.add" of "cart/42" and "add".  False: there is no such name. */
static bool name_method(struct job_request *jr, struct job_spec *spec, struct span method)
{
    struct span type = actor_type_of_name(spec->actor);
    size_t len = type.len + 1 + method.len;
    if (type.len == 0 || method.len == 0 || len > ACTOR_METHOD_MAX)
        return false;
    memcpy(jr->name, type.at, type.len);
    jr->name[type.len] = '.';
    memcpy(jr->name + type.len + 1, method.at, method.len);
    spec->method = span_of(jr->name, len);
    return true;
}

/* The actor and the method that it has are taken. */
static bool take_names(struct job_request *jr, struct job_spec *spec, struct span to,
                       struct span method)
{
    spec->actor = to;
    if (utf8_is_name(to, ACTOR_NAME_MAX) && name_method(jr, spec, method))
        return true;
    return spec_refuse(jr, ERGON_E_BAD_PARAMS,
                       "an actor has a name TYPE/KEY of at most %d bytes of UTF-8 without U+0000, "
                       "and the method is named without its type: \"add\"",
                       ACTOR_NAME_MAX);
}

bool spec_read_reminder(struct job_request *jr, struct job_spec *spec)
{
    struct span method, to;
    struct reminder_times times = {0};
    char error[200];
    if (jr->count != 5 || !read_text(&jr->r, &to) || !read_text(&jr->r, &spec->reminder) ||
        !read_text(&jr->r, &method) || !rpc_read_any(jr->rq, jr->params, &jr->r, &spec->params))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS,
                           "actor.remind takes [actor, name, method, [params], {in or at, every}]");
    if (!utf8_is_name(spec->reminder, JOB_NAME_MAX))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "the name of the reminder must be %s",
                           JOB_EXPECTS_NAME);
    if (!take_names(jr, spec, to, method) || !spec_may_run(jr, spec->method))
        return false;
    if (!reminder_times_read(&jr->r, &times, &spec->tenant, error, sizeof error))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", error);
    spec->delay = times.in;
    spec->at = times.at;
    spec->every = times.every;
    address(spec);
    return spec_may_share(jr, spec);
}

bool spec_read_message(struct job_request *jr, struct job_spec *spec, const char *usage,
                       uint32_t *turn)
{
    struct span method, to;
    if (jr->count < 2 || jr->count > 4 || !read_text(&jr->r, &to) || !read_text(&jr->r, &method) ||
        (jr->count > 2 && !rpc_read_any(jr->rq, jr->params, &jr->r, &spec->params)))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", usage);
    if (!take_names(jr, spec, to, method))
        return false;
    if (!spec_may_run(jr, spec->method) || (jr->count > 3 && !message_options(jr, spec, turn)))
        return false;
    if (spec->actor.at != to.at)
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "the actor is named twice");
    address(spec);
    return spec_may_share(jr, spec);
}
