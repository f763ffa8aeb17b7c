#include "server/jobs/actors/turn_calls.h"

#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/core/keys.h"
#include "server/jobs/core/names.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/sched/spans.h"

enum { TURNS_MOST = 64, WALK_WORK = 2 /* a turn; see jobs_worked() */ };

/* Of its current attempt; NULL: none is out. */
static struct attempt_turn *turn_of(const struct job *job)
{
    const struct message *m = job_message(job);
    return m && job->attempt_task ? m->turns : NULL;
}

/* The turn that calls; NULL: it counts no more. */
static struct attempt_turn *caller_of(struct jobs *jobs, const struct operation *op)
{
    const struct job *job = table_find(jobs_table(jobs), op->submission.caller);
    struct attempt_turn *turn = job && job_is_open(job) ? turn_of(job) : NULL;
    return turn && turn->attempt == op->submission.caller_attempt && !turn->fenced ? turn : NULL;
}

/* What its turn waits for; NULL: nothing. */
static const struct job *called_by(struct jobs *jobs, const struct attempt_turn *turn)
{
    const struct job *job =
        turn && turn->waits_for > 0 ? table_find(jobs_table(jobs), turn->waits_for) : NULL;
    return job && job_is_open(job) && job_message(job) && job_message(job)->actor ? job : NULL;
}

static const struct job *head_of(const struct actor *a)
{
    return a && a->more ? a->more->head : NULL;
}

/* The job whose turn ends before this one begins, or has the same turn. */
static const struct job *runs_before(const struct job *job)
{
    const struct message *m = job_message(job);
    return m->reads ? job : head_of(m->actor);
}

static bool is_read(struct jobs *jobs, const struct job_spec *spec)
{
    const struct job_queue *q = table_queue_find(jobs_table(jobs), spec->method);
    return q && q->method && method_actor(q->method) & ACTOR_READS;
}

/* The message that the call joins, by its key or by `coalesce`; NULL: it is a new one. */
static const struct job *joined_by(struct jobs *jobs, const struct job_spec *spec,
                                   struct span tenant, const struct actor *to)
{
    const struct span everywhere = {0};
    const struct job_table *t = jobs_table(jobs);
    const struct job *job =
        spec->key.len > 0 ? key_find(&t->keys, tenant, everywhere, spec->key, to) : NULL;
    if (!job && spec->coalesce.len > 0)
        job = key_find(&t->shared, tenant, spec->method, spec->coalesce, to);
    return job;
}

/* The job whose turn ends before the call is answered; NULL: the call waits for nobody.  A read
 * that another call began may wait for a turn itself. */
static const struct job *waited_for(struct jobs *jobs, const struct job_spec *spec,
                                    struct span tenant, const struct actor *to)
{
    const struct job *joined = to ? joined_by(jobs, spec, tenant, to) : NULL;
    if (joined)
        return job_is_open(joined) ? runs_before(joined) : NULL;
    return is_read(jobs, spec) ? NULL : head_of(to);
}

/* The turns from the one that the call would wait for to the caller: how many; 0: it leads
 * elsewhere. */
static uint32_t walk(struct jobs *jobs, const struct operation *op, const struct job **path)
{
    const struct job_spec *spec = &op->submission.specs[0];
    struct span tenant = spec->tenant.len > 0 ? spec->tenant : op->tenant;
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    const struct actor *to = messages->find(messages->arg, tenant, spec->actor);
    const struct job *job = waited_for(jobs, spec, tenant, to);
    for (uint32_t count = 0; job && count < TURNS_MOST;) {
        jobs_worked(jobs, WALK_WORK);
        path[count++] = job;
        if (job->id == op->submission.caller)
            return count;
        job = called_by(jobs, turn_of(job));
        job = job ? runs_before(job) : NULL;
    }
    return 0;
}

/* "cart/42 calls order/7, which calls cart/42" */
static void refuse_cycle(struct operation *op, const struct job *const *path, uint32_t count)
{
    char text[JOB_TEXT_MAX];
    struct span name = message_actor(path[count - 1]);
    size_t len = (size_t)snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.at);
    for (uint32_t i = 0; i < count && len < sizeof text; i++) {
        name = message_actor(path[i]);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s calls %.*s",
                                i > 0 ? ", which" : "", (int)name.len, (const char *)name.at);
    }
    struct actors *actors = job_message(path[0])->actor->type->actors;
    counter_add(&actors->shown.deadlocks, 1);
    counter_set(&actors->shown.last_deadlock, table_wall(jobs_table(actors->jobs)) / AO_MS(1));
    operation_refuse(op, ERGON_E_DEADLOCK, "%s", text);
}

