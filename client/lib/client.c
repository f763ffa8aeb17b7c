/* The asynchronous client: its state, its calls from their submission to their answer, and its
 * life. */
#include "client/lib/client.h"

#include "client/lib/backoff.h"
#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/error_value.h"
#include "proto/reader.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

const char *ergon_end_name(enum ergon_end outcome)
{
    static const char *const names[] = {
        [ERGON_END_OK] = "ok",           [ERGON_END_ERROR] = "error",
        [ERGON_END_TIMEOUT] = "timeout", [ERGON_END_CANCELLED] = "cancelled",
        [ERGON_END_BROKEN] = "broken",   [ERGON_END_UNREACHABLE] = "unreachable",
        [ERGON_END_DENIED] = "denied",   [ERGON_END_CLOSED] = "closed",
        [ERGON_END_INVALID] = "invalid", [ERGON_END_MEMORY] = "memory",
    };
    return (size_t)outcome < sizeof names / sizeof *names ? names[outcome] : "unknown";
}

/* ---- callbacks on the stack ---- */

static void enter(void *arg)
{
    struct ergon_client *c = arg;
    c->depth++;
}

/* Everything that may run a callback stands between enter() and leave().  After leave() the client
 * may be gone. */
static void leave(void *arg)
{
    struct ergon_client *c = arg;
    if (--c->depth > 0 || !c->doomed)
        return;
    connection_fini(&c->connection);
    event_del(&c->timer);
    call_table_fini(&c->calls);
    serve_fini(&c->serve);
    settings_fini(&c->settings);
    free(c);
}

/* ---- state ---- */

static void enter_state(struct ergon_client *c, enum ergon_state state, const char *why)
{
    const struct ergon_options *o = &c->settings.options;
    c->state = state;
    if (o->on_state != NULL && !c->doomed)
        o->on_state(o->on_state_arg, state, why);
}

static struct timeval milliseconds(uint32_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
}

static void start_connecting(struct ergon_client *c)
{
    struct timeval limit = milliseconds(c->settings.options.connect_timeout_ms);
    connection_open(&c->connection);
    event_add(&c->timer, &limit);
    enter_state(c, ERGON_STATE_CONNECTING, "");
}

static uint32_t randomness(void)
{
    uint32_t r = 0;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        r = (uint32_t)getpid(); /* jitter only: worse spread, nothing else */
    return r;
}

/* Starts the timer of the next attempt.  False: there was no memory for the timer, so nothing would
 * ever start another attempt. */
static bool back_off(struct ergon_client *c)
{
    const struct ergon_options *o = &c->settings.options;
    struct timeval delay =
        milliseconds(backoff_delay(c->attempt, o->backoff_min_ms, o->backoff_max_ms, randomness()));
    c->attempt++;
    return event_add(&c->timer, &delay) == 0;
}

/* Ends the attempt or connection: closes it, ends calls as `outcome` demands, backs off or goes
 * IDLE.  What ends is set aside first: callbacks may connect and call again. */
static void go_down(struct ergon_client *c, enum ergon_end outcome, const char *why)
{
    bool closed = outcome == ERGON_END_CLOSED;
    bool reconnect = !c->settings.options.no_reconnect && !closed;
    struct call_list waiting = TAILQ_HEAD_INITIALIZER(waiting);
    struct call_list in_flight = TAILQ_HEAD_INITIALIZER(in_flight);
    char text[sizeof c->why];
    snprintf(text, sizeof text, "%s", why);
    memcpy(c->why, text, sizeof text);
    c->last_outcome = outcome;
    connection_close(&c->connection);
    event_del(&c->timer);
    reconnect = reconnect && back_off(c);
    serve_lost(&c->serve);
    calls_set_aside(&c->calls, CALL_IN_FLIGHT, &in_flight);
    if (!reconnect || outcome == ERGON_END_DENIED)
        calls_set_aside(&c->calls, CALL_WAITING, &waiting);
    if (closed)
        calls_set_aside(&c->calls, CALL_PAUSED, &waiting);
    enter_state(c, reconnect ? ERGON_STATE_BACKING_OFF : ERGON_STATE_IDLE, text);
    serve_tell(&c->serve);
    calls_end(&c->calls, &in_flight, closed ? outcome : ERGON_END_BROKEN, text);
    calls_end(&c->calls, &waiting, outcome, text);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct ergon_client *c = arg;
    (void)fd;
    (void)what;
    enter(c);
    if (c->state == ERGON_STATE_BACKING_OFF)
        start_connecting(c);
    else if (c->state == ERGON_STATE_CONNECTING)
        go_down(c, ERGON_END_UNREACHABLE, "no connection within the connect limit");
    leave(c);
}

