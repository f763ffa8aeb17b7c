/* The blocking face: a client on an event base of its own, which runs until the answer is there. */
#include "base/clock.h"
#include "client/lib/client.h"
#include "client/lib/requests.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    NS_PER_MS = 1000 * 1000,
    AGAIN_MS = 100 /* before a request is sent once more */
};

/* A client on an event base of its own, and a copy of the last answer. */
struct ergon_blocking {
    struct event_base *base;
    struct ergon_client *client;
    int interrupts;             /* an eventfd */
    struct event *interrupted;  /* somebody has written to it */
    bool interrupt;             /* that, and nothing waited for an answer */
    ergon_call_id call;         /* 0: none is waited for */
    struct ergon_watch *watch;  /* NULL: none is waited for */
    struct ergon_answer answer; /* points into `kept` and the two texts, or at constants */
    struct buffer kept;         /* the bytes of result or error */
    char code[64];
    char text[512];
    bool done;
    bool failed; /* of a notification or of the first connection */
    char why[384];
    ergon_state_fn *on_state; /* the user's */
    void *on_state_arg;
};

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct ergon_blocking *b = arg;
    if (why[0] != 0) {
        b->failed = true;
        snprintf(b->why, sizeof b->why, "%s", why);
    }
    if (b->on_state != NULL)
        b->on_state(b->on_state_arg, state, why);
}

static void fail_answer(struct ergon_blocking *b, enum ergon_end outcome, const char *text)
{
    b->answer = (struct ergon_answer){.outcome = outcome, .code = "", .text = b->text};
    snprintf(b->text, sizeof b->text, "%s", text);
}

static void on_answer(void *arg, const struct ergon_answer *answer)
{
    struct ergon_blocking *b = arg;
    bool good = answer->outcome == ERGON_END_OK;
    struct ergon_raw bytes = good ? answer->result : answer->error;
    b->done = true;
    fail_answer(b, answer->outcome, answer->text);
    snprintf(b->code, sizeof b->code, "%s", answer->code);
    b->answer.code = b->code;
    if (bytes.len == 0)
        return;
    if (!buffer_append(&b->kept, span_of(bytes.at, bytes.len))) {
        fail_answer(b, ERGON_END_MEMORY, "out of memory for the answer");
        return;
    }
    struct span kept = buffer_span(&b->kept);
    *(good ? &b->answer.result : &b->answer.error) = (struct ergon_raw){kept.at, kept.len};
}

/* ---- interrupts ---- */

/* The only part that other threads and signal handlers touch. */
void ergon_blocking_interrupt(struct ergon_blocking *b)
{
    int error = errno;
    eventfd_write(b->interrupts, 1);
    errno = error;
}

static void on_interrupt(evutil_socket_t fd, short what, void *arg)
{
    struct ergon_blocking *b = arg;
    eventfd_t count;
    (void)what;
    eventfd_read(fd, &count);
    if (b->watch != NULL)
        ergon_watch_stop(b->watch);
    else if (!ergon_client_cancel(b->client, b->call))
        b->interrupt = true;
}

static bool open_interrupts(struct ergon_blocking *b)
{
    b->interrupts = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->interrupts < 0)
        return false;
    b->interrupted = event_new(b->base, b->interrupts, EV_READ | EV_PERSIST, on_interrupt, b);
    return b->interrupted != NULL && event_add(b->interrupted, NULL) == 0;
}

/* One came while nothing waited: what would wait now does not begin. */
static bool take_interrupt(struct ergon_blocking *b)
{
    bool interrupt = b->interrupt;
    b->interrupt = false;
    if (interrupt)
        fail_answer(b, ERGON_END_CANCELLED, "interrupted");
    return interrupt;
}

/* ---- the connection ---- */

/* The first connection, or its failure. */
static enum ergon_end wait_ready(struct ergon_blocking *b)
{
    b->failed = false;
    ergon_client_connect(b->client);
    while (b->client->state != ERGON_STATE_READY && !b->failed)
        event_base_loop(b->base, EVLOOP_ONCE);
    if (b->client->state == ERGON_STATE_READY)
        return ERGON_END_OK;
    return b->client->last_outcome;
}

enum ergon_end ergon_blocking_open(const struct ergon_options *options, struct ergon_blocking **out,
                                   char *why, size_t why_size)
{
    struct ergon_options mine = {0};
    enum ergon_end outcome = ERGON_END_MEMORY;
    struct ergon_blocking *b = calloc(1, sizeof *b);
    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (b == NULL)
        return outcome;
    memcpy(&mine, options, options->size < sizeof mine ? options->size : sizeof mine);
    mine.size = sizeof mine;
    b->on_state = mine.on_state;
    b->on_state_arg = mine.on_state_arg;
    mine.on_state = on_state;
    mine.on_state_arg = b;
    b->interrupts = -1;
    b->base = event_base_new();
    if (b->base == NULL || !open_interrupts(b))
        goto failed;
    outcome = ergon_client_new(b->base, &mine, &b->client, why, why_size);
    if (outcome != ERGON_END_OK)
        goto failed;
    outcome = wait_ready(b);
    if (outcome != ERGON_END_OK) {
        snprintf(why, why_size, "%s", b->why);
        goto failed;
    }
    *out = b;
    return outcome;
failed:
    ergon_blocking_close(b);
    return outcome;
}

