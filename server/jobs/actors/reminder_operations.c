/* actor.remind, actor.forget. */
#include "server/jobs/accessors.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/verbs/view.h"

enum { SERVE_WORK = 15 /* see jobs_worked() */ };

static bool may(struct operation *op, struct span tenant, struct span actor)
{
    const struct rights_object object = {.tenant = tenant, .key = actor};
    if (operation_may_object(op, &object))
        return true;
    operation_refuse(op, ERGON_E_NOT_FOUND,
                     "no actor \"%.*s\": nobody has sent it a message, or it was idle or dropped",
                     (int)(actor.len < 80 ? actor.len : 80), (const char *)actor.at);
    return false;
}

/* --- actor.remind --- */

/* The reminder is put, and takes the place of the one before. */
static void answer(struct jobs *jobs, struct operation *op, const struct job *job)
{
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    bool waits = job->state == JOB_DELAYED;
    reminders_replaced(job_message(job)->actor, job);
    pack_init(p);
    pack_map(p, 2);
    pack_key_str(p, "id", id_text(job->id, id));
    view_ms(p, "due", waits ? table_wall_of(jobs_table(jobs), job->due) : job->created);
    operation_finish(op);
}

static void job_saved(struct jobs *jobs, struct waiter *w, enum store_error error)
{
    struct operation *op = w->op;
    struct job *job = w->job;
    waiters_leave(op);
    if (error == STORE_OK)
        answer(jobs, op, job);
    else
        sync_refuse(op, error);
}

static void serve_remind(struct jobs *jobs, struct operation *op)
{
    struct job_spec *spec = &op->submission.specs[0];
    struct submitted done;
    char text[JOB_TEXT_MAX];
    jobs_worked(jobs, SERVE_WORK);
    if (spec->tenant.len == 0)
        spec->tenant = op->tenant;
    if (!may(op, spec->tenant, spec->actor))
        return;
    enum ergon_error error = job_submit(jobs, spec, NULL, &done, text, sizeof text);
    if (error != ERGON_OK)
        operation_refuse(op, error, "%s", text);
    else if (!durable_is_awaited(done.job->durable))
        answer(jobs, op, done.job);
    else
        waiters_join(op, done.job); /* to join the first job takes no memory */
}

/* Its client has left, and the reminder comes all the same: so the one before has to go. */
static void stays(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    (void)op;
}

/* Its outcomes are none: see submission.c. */
const struct operation_class operation_actor_remind = {.method = method_actor_remind,
                                                       .is_submission = true,
                                                       .serve = serve_remind,
                                                       .dropped = stays,
                                                       .job_saved = job_saved};

/* --- actor.forget --- */

/* All that have its name for the moment. */
static bool forget(struct actor *a, struct span name)
{
    bool was = false;
    for (struct job *job; (job = reminders_find(a, name));)
        was |= reminders_forget(a, job);
    return was;
}

static void serve_forget(struct jobs *jobs, struct operation *op)
{
    const struct actor_arguments *args = &op->actor;
    struct span tenant = args->tenant.len > 0 ? args->tenant : op->tenant;
    jobs_worked(jobs, SERVE_WORK);
    if (!may(op, tenant, args->name))
        return;
    struct actor *a = actor_find(jobs->actors, tenant, args->name);
    const struct job *job = a ? reminders_find(a, args->reminder) : NULL;
    bool awaited = job && durable_is_awaited(job->durable);
    if (awaited && !sync_possible(jobs, op))
        return;
    bool is_own = span_equal(tenant, op->tenant);
    op->met_own |= job && is_own;
    op->met_others |= job && !is_own;
    pack_init(&op->reply.result);
    pack_bool(&op->reply.result, job && forget(a, args->reminder));
    if (awaited)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

const struct operation_class operation_actor_forget = {.method = method_actor_forget,
                                                       .serve = serve_forget};
