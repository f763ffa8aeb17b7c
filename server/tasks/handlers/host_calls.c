/* Nested calls.  A stepped handler's belong to its task: they are calls of the home of the loop
 * that it runs on, and end in a completion that it awaits. */
#include <stdlib.h>

#include <ergon/wait.h>

#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks_parts.h"

/* Seen by modules as struct ergon_call. */
struct nested {
    struct nested *next; /* of the same task */
    struct task *task;
    struct home *home;
    struct call *list; /* the call while it is in flight: a list of one */
    struct ao_completion done;
    struct ergon_outcome outcome; /* once done */
    void *block;                  /* that the outcome points into */
};

static struct nested *nested_of(struct ergon_call *call)
{
    return (struct nested *)call;
}

/* Bytes of a failure, or of a small result, in memory of their own. */
static uint8_t *copy(const struct outcome *o, size_t code_len)
{
    size_t len = o->error == ERGON_OK ? o->result.len : code_len + 1 + o->text.len + 1;
    uint8_t *at = malloc(len);
    if (!at)
        return NULL;
    if (o->error == ERGON_OK)
        return memcpy(at, o->result.at, len);
    memcpy(at, o->code, code_len + 1);
    if (o->text.len > 0)
        memcpy(at + code_len + 1, o->text.at, o->text.len);
    at[len - 1] = '\0';
    return at;
}

void outcome_keep(struct outcome *o, void **block, struct ergon_outcome *out)
{
    size_t code_len = o->error == ERGON_OK ? 0 : strlen(o->code);
    free(*block);
    *block = o->block ? o->block : copy(o, code_len);
    if (!*block) {
        *out = (struct ergon_outcome){.code = error_name(ERGON_E_MEMORY),
                                      .text = error_meaning(ERGON_E_MEMORY)};
    } else if (o->error == ERGON_OK) {
        const uint8_t *at = o->block ? o->result.at : *block;
        *out = (struct ergon_outcome){.ok = true, .result = {.at = at, .len = o->result.len}};
    } else {
        const char *text = *block;
        *out = (struct ergon_outcome){.code = text, .text = text + code_len + 1};
    }
    o->block = NULL;
}

static void end_nested(struct nested *n, struct outcome *outcome)
{
    outcome_keep(outcome, &n->block, &n->outcome);
    ao_completion_complete(&n->done, n);
}

static void nested_ended(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg;
    end_nested(call->owner, outcome);
}

static enum ergon_error start(struct nested *n, const char *method, struct ergon_bytes params)
{
    struct task *t = n->task;
    struct method *m = registry_find(n->home->tasks->plan.registry, span_text(method));
    if (!m)
        return ERGON_E_NO_METHOD;
    if (t->depth + 1 > TASK_DEPTH_MAX)
        return ERGON_E_TOO_DEEP;
    const struct call_request request = {.owner = n,
                                         .list = &n->list,
                                         .params = span_of(params.at, params.len),
                                         .deadline = AO_NEVER};
    const struct call_order order = {.request = &request, .ended = nested_ended, .parent = t};
    return home_order(n->home, m, &order);
}

static struct ergon_call *host_call_start(struct ergon_task *task, const char *method,
                                          struct ergon_bytes params)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_STEPPED)
        return NULL;
    struct nested *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->task = t;
    n->home = stepped_of(t->executor)->home;
    ao_completion_init(&n->done);
    n->next = t->nested;
    t->nested = n;
    enum ergon_error refused = start(n, method, params);
    if (refused != ERGON_OK) {
        struct outcome outcome;
        outcome_of(refused, &outcome);
        end_nested(n, &outcome);
    }
    return (struct ergon_call *)n;
}

static bool host_call_await(struct ergon_call *call, struct ao_wait *wait)
{
    ao_completion_await(&nested_of(call)->done, wait);
    return true;
}

static void unlink_nested(struct nested *n)
{
    struct nested **at = &n->task->nested;
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
}

static void abandon(struct nested *n)
{
    if (n->list)
        home_abandon(n->home, n->list);
}

/* Of a call that has not ended: it is abandoned, and the outcome says so. */
static void host_call_outcome(struct ergon_call *call, struct ergon_outcome *out)
{
    struct nested *n = nested_of(call);
    struct task *t = n->task;
    abandon(n);
    unlink_nested(n);
    *out = n->outcome;
    free(t->nested_block);
    t->nested_block = n->block;
    free(n);
}

void host_drop_nested(struct task *t)
{
    while (t->nested) {
        struct nested *n = t->nested;
        abandon(n);
        t->nested = n->next;
        free(n->block);
        free(n);
    }
}

static void host_call(struct ergon_task *task, const char *method, struct ergon_bytes params,
                      struct ergon_outcome *out)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind == ERGON_BLOCKING) {
        blocking_call(ao_of(t->executor, struct blocking, base), t, method,
                      span_of(params.at, params.len), out);
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
