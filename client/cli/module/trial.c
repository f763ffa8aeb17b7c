#include "client/cli/module/trial.h"

#include "base/clock.h"
#include "client/cli/json.h"

#include <ergon/client_workers.h>

enum {
    LOG_MS = 3000,      /* an end is in the log soon after it was answered */
    ASK_MS = 10 * 1000, /* of what the server itself answers */
    LATER_MS = 5000,    /* after `stuck` the server has noticed it, and the system has ended it */
    FIRST_LOOK_MS = 1,
    LONGEST_LOOK_MS = 64,
    NS_PER_MS = 1000 * 1000
};

const char *trial_way_name(enum trial_way way)
{
    static const char *const names[] = {"called", "submitted", "called and cancelled",
                                        "submitted with a deadline"};
    return names[way];
}

static bool is(const char *code, const char *name)
{
    return strcmp(code, name) == 0;
}

/* How an error ends a trial. */
static enum trial_end end_of(const char *code)
{
    if (is(code, "CRASHED") || is(code, "WORKER_LOST"))
        return TRIAL_CRASHED;
    return is(code, "CANCELLED") || is(code, "DEADLINE") ? TRIAL_CUT : TRIAL_REFUSED;
}

/* Takes code and text apart where they are "CODE: text". */
static void take_error(struct trial_outcome *out, const char *error)
{
    size_t len = strcspn(error, ":");
    snprintf(out->code, sizeof out->code, "%.*s", (int)(len < 39 ? len : 39), error);
    snprintf(out->text, sizeof out->text, "%.299s",
             strncmp(error + len, ": ", 2) == 0 ? error + len + 2 : error);
    out->end = end_of(out->code);
}

static bool is_lost(const struct private_answer *a)
{
    return a->outcome != ERGON_END_OK && a->outcome != ERGON_END_ERROR &&
           a->outcome != ERGON_END_TIMEOUT;
}

static void run_call(struct private_server *s, const struct trial *t, struct trial_outcome *out)
{
    const struct ergon_raw params = {t->params.at, t->params.len};
    bool cut = t->way == TRIAL_CANCEL;
    const struct private_answer *a =
        private_server_ask(s, ergon_request_raw(t->method, params), cut ? t->cut_ms : t->limit_ms);
    out->took_us = a->took_us;
    out->late = a->outcome == ERGON_END_TIMEOUT && !cut;
    snprintf(out->code, sizeof out->code, "%s", a->code);
    snprintf(out->text, sizeof out->text, "%s", a->text);
    out->end = is_lost(a)                        ? TRIAL_LOST
               : a->outcome == ERGON_END_OK      ? TRIAL_ANSWERED
               : a->outcome == ERGON_END_TIMEOUT ? TRIAL_CUT
                                                 : end_of(a->code);
}

/* A state of a task that has ended, or that is to be cancelled. */
static void judge_task(struct private_server *s, struct trial_outcome *out, const char *id,
                       const struct ergon_task_shown *task)
{
    static const char *const cut[] = {"expired", "cancelled"};
    if (is(task->state, "done")) {
        out->end = TRIAL_ANSWERED;
    } else if (is(task->state, cut[0]) || is(task->state, cut[1])) {
        out->end = TRIAL_CUT;
    } else if (task->error[0] != 0) {
        take_error(out, task->error);
    } else {
        out->end = TRIAL_CUT;
        out->late = true;
        private_server_ask(s, ergon_request_cancel(id), ASK_MS);
    }
}