void ergon_client_connect(struct ergon_client *c)
{
    if (c->state != ERGON_STATE_IDLE || c->doomed)
        return;
    enter(c);
    start_connecting(c);
    leave(c);
}

enum ergon_state ergon_client_state(const struct ergon_client *c)
{
    return c->state;
}

int ergon_client_socket(const struct ergon_client *c)
{
    return c->state == ERGON_STATE_READY ? c->connection.fd : -1;
}

void ergon_client_stats(const struct ergon_client *c, struct ergon_client_stats *out)
{
    *out = c->stats;
    out->waiting = c->calls.counts[CALL_WAITING];
    out->in_flight = c->calls.counts[CALL_IN_FLIGHT];
}

/* ---- cancel and timeout ---- */

/* Not sending it costs the server some work and nothing else, so a lack of memory is ignored. */
static void tell_cancelled(struct ergon_client *c, const struct call *call)
{
    uint8_t params[ENC_HEAD_MAX + ENC_INT_MAX];
    uint8_t *p = enc_uint(enc_array(params, 1), (uint32_t)call->id);
    if (c->state == ERGON_STATE_READY &&
        frame_notification(&c->connection.out, span_text("server.cancel"),
                           span_of(params, (size_t)(p - params))))
        connection_flush(&c->connection);
}

static void give_up(struct ergon_client *c, struct call *call, enum ergon_end outcome,
                    const char *why)
{
    enter(c);
    bool sent = call->place == CALL_IN_FLIGHT;
    calls_remove(&c->calls, call);
    if (sent)
        tell_cancelled(c, call);
    call_end_as(call, outcome, why);
    leave(c);
}

static void on_call_timer(evutil_socket_t fd, short what, void *arg)
{
    struct call *call = arg;
    (void)fd;
    (void)what;
    give_up(call->owner, call, ERGON_END_TIMEOUT,
            call->place == CALL_IN_FLIGHT ? "no answer within the time limit of the call"
                                          : "no connection within the time limit of the call");
}

bool ergon_client_cancel(struct ergon_client *c, ergon_call_id id)
{
    struct call *call = id != 0 ? calls_by_id(&c->calls, id) : NULL;
    if (call == NULL)
        return false;
    give_up(c, call, ERGON_END_CANCELLED, "cancelled by the caller");
    return true;
}

/* ---- submitting ---- */

static bool acceptable(const struct ergon_client *c, struct span method, struct span params)
{
    uint32_t most = c->settings.options.calls_max;
    return !c->doomed && method.len >= 1 && method.len <= METHOD_NAME_MAX &&
           (params.len == 0 || frame_whole(params)) &&
           c->calls.by_message.count - c->calls.set_aside < most &&
           c->calls.counts[CALL_WAITING] < most;
}

static bool write_frame(struct buffer *to, const struct call *call, struct span method,
                        struct span params)
{
    return call->id != 0 ? frame_request(to, (uint32_t)call->id, method, params)
                         : frame_notification(to, method, params);
}

/* Writes the message of a new call to the connection, or keeps it with the call. */
static bool place_frame(struct ergon_client *c, struct call *call, struct span method,
                        struct span params)
{
    struct buffer own = {0};
    if (call->place == CALL_IN_FLIGHT) {
        if (!write_frame(&c->connection.out, call, method, params))
            return false;
        connection_flush(&c->connection);
        return true;
    }
    if (!write_frame(&own, call, method, params))
        return false;
    call->frame = own.at;
    call->frame_len = own.end;
    return true;
}

/* False: the timer has no memory. */
static bool start_timer(struct ergon_client *c, struct call *call, uint32_t ms)
{
    struct timeval limit = milliseconds(ms);
    if (ms == 0)
        return true;
    event_assign(&call->timer, c->base, -1, 0, on_call_timer, call);
    call->timed = event_add(&call->timer, &limit) == 0;
    return call->timed;
}

