#include "client/cli/sem_run.h"

#include "base/clock.h"
#include "client/cli/guardian.h"
#include "client/cli/json.h"
#include "client/cli/session.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <ergon/client_sems.h>
#include <ergon/client_serve.h>

enum {
    NS_PER_MS = 1000 * 1000,
    PATIENCE_MS = 5000, /* for what the command leaves behind */
    RELEASE_MS = 5000,
    RETRY_MS = 1000,
    RESUMES_PER_GRACE = 20,         /* at most, where one was answered with an error that passes */
    WAIT_MAX_MS = 24 * 3600 * 1000, /* of one request */
    HOLD_MAX = 256,                 /* bytes of a hold's name */
    SIGNAL_STATUS = 128
};

/* What `ergon` passes on to the command. */
static const int PASSED_ON[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { PASSED_ON_COUNT = sizeof PASSED_ON / sizeof *PASSED_ON };

enum stage { ASKING, CHECKING, RUNNING, RELEASING };

struct holder {
    const struct globals *globals;
    const struct sem_run_plan *plan;
    struct event_base *base;
    struct ergon_client *client;
    struct guard *guard; /* NULL: none runs */
    enum stage stage;
    int status;
    ergon_call_id call;  /* the request that is on its way; 0: none */
    uint64_t give_up_ns; /* CLOCK_BOOTTIME, as all here: no permits until then; UINT64_MAX */
    uint64_t sent_ns;    /* when that request was made */
    uint64_t safe_ns;    /* until then the permits are ours, whatever happens; 0: not known yet */
    bool bound;          /* the permits are the connection's that is up, which may renew them */
    bool warned;         /* of the loss of the permits */
    bool fenced;         /* the server said so */
    char hold[HOLD_MAX];
    char fence[24];
    struct event timer; /* the next renewal, or the next try */
    struct event signals[PASSED_ON_COUNT];
    struct event stop; /* SIGTSTP */
};

static uint64_t now_ns(void)
{
    return clock_read(CLOCK_BOOTTIME);
}

static void leave(struct holder *h, int status)
{
    h->status = status;
    event_base_loopbreak(h->base);
}

static void try_in(struct holder *h, uint64_t ms)
{
    struct timeval pause = {.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    event_add(&h->timer, &pause);
}

/* Sends a request, or has it sent when there is a connection.  One is on its way at a time. */
static bool ask(struct holder *h, struct ergon_request *request, uint64_t limit_ms,
                ergon_answer_fn *fn)
{
    assert(h->call == 0);
    h->sent_ns = now_ns();
    h->call =
        ergon_client_ask(h->client, request, limit_ms < UINT32_MAX ? (uint32_t)limit_ms : 0, fn, h);
    return h->call != 0;
}

/* ---- the permits go back ---- */

static void on_released(void *arg, const struct ergon_answer *a)
{
    struct holder *h = arg;
    h->call = 0;
    if (a->outcome == ERGON_END_ERROR && !h->globals->quiet)
        complain_refusal(h->globals, a);
    event_base_loopbreak(h->base);
}

/* Without an answer they go back when their grace is over; what is lost cannot go back. */
static void release(struct holder *h)
{
    h->stage = RELEASING;
    event_del(&h->timer);
    if (h->call != 0)
        ergon_client_cancel(h->client, h->call); /* on_renewed() leaves `call` 0 */
    bool late = now_ns() >= h->safe_ns && ergon_client_state(h->client) != ERGON_STATE_READY;
    if (h->fenced || late ||
        !ask(h, ergon_request_sem_release(h->plan->name, h->hold), RELEASE_MS, on_released))
        event_base_loopbreak(h->base);
}

static int exit_of(int status)
{
    return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_ended(void *arg, int status)
{
    struct holder *h = arg;
    h->guard = NULL;
    h->status = exit_of(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !h->warned && now_ns() >= h->safe_ns)
        complain("%s: the permits could not be renewed in time; the command was killed",
                 h->plan->name);
    release(h);
}

/* ---- the permits are kept ---- */

static void lose(struct holder *h, const char *code, const char *text)
{
    bool warn = h->plan->warn || h->guard == NULL;
    if (!h->warned)
        complain("%s: the permits are lost%s: %s: %s", h->plan->name,
                 warn ? "" : ", and the command is killed", code, text);
    h->warned = true;
    if (!warn)
        guard_kill(h->guard);
}

static bool is_lost(const struct ergon_answer *a)
{
    return a->outcome == ERGON_END_ERROR &&
           (strcmp(a->code, "FENCED") == 0 || strcmp(a->code, "NOT_FOUND") == 0 ||
            strcmp(a->code, "DENIED") == 0);
}

static void run(struct holder *h);
static void acquire(struct holder *h);

/* The grace counts from when this renewal was made, which is before it was sent.  Only what binds
 * the permits, or was sent where they are bound, counts: elsewhere the grace of a lost connection
 * runs on. */
static void renewed(struct holder *h)
{
    assert(h->bound);
    h->safe_ns = h->sent_ns + (h->plan->grace_ms - SEM_RUN_MARGIN_MS) * NS_PER_MS;
    if (h->guard != NULL && !h->plan->warn)
        guard_until(h->guard, h->safe_ns);
}

static void on_kept(struct holder *h, const struct ergon_answer *a)
{
    h->call = 0;
    if (a->outcome == ERGON_END_OK) {
        renewed(h);
        if (h->stage == CHECKING)
            run(h);
    } else if (is_lost(a) && h->stage == CHECKING) {
        acquire(h);
    } else if (is_lost(a) && h->stage == RUNNING) {
        h->fenced = true;
        lose(h, a->code, a->text);
    }
}

static void on_renewed(void *arg, const struct ergon_answer *a)
{
    on_kept(arg, a);
}

/* What is answered was asked on the connection that is up: with a connection its calls end. */
static void on_resumed(void *arg, const struct ergon_answer *a)
{
    struct holder *h = arg;
    h->bound = a->outcome == ERGON_END_OK;
    on_kept(h, a);
    bool again = a->outcome == ERGON_END_ERROR && !is_lost(a);
    if (again && (h->stage == CHECKING || h->stage == RUNNING))
        try_in(h, h->plan->grace_ms / RESUMES_PER_GRACE); /* the grace runs */
}

/* On the connection that they were granted to, or that resumed them. */
static void renew(struct holder *h)
{
    assert(h->bound);
    ask(h, ergon_request_sem_renew(h->plan->name, h->hold, 0), h->plan->grace_ms, on_renewed);
}

/* On another connection, until it was answered that they are its. */
static void resume(struct holder *h)
{
    assert(!h->bound);
    ask(h, ergon_request_sem_resume(h->plan->name, h->hold, 0), h->plan->grace_ms, on_resumed);
}

static void keep(struct holder *h)
{
    assert(h->stage == CHECKING || h->stage == RUNNING);
    if (ergon_client_state(h->client) == ERGON_STATE_READY && h->call == 0) {
        if (h->bound)
            renew(h);
        else
            resume(h);
    }
    if (h->stage == RUNNING && h->plan->warn && !h->warned && now_ns() >= h->safe_ns)
        lose(h, "DEADLINE", "they could not be renewed in time");
    try_in(h, h->plan->grace_ms / 3);
}

/* ---- the command ---- */

static void run(struct holder *h)
{
    char why[96];
    const struct guard_variable variables[] = {{"ERGON_FENCE", h->fence},
                                               {"ERGON_SEM", h->plan->name}};
    struct guard_plan plan = {.argv = h->plan->command,
                              .variables = variables,
                              .variable_count = sizeof variables / sizeof *variables,
                              .in = -1,
                              .out = -1,
                              .err = -1,
                              .keep = ergon_client_socket(h->client),
                              .terminal = true,
                              .patience_ms = PATIENCE_MS};
    assert(h->stage != RUNNING && h->guard == NULL && h->bound); /* it is started once */
    h->stage = RUNNING;
    h->guard = guard_start(h->base, &plan, on_ended, h);
    if (h->guard == NULL) {
        complain("cannot start %s: %s", h->plan->command[0], strerror_r(errno, why, sizeof why));
        h->status = STATUS_REMOTE;
        release(h);
        return;
    }
    if (!h->plan->warn)
        guard_until(h->guard, h->safe_ns);
    try_in(h, h->plan->grace_ms / 3);
}

/* ---- the permits are asked for ---- */

static void granted(struct holder *h, const struct ergon_answer *a)
{
    json_t *map = json_from_value(span_of(a->result.at, a->result.len));
    snprintf(h->hold, sizeof h->hold, "%s", json_text(map, "hold"));
    snprintf(h->fence, sizeof h->fence, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(map, "fence")));
    json_decref(map);
    h->bound = true;
    uint64_t waited_ms = (now_ns() - h->sent_ns) / NS_PER_MS;
    if (waited_ms > h->plan->grace_ms / 3) {
        h->stage = CHECKING;
        keep(h);
    } else {
        renewed(h);
        run(h);
    }
}

static bool comes_again(const struct ergon_answer *a)
{
    return a->outcome == ERGON_END_ERROR &&
           (strcmp(a->code, "BUSY") == 0 || strcmp(a->code, "DRAINING") == 0);
}

static void refused(struct holder *h, const struct ergon_answer *a)
{
    if (a->outcome == ERGON_END_TIMEOUT || strcmp(a->code, "DEADLINE") == 0)
        complain("%s: no permits in time", h->plan->name);
    else
        complain_refusal(h->globals, a);
    leave(h, (int)status_of(a->outcome, a->code));
}

static void on_acquired(void *arg, const struct ergon_answer *a)
{
    struct holder *h = arg;
    assert(h->stage == ASKING); /* whoever leaves that stage has its answer */
    h->call = 0;
    if (a->outcome == ERGON_END_OK)
        granted(h, a);
    else if (a->outcome == ERGON_END_BROKEN)
        acquire(h);
    else if (comes_again(a) && now_ns() < h->give_up_ns)
        try_in(h, RETRY_MS);
    else if (strcmp(a->code, "DEADLINE") == 0 && h->give_up_ns == UINT64_MAX)
        acquire(h); /* the server does not wait for longer, but we do */
    else if (a->outcome != ERGON_END_CANCELLED && a->outcome != ERGON_END_CLOSED)
        refused(h, a);
}

/* What is left of the wait, in ms and at least 1. */
static uint64_t wait_left(const struct holder *h)
{
    uint64_t now = now_ns();
    return h->give_up_ns > now ? (h->give_up_ns - now + NS_PER_MS - 1) / NS_PER_MS : 1;
}

static void acquire(struct holder *h)
{
    const struct sem_run_plan *p = h->plan;
    bool limited = h->give_up_ns != UINT64_MAX;
    struct ergon_sem_options options = {
        .size = sizeof options,
        .permits = p->take,
        .of = p->permits,
        .wait_ms = limited ? wait_left(h) : WAIT_MAX_MS,
        .grace_ms = p->grace_ms,
        .durable = p->durable,
    };
    h->stage = ASKING;
    h->bound = false;
    event_del(&h->timer); /* of what was kept: it would ask a second time */
    if (!ask(h, ergon_request_sem_acquire(p->name, &options), limited ? wait_left(h) + RETRY_MS : 0,
             on_acquired)) {
        complain_as("MEMORY", NULL, "out of memory");
        leave(h, STATUS_REMOTE);
    }
}

/* ---- what happens ---- */

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct holder *h = arg;
    (void)fd;
    (void)what;
    if (h->stage == ASKING)
        acquire(h);
    else
        keep(h);
}

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct holder *h = arg;
    h->bound = h->bound && state == ERGON_STATE_READY;
    if (state == ERGON_STATE_BACKING_OFF && !h->globals->quiet)
        notice("no connection to %s: %s; it is tried again", h->globals->server, why);
    else if (state == ERGON_STATE_READY && (h->stage == CHECKING || h->stage == RUNNING))
        resume(h);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct holder *h = arg;
    (void)what;
    if (h->guard != NULL)
        guard_signal(h->guard, number);
    else
        leave(h, SIGNAL_STATUS + number);
}