/* The job whose turn waits for this one; 0: none does. */
static uint64_t caller_that_awaits(const struct job *called)
{
    for (const struct waiter *w = called ? called->waits : NULL; w; w = w->next_of_job)
        if (w->op->cls->is_call && w->op->submission.caller > 0)
            return w->op->submission.caller;
    return 0;
}

/* How many turns would wait for the call, one for the other. */
static uint32_t depth(struct jobs *jobs, const struct operation *op)
{
    uint32_t count = 0;
    for (uint64_t id = op->submission.caller; id > 0 && count < TURNS_MOST; count++) {
        jobs_worked(jobs, WALK_WORK);
        id = caller_that_awaits(table_find(jobs_table(jobs), id));
    }
    return count;
}

/* What the operation submits belongs to the trace of its turn, as what a handler calls does. */
static void join_trace(struct jobs *jobs, const struct operation *op, const struct job *job)
{
    struct job_spec *spec = &op->submission.specs[0];
    struct trace_link link;
    if (trace_context_is(&spec->traceparent) || !spans_passed(jobs_scheduler(jobs), job, &link))
        return;
    spec->traceparent = link.context;
    spec->tracestate = link.state;
}

/* Nobody needs the call when the message of its turn is over. */
static void limit_by_message(struct jobs *jobs, const struct operation *op, const struct job *job)
{
    struct job_spec *spec = &op->submission.specs[0];
    ao_time now = table_now(jobs_table(jobs));
    if (job->deadline == AO_NEVER)
        return;
    ao_time left = job->deadline > now ? job->deadline - now : 1;
    if (left < spec->deadline)
        spec->deadline = left;
}

/* NULL: it is refused, or waits until what the turn has seen is on disk. */
static struct attempt_turn *caller_now(struct jobs *jobs, struct operation *op)
{
    struct attempt_turn *turn = caller_of(jobs, op);
    if (!turn) {
        operation_refuse_plain(op, ERGON_E_FENCED);
        return NULL;
    }
    struct actor *a = job_message(table_find(jobs_table(jobs), op->submission.caller))->actor;
    if (commits_is_on_disk(a, turn))
        return turn;
    commits_await(a, op);
    return NULL;
}

bool turn_calls_counts(struct jobs *jobs, struct operation *op)
{
    bool counts = caller_now(jobs, op) != NULL;
    if (counts)
        join_trace(jobs, op, table_find(jobs_table(jobs), op->submission.caller));
    return counts;
}

static bool inherit(struct jobs *jobs, const struct operation *op)
{
    const struct job *job = table_find(jobs_table(jobs), op->submission.caller);
    join_trace(jobs, op, job);
    limit_by_message(jobs, op, job);
    return true;
}

bool turn_calls_may(struct jobs *jobs, struct operation *op)
{
    const struct job *path[TURNS_MOST];
    const struct attempt_turn *turn = caller_now(jobs, op);
    uint32_t count = turn && !called_by(jobs, turn) ? walk(jobs, op, path) : 0;
    if (!turn)
        return false;
    if (called_by(jobs, turn))
        operation_refuse(op, ERGON_E_BUSY,
                         "a turn has one call out at a time, and its last one has not ended");
    else if (count > 0)
        refuse_cycle(op, path, count);
    else if (depth(jobs, op) >= TURNS_MOST)
        operation_refuse(op, ERGON_E_TOO_DEEP, "%d turns wait for this call, one for the other",
                         TURNS_MOST);
    else
        return inherit(jobs, op);
    return false;
}

void turn_calls_began(struct jobs *jobs, const struct operation *op, const struct job *called)
{
    struct attempt_turn *turn = caller_of(jobs, op);
    if (turn)
        turn->waits_for = called->id;
}

void turn_calls_dropped(struct jobs *jobs, const struct operation *op)
{
    struct attempt_turn *turn = caller_of(jobs, op);
    if (turn)
        turn->waits_for = 0;
}