/* NULL: out of memory. */
static struct call *submit(struct ergon_client *c, struct call *call, struct span method,
                           struct span params, uint32_t timeout_ms)
{
    if (call == NULL)
        return NULL;
    call->place = c->state == ERGON_STATE_READY ? CALL_IN_FLIGHT : CALL_WAITING;
    if (!start_timer(c, call, timeout_ms) || !place_frame(c, call, method, params)) {
        call_free(call);
        return NULL;
    }
    if (call->place == CALL_WAITING || call->id != 0)
        calls_add(&c->calls, call);
    return call;
}

ergon_call_id ergon_client_call(struct ergon_client *c, const char *method, struct ergon_raw params,
                                uint32_t timeout_ms, ergon_answer_fn *fn, void *arg)
{
    struct span name = span_text(method);
    struct span value = span_of(params.at, params.len);
    if (timeout_ms == 0)
        timeout_ms = c->settings.options.call_timeout_ms;
    if (!acceptable(c, name, value))
        return 0;
    ergon_call_id id = calls_next_id(&c->calls);
    if (submit(c, call_new(c, id, fn, arg), name, value, timeout_ms) == NULL)
        return 0;
    c->stats.calls++;
    ergon_client_connect(c);
    return id;
}

enum ergon_end ergon_client_notify(struct ergon_client *c, const char *method,
                                   struct ergon_raw params)
{
    struct span name = span_text(method);
    struct span value = span_of(params.at, params.len);
    if (!acceptable(c, name, value))
        return ERGON_END_INVALID;
    struct call *call = submit(c, call_new(c, 0, NULL, NULL), name, value, 0);
    if (call == NULL)
        return ERGON_END_MEMORY;
    if (call->place == CALL_IN_FLIGHT)
        call_free(call);
    ergon_client_connect(c);
    return ERGON_END_OK;
}

ergon_call_id client_pause(struct ergon_client *c, uint32_t ms, ergon_answer_fn *fn, void *arg)
{
    struct call *call = c->doomed ? NULL : call_new(c, calls_next_id(&c->calls), fn, arg);
    if (call == NULL)
        return 0;
    call->place = CALL_PAUSED;
    if (!start_timer(c, call, ms)) {
        call_free(call);
        return 0;
    }
    calls_add(&c->calls, call);
    return call->id;
}

/* ---- ready ---- */

static void send_waiting(struct ergon_client *c)
{
    struct call *call;
    while ((call = TAILQ_FIRST(&c->calls.lists[CALL_WAITING])) != NULL) {
        if (!buffer_append(&c->connection.out, span_of(call->frame, call->frame_len))) {
            calls_remove(&c->calls, call);
            call_end_as(call, ERGON_END_MEMORY, "out of memory");
            continue;
        }
        free(call->frame);
        call->frame = NULL;
        if (call->id != 0) {
            calls_sent(&c->calls, call);
        } else {
            calls_remove(&c->calls, call);
            call_free(call);
        }
    }
    if (buffer_length(&c->connection.out) > 0)
        connection_flush(&c->connection);
}

static void go_ready(struct ergon_client *c)
{
    event_del(&c->timer);
    c->stats.connects++;
    send_waiting(c);
    enter_state(c, ERGON_STATE_READY, "");
}

static void on_authenticated(void *arg, const struct ergon_answer *answer)
{
    struct ergon_client *c = arg;
    if (answer->outcome == ERGON_END_OK) {
        go_ready(c);
    } else if (answer->outcome == ERGON_END_ERROR) {
        char why[sizeof c->why];
        snprintf(why, sizeof why, "the server refused the token: %s", answer->text);
        go_down(c, ERGON_END_DENIED, why);
    } /* else the connection is going down, and whoever takes it down says why */
}

/* Sends server.auth, in front of all that waits. */
static bool authenticate(struct ergon_client *c)
{
    struct call *call = call_new(c, calls_next_id(&c->calls), on_authenticated, c);
    if (call == NULL)
        return false;
    if (!frame_auth(&c->connection.out, (uint32_t)call->id, c->settings.options.token)) {
        call_free(call);
        return false;
    }
    call->place = CALL_IN_FLIGHT;
    calls_add(&c->calls, call);
    connection_flush(&c->connection);
    return true;
}

