/* What a worker answers becomes the result of its task, or the failure.  Nothing of it is trusted:
 * whatever it says, only its own tasks are concerned. */
#include <stdio.h>

#include "base/log.h"
#include "base/units.h"
#include "proto/error_value.h"
#include "server/jobs/jobs.h"
#include "server/rpc/read_spec.h"
#include "server/tasks/attempt.h"
#include "server/tasks/task_result.h"
#include "server/tasks/turn.h"
#include "server/workers/worker_answer.h"
#include "server/workers/worker_process.h"

static void take_result(struct task *t, struct span value, uint64_t most)
{
    uint8_t *room = task_result_room(t, value.len, most);

    if (!room)
        return; /* it has failed by that */
    memcpy(room, value.at, value.len);
    t->result_len = value.len;
}

/* A handler of a module, on another node or in a process of its own: it has the rights of the
 * server, as those of this process. */
static bool is_handler(const struct worker_link *link)
{
    const struct conn_vouched *v = conn_vouched(link->conn);

    return (v && v->works) || worker_is_process(link);
}

/* May the worker send this message?  Not ERGON_OK, and a text: it may not. */
static enum ergon_error check_message(const struct worker_link *link, const struct task *t,
                                      const struct turn_message *m, char *text, size_t size)
{
    struct job_spec spec;
    struct span tenant = jobs_owner_tenant(t->attempt->owner);

    job_spec_init(&spec);
    if (m->method.len == 0)
        return ERGON_OK; /* a reminder of the actor's own is forgotten */
    spec.method = m->method;
    spec.actor = m->reminder.len > 0 ? t->attempt->turn->actor : m->to;
    if (!spec_read_turn_options(m->options, &spec, text, size))
        return ERGON_E_BAD_CHANGES;
    if (spec.tenant.len == 0)
        spec.tenant = tenant;
    if (span_equal(spec.tenant, tenant))
        return is_handler(link) || spec_may_submit(link->conn, &spec, text, size) ? ERGON_OK
                                                                                  : ERGON_E_DENIED;
    snprintf(text, size, "what an attempt sends is of the tenant of its own task or actor");
    return ERGON_E_DENIED;
}

/* The rights are those of the worker's principal. */
static enum ergon_error check_messages(const struct worker_link *link, const struct task *t,
                                       char *text, size_t size)
{
    enum ergon_error wrong = ERGON_OK;

    for (const struct turn_message *m = t->attempt->turn->changes.messages.first;
         m && wrong == ERGON_OK; m = m->next)
        wrong = check_message(link, t, m, text, size);
    return wrong;
}

static enum ergon_error add_sends(const struct worker_link *link, struct task *t, struct span sends,
                                  char *text, size_t size)
{
    struct attempt *a = t->attempt;

    if (turn_is_of_actor(a->turn)) {
        snprintf(text, size, "a turn of an actor says what it sends in [result, changes]");
        return ERGON_E_BAD_PARAMS;
    }
    if (sends.len > 2 * TURN_MESSAGES_BYTES) {
        snprintf(text, size, "what an attempt submits has at most 1 MiB");
        return ERGON_E_TOO_LARGE;
    }
    if (!attempt_sends(a)) {
        snprintf(text, size, "%s", error_meaning(ERGON_E_MEMORY));
        return ERGON_E_MEMORY;
    }
    return turn_read_sends(a->turn, sends, text, size) ? check_messages(link, t, text, size)
                                                       : ERGON_E_BAD_PARAMS;
}

enum ergon_error worker_add_sends(struct connection *c, struct task *t, struct span sends,
                                  char *text, size_t size)
{
    if (!task_is(t, TASK_ATTEMPT) || t->attempt->id == 0) {
        snprintf(text, size, "a plain call submits nothing with its end");
        return ERGON_E_BAD_PARAMS;
    }
    enum ergon_error wrong = add_sends(conn_service(c), t, sends, text, size);
    t->attempt->refused |= wrong != ERGON_OK;
    return wrong;
}

/* [result, changes]: what a turn answers.  A new state has the schema of this worker, which need
 * not be that of the type's latest registration. */