static void run_task(struct private_server *s, const struct trial *t, struct trial_outcome *out)
{
    const struct ergon_raw params = {t->params.at, t->params.len};
    struct ergon_task_options options = {.size = sizeof options};
    struct ergon_submitted submitted;
    struct ergon_task_shown task;
    size_t at = 0;
    if (t->way == TRIAL_DEADLINE)
        options.deadline_ms = t->cut_ms;
    const struct private_answer *a =
        private_server_ask(s, ergon_request_submit(t->method, params, &options), ASK_MS);
    out->took_us = a->took_us;
    out->end = is_lost(a) ? TRIAL_LOST : TRIAL_CUT;
    if (a->outcome == ERGON_END_ERROR) {
        snprintf(out->code, sizeof out->code, "%s", a->code);
        snprintf(out->text, sizeof out->text, "%s", a->text);
        out->end = TRIAL_REFUSED;
    }
    if (a->outcome != ERGON_END_OK || !ergon_read_submitted(a->result, &submitted))
        return;
    const char *ids[] = {submitted.id};
    a = private_server_ask(s, ergon_request_wait(ids, 1, t->limit_ms, 0), t->limit_ms + ASK_MS);
    out->took_us += a->took_us;
    if (is_lost(a))
        out->end = TRIAL_LOST;
    else if (ergon_next_task(a->result, &at, &task))
        judge_task(s, out, submitted.id, &task);
    else
        judge_task(s, out, submitted.id, &(struct ergon_task_shown){.state = "running"});
}

struct look {
    bool good;     /* the server has answered */
    bool is_there; /* the module's process is a worker of it */
    uint32_t out;  /* requests that it has */
};

static struct look look(struct private_server *s)
{
    const struct ergon_worker_filter all = {.size = sizeof all};
    const struct private_answer *a = private_server_ask(s, ergon_request_workers(&all), ASK_MS);
    struct look l = {.good = a->outcome == ERGON_END_OK};
    json_t *page = l.good ? json_from_value(span_of(a->result.at, a->result.len)) : NULL;
    size_t i;
    json_t *worker;
    json_array_foreach(json_object_get(page, "workers"), i, worker)
    {
        l.is_there = true;
        l.out += (uint32_t)json_figure(worker, "out");
    }
    json_decref(page);
    return l;
}

/* After a call that was cut off: until the handler has returned, or its process has ended.  One
 * that is no worker any more has ended, and soon that is in the log. */
static void await_return(struct private_server *s, const struct trial *t, uint32_t deaths,
                         struct trial_outcome *out)
{
    uint64_t until =
        clock_monotonic() + ((uint64_t)t->stuck_ms + t->limit_ms + LATER_MS) * NS_PER_MS;
    uint32_t look_ms = FIRST_LOOK_MS;
    while (private_server_deaths(s) == deaths) {
        struct look l = look(s);
        if (!l.good)
            out->end = TRIAL_LOST;
        else if (!l.is_there)
            private_server_await_death(s, deaths, LOG_MS);
        else if (l.out > 0 && clock_monotonic() >= until)
            out->end = TRIAL_STUCK;
        if (!l.good || !l.is_there || l.out == 0 || out->end == TRIAL_STUCK)
            return;
        private_server_pause(s, look_ms);
        look_ms = look_ms < LONGEST_LOOK_MS ? 2 * look_ms : look_ms;
    }
}

void trial_await_process(struct private_server *s)
{
    for (;;) {
        struct look l = look(s);
        if (!l.good || l.is_there || private_server_failed(s) != NULL)
            return;
        private_server_pause(s, FIRST_LOOK_MS);
    }
}

/* The end of a process that was ended because it did not return. */
static bool was_stuck(const struct death *d)
{
    return strstr(d->reason, "in time") != NULL;
}

void trial_run(struct private_server *s, const struct trial *t, struct trial_outcome *out)
{
    uint32_t deaths = t->deaths;
    if (private_server_deaths(s) == deaths)
        private_server_new_page(s);
    *out = (struct trial_outcome){.end = TRIAL_LOST};
    if (t->way == TRIAL_CALL || t->way == TRIAL_CANCEL)
        run_call(s, t, out);
    else
        run_task(s, t, out);
    if (out->end == TRIAL_CUT)
        await_return(s, t, deaths, out);
    if (out->end == TRIAL_CRASHED)
        private_server_await_death(s, deaths, LOG_MS);
    out->deaths = private_server_deaths(s);
    if (out->deaths > deaths)
        out->end = was_stuck(private_server_death(s)) ? TRIAL_STUCK : TRIAL_CRASHED;
    if (out->end == TRIAL_CRASHED || out->end == TRIAL_STUCK)
        trial_await_process(s);
    if (private_server_signal(s) != 0)
        out->end = TRIAL_LOST;
}