static void on_up(void *owner)
{
    struct ergon_client *c = owner;
    bool good = buffer_append(&c->connection.out, frame_hello());
    if (good && c->settings.options.token == NULL)
        go_ready(c);
    else if (!good || !authenticate(c))
        go_down(c, ERGON_END_UNREACHABLE, "out of memory");
}

static void on_down(void *owner, const char *why)
{
    go_down(owner, ERGON_END_UNREACHABLE, why);
}

/* ---- messages ---- */

static void on_response(struct ergon_client *c, const struct envelope *e)
{
    struct reader r = reader_of(e->msgid);
    uint64_t id;
    struct call *call = NULL;
    if (read_uint(&r, &id) && id <= UINT32_MAX)
        call = calls_by_message(&c->calls, (uint32_t)id);
    if (call == NULL || call->place != CALL_IN_FLIGHT) {
        c->stats.unknown_ids++;
        return;
    }
    c->stats.answers++;
    calls_remove(&c->calls, call);
    struct ergon_answer answer = {.outcome = ERGON_END_OK, .code = "", .text = ""};
    struct error_value said;
    if (!envelope_is_error(e)) {
        answer.result = (struct ergon_raw){e->result.at, e->result.len};
    } else {
        error_value_read(e->error, &said);
        answer.outcome = ERGON_END_ERROR;
        answer.error = (struct ergon_raw){e->error.at, e->error.len};
        answer.code = said.code;
        answer.text = said.text;
    }
    call_end(call, &answer);
}

/* The server says why it closes the connection, which is the last that it says. */
static void on_closing(struct ergon_client *c, struct span params)
{
    struct error_value said;
    char why[sizeof c->why];
    error_value_read(params, &said);
    snprintf(why, sizeof why, "the server closes the connection: %.300s", said.text);
    connection_break(&c->connection, why);
}

static void on_message(void *owner, struct span message, const struct envelope *known)
{
    struct ergon_client *c = owner;
    struct envelope e;
    const char *why = NULL;
    if (known == NULL && envelope_read(message, &e, &why) != ENVELOPE_OK) {
        char text[160];
        snprintf(text, sizeof text, "the server does not speak MessagePack-RPC: %s", why);
        go_down(c, ERGON_END_UNREACHABLE, text);
        return;
    }
    known = known != NULL ? known : &e;
    bool closes = known->type == ENVELOPE_NOTIFICATION && span_is(known->method, "server.closing");
    /* Not when it is connected: a server at its limit accepts, says so or nothing, and closes; and
     * one that refuses the token answers, too. */
    if (c->state == ERGON_STATE_READY && !closes)
        c->attempt = 0;
    switch (known->type) {
    case ENVELOPE_RESPONSE:
        on_response(c, known);
        return;
    case ENVELOPE_REQUEST:
        if (!serve_request(&c->serve, known, c->state == ERGON_STATE_READY))
            c->stats.unasked++;
        return;
    case ENVELOPE_NOTIFICATION:
        if (closes)
            on_closing(c, known->params);
        if (!serve_notification(&c->serve, known))
            c->stats.unasked++;
        return;
    }
}

/* ---- life ---- */

enum ergon_end ergon_client_new(struct event_base *base, const struct ergon_options *options,
                                struct ergon_client **out, char *why, size_t why_size)
{
    static const struct connection_port port = {enter, on_up, on_message, on_down, leave};
    *out = NULL;
    struct ergon_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, why_size, "out of memory");
        return ERGON_END_MEMORY;
    }
    enum ergon_end outcome = settings_init(&c->settings, options, why, why_size);
    if (outcome == ERGON_END_OK && base == NULL) {
        snprintf(why, why_size, "an event base is required");
        outcome = ERGON_END_INVALID;
    }
    if (outcome != ERGON_END_OK) {
        settings_fini(&c->settings);
        free(c);
        return outcome;
    }
    c->base = base;
    call_table_init(&c->calls);
    connection_init(&c->connection, base, &c->settings, &port, c);
    serve_init(&c->serve, &c->connection);
    event_assign(&c->timer, base, -1, 0, on_timer, c);
    *out = c;
    return outcome;
}

void ergon_client_free(struct ergon_client *c)
{
    if (c == NULL || c->doomed)
        return;
    enter(c);
    c->doomed = true;
    go_down(c, ERGON_END_CLOSED, "the client was freed");
    leave(c);
}