enum ergon_end ergon_blocking_call(struct ergon_blocking *b, const char *method,
                                   struct ergon_raw params, uint32_t timeout_ms,
                                   const struct ergon_answer **answer)
{
    b->done = false;
    b->kept.start = b->kept.end = 0;
    *answer = &b->answer;
    if (take_interrupt(b))
        return b->answer.outcome;
    b->call = ergon_client_call(b->client, method, params, timeout_ms, on_answer, b);
    if (b->call == 0)
        fail_answer(b, ERGON_END_INVALID,
                    "a method has 1 to 256 bytes, and its parameters are one MessagePack value "
                    "that is not nested too deeply (or memory is out)");
    else
        while (!b->done)
            event_base_loop(b->base, EVLOOP_ONCE);
    b->call = 0;
    return b->answer.outcome;
}

/* ---- requests ---- */

static const struct ergon_answer no_memory = {
    .outcome = ERGON_END_MEMORY, .code = "", .text = "out of memory for the request"};

enum ergon_end ergon_blocking_ask(struct ergon_blocking *b, struct ergon_request *r,
                                  uint32_t timeout_ms, const struct ergon_answer **answer)
{
    *answer = r == NULL ? &no_memory : r->refused;
    if (*answer == NULL)
        ergon_blocking_call(b, r->method, request_params(r), timeout_ms, answer);
    ergon_request_free(r);
    return (*answer)->outcome;
}

/* The connection broke, or the server is about to stop: the next one answers. */
static bool worth_asking_again(const struct ergon_answer *a)
{
    return a->outcome == ERGON_END_BROKEN ||
           (a->outcome == ERGON_END_ERROR && strcmp(a->code, "DRAINING") == 0);
}

enum ergon_end ergon_blocking_ask_again(struct ergon_blocking *b, struct ergon_request *r,
                                        uint32_t timeout_ms, const struct ergon_answer **answer)
{
    const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    uint64_t now = clock_monotonic();
    uint64_t end = timeout_ms > 0 ? now + (uint64_t)timeout_ms * NS_PER_MS : UINT64_MAX;
    *answer = r == NULL ? &no_memory : r->refused;
    for (bool again = *answer == NULL; again; again = worth_asking_again(*answer) && now < end) {
        if (*answer != NULL) {
            event_base_loopexit(b->base, &pause);
            event_base_dispatch(b->base);
        }
        uint32_t left = timeout_ms > 0 ? (uint32_t)((end - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
        ergon_blocking_call(b, r->method, request_params(r), left, answer);
        now = clock_monotonic();
    }
    ergon_request_free(r);
    return (*answer)->outcome;
}

/* ---- following a task ---- */

struct blocking_watch {
    struct ergon_blocking *blocking;
    ergon_event_fn *on_event; /* the user's */
    void *arg;
    bool expired;
};

static bool on_watched_event(void *arg, const struct ergon_event *event)
{
    struct blocking_watch *bw = arg;
    return bw->on_event(bw->arg, event);
}

static void on_watch_end(void *arg, const struct ergon_answer *answer)
{
    struct blocking_watch *bw = arg;
    struct ergon_answer end = *answer;
    end.error = (struct ergon_raw){NULL, 0};
    bw->blocking->watch = NULL;
    on_answer(bw->blocking, &end);
    if (bw->expired)
        fail_answer(bw->blocking, ERGON_END_TIMEOUT, "the task has not ended in time");
}

static void on_watch_expired(evutil_socket_t fd, short what, void *arg)
{
    struct blocking_watch *bw = arg;
    (void)fd;
    (void)what;
    if (bw->blocking->done)
        return; /* it ended in this round of the loop, and is gone */
    bw->expired = true;
    ergon_watch_stop(bw->blocking->watch);
}

static void run_watch(struct ergon_blocking *b, struct blocking_watch *bw, uint32_t timeout_ms)
{
    struct event timer;
    struct timeval limit = {.tv_sec = timeout_ms / 1000,
                            .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    event_assign(&timer, b->base, -1, 0, on_watch_expired, bw);
    if (timeout_ms > 0 && event_add(&timer, &limit) != 0)
        ergon_watch_stop(b->watch);
    while (!b->done)
        event_base_loop(b->base, EVLOOP_ONCE);
    event_del(&timer);
}

enum ergon_end ergon_blocking_watch(struct ergon_blocking *b, const char *id, uint64_t from,
                                    uint32_t timeout_ms, ergon_event_fn *on_event, void *arg,
                                    const struct ergon_answer **answer)
{
    struct blocking_watch bw = {.blocking = b, .on_event = on_event, .arg = arg};
    b->done = false;
    *answer = &b->answer;
    if (take_interrupt(b))
        return b->answer.outcome;
    b->watch = ergon_client_watch(b->client, id, from, on_watched_event, on_watch_end, &bw);
    if (b->watch != NULL)
        run_watch(b, &bw, timeout_ms);
    else
        fail_answer(b, ERGON_END_INVALID, "an id has at most 63 bytes (or memory is out)");
    return b->answer.outcome;
}

enum ergon_end ergon_blocking_notify(struct ergon_blocking *b, const char *method,
                                     struct ergon_raw params)
{
    enum ergon_end outcome = ergon_client_notify(b->client, method, params);
    if (outcome != ERGON_END_OK)
        return outcome;
    b->failed = false;
    while (!b->failed && (b->client->calls.counts[CALL_WAITING] > 0 ||
                          buffer_length(&b->client->connection.out) > 0))
        event_base_loop(b->base, EVLOOP_ONCE);
    return b->failed ? ERGON_END_UNREACHABLE : ERGON_END_OK;
}

void ergon_blocking_close(struct ergon_blocking *b)
{
    if (b == NULL)
        return;
    ergon_client_free(b->client);
    if (b->interrupted != NULL)
        event_free(b->interrupted);
    if (b->base != NULL)
        event_base_free(b->base);
    if (b->interrupts >= 0)
        close(b->interrupts);
    buffer_fini(&b->kept);
    free(b);
}
