/* Nested calls, as handlers see them. */
#include "base/check.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"

static struct method *method_of(const struct task *t, const char *name)
{
    return registry_find(t->executor->shared->plan.registry, span_text(name));
}

static struct nested *nested_of(struct ergon_call *call)
{
    return (struct nested *)call;
}

static enum ergon_error send(struct nested *n, const char *method, struct ergon_bytes params)
{
    struct method *m = method_of(n->task, method);
    if (!m)
        return ERGON_E_NO_METHOD;
    if (n->task->depth + 1 > TASK_DEPTH_MAX)
        return ERGON_E_TOO_DEEP;
    enum ergon_error error;
    if (!nested_charge(n, method_wants(m, params.len), &error))
        return error;
    const struct call_request request = {.owner = n,
                                         .list = &n->list,
                                         .params = span_of(params.at, params.len),
                                         .deadline = AO_NEVER,
                                         .tally = n->tally};
    const struct call_plan plan = {.request = &request, .ended = nested_ended, .parent = n->task};
    return home_send(n->home, m, &plan);
}

static struct ergon_call *host_call_start(struct ergon_task *task, const char *method,
                                          struct ergon_bytes params)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_STEPPED)
        return NULL;
    struct nested *n = nested_new(t, stepped_of(t->executor)->home);
    enum ergon_error refused = n ? send(n, method, params) : ERGON_OK;
    if (refused != ERGON_OK)
        nested_refuse(n, refused);
    return (struct ergon_call *)n;
}

static bool host_call_await(struct ergon_call *call, struct ao_wait *wait)
{
    require(!nested_of(call)->taken, "the outcome of the call was taken before");
    nested_of(call)->awaited = true;
    ao_completion_await(&nested_of(call)->done, wait);
    return true;
}

static void host_call_outcome(struct ergon_call *call, struct ergon_outcome *out)
{
    require(!nested_of(call)->taken, "the outcome of the call was taken before");
    nested_take(nested_of(call), out);
}

static void host_call(struct ergon_task *task, const char *method, struct ergon_bytes params,
                      struct ergon_outcome *out)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind == ERGON_BLOCKING) {
        blocking_call(t, method_of(t, method), span_of(params.at, params.len), out);
        return;
    }
    *out = (struct ergon_outcome){.code = error_name(ERGON_E_FAILED),
                                  .text = "a stepped handler starts calls and awaits them"};
}

void host_fill_calls(struct ergon_host *host)
{
    host->call = host_call;
    host->call_start = host_call_start;
    host->call_await = host_call_await;
    host->call_outcome = host_call_outcome;
}
