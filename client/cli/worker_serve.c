#include "client/cli/worker_serve.h"

#include "base/clock.h"
#include "client/cli/guardian.h"
#include "client/cli/json.h"
#include "client/cli/session.h"
#include "client/cli/worker_task.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <ergon/client_workers.h>

enum {
    PATIENCE_MS = 5000, /* between SIGTERM and SIGKILL */
    RETRY_MIN_MS = 1000,
    RETRY_MAX_MS = 10 * 1000,
    GOODBYE_MS = 5000, /* for the server to say that it has read all */
    ANSWER_HEAD = 64,  /* bytes of a response beside its result */
    FILES_A_TASK = 5,  /* pipes, and two to its guardian */
    FILES_BESIDE = 64
};

enum stage { SERVING, QUIETING, HANDING_BACK, LEAVING };

struct worker {
    const struct globals *globals;
    const struct worker_plan *plan;
    struct event_base *base;
    struct ergon_client *client;
    struct worker_home home;
    struct worker_task_list tasks;
    enum stage stage;
    enum status status;
    bool asking;     /* worker.register or worker.quiet is on its way */
    bool registered; /* on the connection that stands */
    bool ever;       /* it was once */
    bool unread;     /* something was answered since the server was asked last */
    uint32_t retry_ms;
    struct event retry; /* of a registration that was refused */
    struct event grace;
    struct event signals[3];
};

static void leave(struct worker *w, enum status status)
{
    w->status = status;
    event_base_loopbreak(w->base);
}

static struct timeval after(uint64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000};
}

/* ---- the end ---- */

static void goodbye(struct worker *w);

/* By its answer the server says that it has read all answers before. */
static void on_goodbye(void *arg, const struct ergon_answer *answer)
{
    struct worker *w = arg;
    (void)answer;
    w->asking = false;
    goodbye(w);
}

static void ask_quiet(struct worker *w, uint64_t limit_ms)
{
    w->unread = false;
    w->asking = ergon_client_ask(w->client, ergon_request_worker_quiet(NULL),
                                 limit_ms < UINT32_MAX ? (uint32_t)limit_ms : UINT32_MAX,
                                 on_goodbye, w) != 0;
}

static void goodbye(struct worker *w)
{
    bool ready = ergon_client_state(w->client) == ERGON_STATE_READY;
    if (w->stage == SERVING || (ready && w->asking) || !TAILQ_EMPTY(&w->tasks))
        return;
    w->stage = LEAVING;
    if (ready && w->unread)
        ask_quiet(w, GOODBYE_MS);
    if (!ready || !w->asking)
        leave(w, STATUS_OK);
}

static void hand_back(struct worker *w)
{
    struct worker_task *t;
    w->stage = HANDING_BACK;
    TAILQ_FOREACH(t, &w->tasks, link)
    worker_task_hand_back(t);
    goodbye(w);
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;
    (void)fd;
    (void)what;
    if (w->stage == QUIETING)
        hand_back(w);
}

/* From now on nothing more comes; an answer to worker.register may still be on its way. */
static void quiet(struct worker *w)
{
    struct timeval grace = after(w->plan->grace_ms);
    w->stage = QUIETING;
    event_del(&w->retry);
    event_add(&w->grace, &grace);
    if (w->registered && !w->asking)
        ask_quiet(w, w->plan->grace_ms + GOODBYE_MS);
    if (!w->globals->quiet && !TAILQ_EMPTY(&w->tasks))
        notice("takes nothing more, and waits for what runs");
    goodbye(w);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct worker *w = arg;
    struct worker_task *t;
    (void)number;
    (void)what;
    if (w->stage == SERVING) {
        quiet(w);
    } else if (w->stage == QUIETING) {
        hand_back(w);
    } else {
        TAILQ_FOREACH(t, &w->tasks, link)
        worker_task_kill(t);
    }
}

/* ---- registration ---- */

static void enlist(struct worker *w);

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    enlist(arg);
}