static void take_turn(const struct worker_link *link, const struct worker *w, struct task *t,
                      struct span value, uint64_t most)
{
    struct reader r = reader_of(value);
    struct span result, changes;
    uint32_t count;
    char text[240] = "a turn answers [result, changes], where changes are a map or nil";
    enum ergon_error wrong = ERGON_E_BAD_CHANGES;

    t->attempt->turn->writes = worker_executor_schema(w->executor, t->method->name);
    bool good = read_array(&r, &count) && count == 2 && read_any(&r, &result) &&
                read_any(&r, &changes) &&
                turn_read_changes(t->attempt->turn, changes, text, sizeof text);

    if (good)
        wrong = check_messages(link, t, text, sizeof text);
    if (wrong == ERGON_OK)
        take_result(t, result, most);
    else
        task_fail(t, wrong, NULL, span_text(text));
}

/* "5s", or "5s: the disk is full"; false: it says no time. */
static bool read_pause(const char *text, uint64_t *ns)
{
    return units_duration(span_of(text, strcspn(text, ": ")), ns);
}

static void take_error(struct task *t, struct span value)
{
    struct error_value error;
    uint64_t pause;

    error_value_read(value, &error);
    if (strcmp(error.code, "AGAIN") == 0 && read_pause(error.text, &pause))
        task_run_again(t, pause);
    else
        task_fail_traced(t, ERGON_E_FAILED, error.code[0] ? error.code : NULL,
                         span_text(error.text),
                         task_is(t, TASK_ATTEMPT) ? error.traceback : (struct span){0});
}

static void settle(struct worker_link *link, struct task *t, const struct envelope *e)
{
    struct worker *w = worker_of(link, t);

    uint64_t most = link->loop->shared->limits.scan.message_max;

    worker_process_answered(link, t);
    if (envelope_is_error(e))
        take_error(t, e->error);
    else if (task_is(t, TASK_ATTEMPT) && turn_is_of_actor(t->attempt->turn))
        take_turn(link, w, t, e->result, most);
    else if (task_is(t, TASK_ATTEMPT) && t->attempt->refused) /* it submits all or nothing */
        task_fail(t, ERGON_E_BAD_CHANGES, NULL,
                  span_text("a worker.submit of it was refused, so it may end by an error alone"));
    else
        take_result(t, e->result, most);
    worker_executor_answer(w->executor, t);
    if (w->full && !conn_output_full(link->conn))
        worker_flushed(link->conn);
}

static void note_strange(struct worker_link *link, struct span msgid)
{
    struct reader r = reader_of(msgid);
    uint64_t number = 0;

    read_uint(&r, &number);
    link->strange++;
    counter_add(&link->loop->stats.strange, 1);
    counter_add(&link->loop->stats.ignored, 1);
    log_debug("answer of a worker to nothing that it was asked ignored",
              LOG_UINT("conn", conn_id(link->conn)), LOG_UINT("number", number));
}

static void answered(struct worker_link *link, const struct envelope *e)
{
    struct reader r = reader_of(e->msgid);
    uint64_t number;
    bool early = false;

    worker_note_begun(link);
    uint64_t handed = conn_handed(link->conn);
    void *waiter =
        read_uint(&r, &number) ? requests_find(&link->requests, number, handed, &early) : NULL;
    if (!waiter) {
        note_strange(link, e->msgid);
    } else if (early) {
        worker_close(link, "it answered a request that it had not read to its end");
    } else {
        requests_close(&link->requests, (uint32_t)number);
        if (waiter == &link->ping)
            link->ping = 0;
        else
            settle(link, waiter, e);
    }
}

void worker_answered(struct rpc_loop *loop, struct connection *c, const struct envelope *e)
{
    struct worker_link *link = conn_service(c);

    if (link && !link->why) {
        answered(link, e);
        return;
    }
    if (loop->remote && loop->remote->response(loop->remote_arg, c, e))
        return;
    counter_add(&loop->stats.ignored, 1);
    log_debug("response to nothing that was asked ignored", LOG_UINT("conn", conn_id(c)));
}

struct task *worker_running(struct connection *c, uint64_t number)
{
    struct worker_link *link = conn_service(c);
    bool early;

    if (!link || link->why)
        return NULL;
    worker_note_begun(link);
    void *waiter = requests_find(&link->requests, number, conn_handed(c), &early);
    return early || waiter == &link->ping ? NULL : waiter;
}