/* As if we did not watch it; where nobody could have us go on, the system does not stop us. */
static void stop_ourselves(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction ours;
    sigaction(SIGTSTP, &usual, &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

/* The command stops, too: while we are stopped nobody renews.  When the time of the last renewal is
 * over it is killed where it stands, by its guardian, who looks at the time before he looks at what
 * we say: it does not go on then, whoever continues us. */
static void on_stop(evutil_socket_t number, short what, void *arg)
{
    struct holder *h = arg;
    (void)what;
    if (h->guard != NULL)
        guard_signal(h->guard, number);
    stop_ourselves();
    if (h->guard == NULL)
        return;
    keep(h);
    guard_signal(h->guard, SIGCONT);
}

/* ---- life ---- */

/* A connection that is lost is to stand again well before the grace is over. */
static void hurry(struct ergon_options *o, uint64_t grace_ms)
{
    uint32_t third = (uint32_t)(grace_ms / 3 < 10000 ? grace_ms / 3 : 10000);
    if (o->connect_timeout_ms == 0)
        o->connect_timeout_ms = third;
    o->backoff_max_ms = third / 3;
}

static bool holder_init(struct holder *h)
{
    char why[512];
    struct ergon_options options = session_options(h->globals);
    options.no_reconnect = false;
    options.on_state = on_state;
    options.on_state_arg = h;
    hurry(&options, h->plan->grace_ms);
    evtimer_assign(&h->timer, h->base, on_timer, h);
    for (size_t i = 0; i < PASSED_ON_COUNT; i++) {
        evsignal_assign(&h->signals[i], h->base, PASSED_ON[i], on_signal, h);
        if (guard_minds(PASSED_ON[i]))
            evsignal_add(&h->signals[i], NULL);
    }
    evsignal_assign(&h->stop, h->base, SIGTSTP, on_stop, h);
    if (guard_minds(SIGTSTP))
        evsignal_add(&h->stop, NULL);
    enum ergon_end end = ergon_client_new(h->base, &options, &h->client, why, sizeof why);
    if (end == ERGON_END_OK)
        return true;
    complain("%s: %s", h->globals->server, why);
    h->status = (int)status_of(end, "");
    return false;
}

int sem_run(const struct globals *g, const struct sem_run_plan *plan)
{
    struct holder h = {.globals = g, .plan = plan, .give_up_ns = UINT64_MAX};
    h.base = event_base_new();
    if (h.base == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
        return STATUS_REMOTE;
    }
    if (plan->wait_ns != UINT64_MAX)
        h.give_up_ns = now_ns() + plan->wait_ns;
    if (holder_init(&h)) {
        acquire(&h);
        event_base_dispatch(h.base);
        ergon_client_free(h.client);
    }
    for (size_t i = 0; i < PASSED_ON_COUNT; i++)
        evsignal_del(&h.signals[i]);
    evsignal_del(&h.stop);
    event_del(&h.timer);
    event_base_free(h.base);
    return h.status;
}