static void retry_later(struct worker *w)
{
    struct timeval pause = after(w->retry_ms);
    w->retry_ms = 2 * w->retry_ms < RETRY_MAX_MS ? 2 * w->retry_ms : RETRY_MAX_MS;
    event_add(&w->retry, &pause);
}

static void say_registered(struct worker *w, const struct ergon_answer *answer)
{
    json_t *map = json_from_value(span_of(answer->result.at, answer->result.len));
    json_int_t slots = json_integer_value(json_object_get(map, "slots"));
    if (!w->globals->quiet)
        notice("serves %s%s as %s, %lld at a time", w->plan->methods[0],
               w->plan->method_count > 1 ? " and others" : "", json_text(map, "worker"),
               slots > 0 ? (long long)slots : (long long)w->plan->slots);
    json_decref(map);
}

/* At first a refusal is worth the attention of who started it.  Later it may have to do with the
 * server alone, and the worker goes on. */
static void on_registered(void *arg, const struct ergon_answer *a)
{
    struct worker *w = arg;
    enum status status = status_of(a->outcome, a->code);
    w->asking = false;
    w->registered = status == STATUS_OK;
    if (w->stage != SERVING) {
        w->unread = true; /* it was registered while it went */
        goodbye(w);
    } else if (status == STATUS_OK) {
        w->ever = true;
        w->retry_ms = RETRY_MIN_MS;
        say_registered(w, a);
    } else if (a->outcome != ERGON_END_ERROR && a->outcome != ERGON_END_DENIED) {
        if (ergon_client_state(w->client) == ERGON_STATE_READY)
            retry_later(w); /* else with the next connection */
    } else if (!w->ever && status != STATUS_LIMIT) {
        complain_refusal(w->globals, a);
        leave(w, status);
    } else {
        if (!w->globals->quiet)
            notice("%s: %s; it is tried again", a->code, a->text);
        retry_later(w);
    }
}

/* The first time before there is a connection: then it is sent as soon as there is one, and ends
 * when the token is refused. */
static void enlist(struct worker *w)
{
    bool now = ergon_client_state(w->client) == ERGON_STATE_READY || !w->ever;
    struct ergon_worker_options options = {.size = sizeof options,
                                           .slots = w->plan->slots,
                                           .name = w->plan->name,
                                           .version = w->plan->version,
                                           .host = w->plan->host,
                                           .secrecy = w->plan->secrecy,
                                           .share = w->plan->share,
                                           .context = true,
                                           .actors = w->plan->actors,
                                           .lease_ms = w->plan->lease_ms,
                                           .message = w->plan->request_max};
    if (w->stage != SERVING || w->asking || w->registered || !now || !TAILQ_EMPTY(&w->tasks))
        return;
    w->asking = ergon_client_ask(w->client,
                                 ergon_request_worker_register(w->plan->methods,
                                                               w->plan->method_count, &options),
                                 0, on_registered, w) != 0;
    if (!w->asking)
        retry_later(w);
}

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct worker *w = arg;
    if (state == ERGON_STATE_READY) {
        enlist(w);
    } else if (state == ERGON_STATE_BACKING_OFF) {
        w->registered = false;
        event_del(&w->retry);
        if (!w->globals->quiet)
            notice("no connection to %s: %s; it is tried again", w->globals->server, why);
    }
}

/* ---- tasks ---- */

static void on_ended(void *arg, struct worker_task *t)
{
    struct worker *w = arg;
    TAILQ_REMOVE(&w->tasks, t, link);
    w->unread = true;
    enlist(w);
    goodbye(w);
}

static void on_request(void *arg, struct ergon_served *served)
{
    struct worker *w = arg;
    if (strcmp(served->method, "worker.ping") == 0) {
        ergon_served_answer(served, (struct ergon_raw){0});
    } else if (w->stage != SERVING) {
        w->unread = true;
        ergon_served_fail(served, "AGAIN", "0");
    } else {
        struct worker_task *t = worker_task_start(&w->home, served);
        if (t != NULL)
            TAILQ_INSERT_TAIL(&w->tasks, t, link);
    }
}

