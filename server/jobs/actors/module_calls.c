#include "server/jobs/actors/module_calls.h"

#include <assert.h>
#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/actors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/operations/operation.h"
#include "server/tasks/job_source.h"
#include "server/tasks/task.h"
#include "server/tasks/task_result.h"
#include "server/tasks/turn_messages.h"

enum { KEY_MAX = ID_CALLS_SIZE + 12 /* "MESSAGE/NUMBER" */ };

static uint8_t *put(uint8_t *p, struct span bytes)
{
    if (bytes.len > 0)
        memcpy(p, bytes.at, bytes.len);
    return p + bytes.len;
}

/* With the blobs that it shares; an empty one is nil. */
static void take_result(struct task *t, const struct operation_reply *reply)
{
    const struct pack *result = &reply->result;
    struct span whole = span_of(reply->text, reply->short_result);
    if (whole.len == 0 && pack_size(result) == 0)
        whole = span_text("\xc0");
    uint64_t size = whole.len > 0 ? whole.len : pack_size(result);
    uint8_t *p = task_result_room(t, size, size);
    if (!p)
        return; /* it has failed by that */
    t->result_len = size;
    if (whole.len > 0) {
        put(p, whole);
        return;
    }
    for (uint32_t i = 0; i < result->share_count; i++)
        p = put(put(p, pack_part(result, i)), blob_bytes(result->shares[i].blob));
    put(p, pack_part(result, result->share_count));
}

static void answered(void *arg, struct operation *op)
{
    const struct actors *actors = arg;
    const struct operation_reply *reply = &op->reply;
    struct task *t = op->loop;
    if (reply->error == ERGON_OK)
        take_result(t, reply);
    else
        task_fail(t, reply->error, reply->code[0] ? reply->code : NULL, span_text(reply->text));
    operation_free(op);
    job_source_called(jobs_tasks(actors->jobs), t);
}

bool module_calls_open(struct actors *actors)
{
    const struct channel_port port = {.answered = answered, .arg = actors};
    struct activator *here = tasks_manager_activator(jobs_tasks(actors->jobs));
    actors->module_calls = channel_open(actors->jobs, here, &port);
    return actors->module_calls != NULL;
}

/* The tenant is that of the turn's message, which may be gone: then the call is FENCED. */
static bool keep_names(struct jobs *jobs, struct operation *op, const struct turn_call *call)
{
    const struct job *job = table_find(jobs_table(jobs), call->job);
    struct job_spec *spec = &op->submission.spec;
    struct span tenant = job ? job->tenant->name : (struct span){0};
    const struct message *m = job ? job_message(job) : NULL;
    char key[KEY_MAX], calls[ID_CALLS_SIZE];
    int len = snprintf(key, sizeof key, "%s/%u", id_calls_text(call->job, m ? m->round : 0, calls),
                       (unsigned)call->number);
    uint8_t *at = operation_room(op, tenant.len + (size_t)len);
    if (!at)
        return false;
    op->tenant = span_put(tenant, &at);
    spec->key = span_put(span_of(key, (size_t)len), &at);
    return true;
}

/* The other spans point into the task's parameters, which stay until it is answered. */
static enum ergon_error fill(struct jobs *jobs, struct operation *op, const struct task *t,
                             char *text, size_t size)
{
    struct submission_arguments *s = &op->submission;
    struct turn_call call;
    bool read = turn_call_read(t->params, &call);
    assert(read); /* by turn_call_pack() */
    (void)read;
    s->spec = (struct job_spec){JOB_SPEC_DEFAULTS, .method = t->method->name, .params = call.params,
                                .actor = call.to};
    s->spec.durable = DURABLE_NONE; /* if its type says nothing else */
    s->specs = &s->spec;
    s->count = 1;
    s->caller = call.job;
    s->caller_attempt = call.attempt;
    if (!keep_names(jobs, op, &call))
        return ERGON_E_MEMORY;
    bool has_options = call.options.len != 1 || call.options.at[0] != 0xc0;
    if (!has_options)
        return ERGON_OK;
    const struct jobs_options *o = jobs_options(jobs);
    if (!o->read_turn_options) {
        snprintf(text, size, "a call of a turn has no options here");
        return ERGON_E_BAD_PARAMS;
    }
    if (!o->read_turn_options(call.options, &s->spec, text, size))
        return ERGON_E_BAD_PARAMS;
    if (s->spec.tenant.len == 0 || span_equal(s->spec.tenant, op->tenant))
        return ERGON_OK;
    snprintf(text, size, "a turn calls for the tenant of its actor alone");
    return ERGON_E_DENIED;
}

void module_calls_take(struct actors *actors, struct task *t)
{
    struct operation *op =
        operation_new(channel_cells(actors->module_calls), &operation_actor_call);
    enum ergon_error wrong = ERGON_E_MEMORY;
    char text[JOB_TEXT_MAX] = "";
    if (op)
        wrong = fill(actors->jobs, op, t, text, sizeof text);
    if (wrong == ERGON_OK) {
        op->loop = t;
        channel_give(actors->module_calls, op);
        return;
    }
    operation_free(op);
    task_fail(t, wrong, NULL, span_text(text[0] ? text : error_meaning(wrong)));
    job_source_called(jobs_tasks(actors->jobs), t);
}