static void on_gone(void *arg, struct ergon_served *served)
{
    struct worker *w = arg;
    if (!w->plan->finish && served->user != NULL)
        worker_task_lost(served->user);
}

/* worker.cancel [call, why] */
static void on_notification(void *arg, const char *method, struct ergon_raw params)
{
    struct worker *w = arg;
    struct worker_task *t;
    if (strcmp(method, "worker.cancel") != 0)
        return;
    json_t *list = json_from_value(span_of(params.at, params.len));
    const char *why = json_string_value(json_array_get(list, 1));
    TAILQ_FOREACH(t, &w->tasks, link)
    if (worker_task_is(t, json_integer_value(json_array_get(list, 0))))
        worker_task_cancel(t, why != NULL ? why : "");
    json_decref(list);
}

/* ---- life ---- */

/* Each task has some descriptors open. */
static void raise_limit(const struct worker_plan *plan)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)plan->slots * FILES_A_TASK + FILES_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* One slot more is for worker.ping. */
static enum ergon_end connect_worker(struct worker *w, char *why, size_t why_size)
{
    struct ergon_options options = session_options(w->globals);
    struct ergon_serve_options serve = {.size = sizeof serve,
                                        .slots = w->plan->slots + 1,
                                        .answer_max = w->plan->result_max,
                                        .on_request = on_request,
                                        .on_gone = on_gone,
                                        .on_notification = on_notification,
                                        .arg = w};
    options.no_reconnect = false;
    options.message_max = w->plan->request_max;
    options.on_state = on_state;
    options.on_state_arg = w;
    enum ergon_end end = ergon_client_new(w->base, &options, &w->client, why, why_size);
    if (end == ERGON_END_OK)
        end = ergon_client_serve(w->client, &serve);
    return end;
}

static void watch(struct worker *w)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        evsignal_assign(&w->signals[i], w->base, numbers[i], on_signal, w);
        if (guard_minds(numbers[i]))
            evsignal_add(&w->signals[i], NULL);
    }
    evtimer_assign(&w->retry, w->base, on_retry, w);
    evtimer_assign(&w->grace, w->base, on_grace_over, w);
}

static void worker_fini(struct worker *w)
{
    ergon_client_free(w->client);
    for (size_t i = 0; i < sizeof w->signals / sizeof *w->signals; i++)
        evsignal_del(&w->signals[i]);
    event_del(&w->retry);
    event_del(&w->grace);
    event_base_free(w->base);
}

/* What still runs when this returns ends with the process. */
static enum status serve(struct worker *w)
{
    char why[512];
    enum ergon_end end = connect_worker(w, why, sizeof why);
    if (end != ERGON_END_OK) {
        complain("%s: %s", w->globals->server, why);
        return status_of(end, "");
    }
    w->home = (struct worker_home){.base = w->base,
                                   .client = w->client,
                                   .command = w->plan->command,
                                   .words = w->plan->words,
                                   .input = w->plan->input,
                                   .output = w->plan->output,
                                   .output_max = w->plan->result_max - ANSWER_HEAD,
                                   .patience_ms = PATIENCE_MS,
                                   .verbose = w->globals->verbose,
                                   .ended = on_ended,
                                   .arg = w};
    enlist(w);
    event_base_dispatch(w->base);
    return w->status;
}

enum status worker_serve(const struct globals *g, const struct worker_plan *plan)
{
    struct worker w = {.globals = g, .plan = plan, .retry_ms = RETRY_MIN_MS};
    w.base = event_base_new();
    if (w.base == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
        return STATUS_REMOTE;
    }
    TAILQ_INIT(&w.tasks);
    raise_limit(plan);
    watch(&w);
    enum status status = serve(&w);
    worker_fini(&w);
    return status;
}
