#include "client/lib/client.h"

#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/reader.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_METHOD_ROOM = 256 }; /* bytes of the refusal of a server's request */

static void free_call(struct call *call)
{
    if (call->timed)
        event_del(&call->timer);
    free(call->frame);
    free(call);
}

/* `call` is unlisted: this is the one callback it gets. */
static void end_call(struct call *call, const struct ergon_answer *answer)
{
    ergon_answer_fn *fn = call->fn;
    void *arg = call->arg;
    free_call(call);
    if (fn != NULL)
        fn(arg, answer);
}

static void end_with(struct call *call, enum ergon_end outcome, const char *why)
{
    end_call(call, &(struct ergon_answer){.outcome = outcome, .code = "", .text = why});
}

void requests_detach(struct ergon_client *c, enum call_place place, struct call_list *to)
{
    struct call_list *from = place == CALL_WAITING ? &c->calls.waiting : &c->calls.in_flight;
    struct call *call;
    while ((call = TAILQ_FIRST(from)) != NULL) {
        calls_remove(&c->calls, call);
        if (call->timed)
            event_del(&call->timer); /* it must not end the call a second time */
        TAILQ_INSERT_TAIL(to, call, link);
    }
}

void requests_end(struct call_list *ending, enum ergon_end outcome, const char *why)
{
    struct call *call;
    while ((call = TAILQ_FIRST(ending)) != NULL) {
        TAILQ_REMOVE(ending, call, link);
        end_with(call, outcome, why);
    }
}

/* ---- cancel and timeout ---- */

/* Not sending it costs the server some work and nothing else, so a lack of memory is ignored. */
static void tell_cancelled(struct ergon_client *c, const struct call *call)
{
    uint8_t params[ENC_HEAD_MAX + ENC_INT_MAX];
    uint8_t *p = enc_uint(enc_array(params, 1), (uint32_t)call->id);
    if (c->state != ERGON_STATE_READY)
        return;
    if (frame_notification(&c->link.out, span_text("server.cancel"),
                           span_of(params, (size_t)(p - params))))
        link_flush(&c->link);
}

static void give_up(struct ergon_client *c, struct call *call, enum ergon_end outcome,
                    const char *why)
{
    bool sent = call->place == CALL_IN_FLIGHT;
    calls_remove(&c->calls, call);
    if (sent)
        tell_cancelled(c, call);
    end_with(call, outcome, why);
}

static void on_call_timer(evutil_socket_t fd, short what, void *arg)
{
    struct call *call = arg;
    struct ergon_client *c = call->owner;
    (void)fd;
    (void)what;
    client_enter(c);
    give_up(c, call, ERGON_END_TIMEOUT,
            call->place == CALL_IN_FLIGHT ? "no answer within the time limit of the call"
                                          : "no connection within the time limit of the call");
    client_leave(c);
}

bool ergon_client_cancel(struct ergon_client *c, ergon_call_id id)
{
    struct call *call = id != 0 ? calls_by_id(&c->calls, id) : NULL;
    if (call == NULL)
        return false;
    client_enter(c);
    give_up(c, call, ERGON_END_CANCELLED, "cancelled by the caller");
    client_leave(c);
    return true;
}

/* ---- submitting ---- */

static bool whole_value(struct span params)
{
    struct scan_limits limits = {UINT32_MAX, SCAN_DEPTH_CAP};
    struct scanner scanner;
    if (params.len == 0)
        return true;
    scanner_init(&scanner);
    return scanner_run(&scanner, &limits, params) == SCAN_WHOLE && scanner.done == params.len;
}

static bool acceptable(const struct ergon_client *c, struct span method, struct span params)
{
    return !c->doomed && method.len >= 1 && method.len <= METHOD_NAME_MAX &&
           params.len <= UINT32_MAX && whole_value(params) &&
           c->calls.named < c->options.calls_max && c->calls.waiting_count < c->options.calls_max;
}

static bool write_frame(struct buffer *to, const struct call *call, struct span method,
                        struct span params)
{
    return call->id != 0 ? frame_request(to, (uint32_t)call->id, method, params)
                         : frame_notification(to, method, params);
}

/* Puts the message of a new call where its place demands. */
static bool place_frame(struct ergon_client *c, struct call *call, struct span method,
                        struct span params)
{
    struct buffer own = {0};
    if (call->place == CALL_IN_FLIGHT) {
        if (!write_frame(&c->link.out, call, method, params))
            return false;
        link_flush(&c->link);
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
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    if (ms == 0)
        return true;
    event_assign(&call->timer, c->base, -1, 0, on_call_timer, call);
    call->timed = event_add(&call->timer, &limit) == 0;
    return call->timed;
}

static struct call *new_call(struct ergon_client *c, ergon_call_id id, struct span method,
                             struct span params, uint32_t timeout_ms)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->owner = c;
    call->id = id;
    call->place = c->state == ERGON_STATE_READY ? CALL_IN_FLIGHT : CALL_WAITING;
    if (start_timer(c, call, timeout_ms) && place_frame(c, call, method, params))
        return call;
    free_call(call);
    return NULL;
}

ergon_call_id ergon_client_call(struct ergon_client *c, const char *method, struct ergon_raw params,
                                uint32_t timeout_ms, ergon_answer_fn *fn, void *arg)
{
    struct span name = span_text(method);
    struct span value = span_of(params.at, params.len);
    if (!acceptable(c, name, value))
        return 0;
    struct call *call = new_call(c, calls_next_id(&c->calls), name, value,
                                 timeout_ms > 0 ? timeout_ms : c->options.call_timeout_ms);
    if (call == NULL)
        return 0;
    ergon_call_id id = call->id;
    call->fn = fn;
    call->arg = arg;
    calls_add(&c->calls, call);
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
    struct call *call = new_call(c, 0, name, value, 0);
    if (call == NULL)
        return ERGON_END_MEMORY;
    if (call->place == CALL_IN_FLIGHT) {
        free_call(call);
        return ERGON_END_OK;
    }
    calls_add(&c->calls, call);
    ergon_client_connect(c);
    return ERGON_END_OK;
}

void requests_send_waiting(struct ergon_client *c)
{
    struct call *call;
    while ((call = TAILQ_FIRST(&c->calls.waiting)) != NULL) {
        if (!buffer_append(&c->link.out, span_of(call->frame, call->frame_len))) {
            calls_remove(&c->calls, call);
            end_with(call, ERGON_END_MEMORY, "out of memory");
            continue;
        }
        free(call->frame);
        call->frame = NULL;
        if (call->id != 0) {
            calls_sent(&c->calls, call);
        } else {
            calls_remove(&c->calls, call);
            free_call(call);
        }
    }
    if (buffer_length(&c->link.out) > 0)
        link_flush(&c->link);
}

/* ---- server.auth ---- */

static void on_authenticated(void *arg, const struct ergon_answer *answer)
{
    struct ergon_client *c = arg;
    if (answer->outcome == ERGON_END_OK) {
        client_ready(c);
    } else if (answer->outcome == ERGON_END_ERROR) {
        char why[sizeof c->why];
        snprintf(why, sizeof why, "the server refused the token: %s", answer->text);
        client_down(c, ERGON_END_DENIED, why);
    } /* else the connection is going down, and whoever takes it down says why */
}

void requests_authenticate(struct ergon_client *c)
{
    struct span token = span_text(c->options.token);
    struct buffer params = {0};
    struct call *call = calloc(1, sizeof *call);
    uint8_t *p = buffer_reserve(&params, 2 * ENC_HEAD_MAX + token.len);
    if (call == NULL || p == NULL)
        goto no_memory;
    p = enc_str(enc_array(p, 1), token);
    buffer_filled(&params, (size_t)(p - params.at));
    *call = (struct call){.id = calls_next_id(&c->calls),
                          .place = CALL_IN_FLIGHT,
                          .owner = c,
                          .fn = on_authenticated,
                          .arg = c};
    if (!place_frame(c, call, span_text("server.auth"), buffer_span(&params)))
        goto no_memory;
    calls_add(&c->calls, call);
    explicit_bzero(params.at, params.cap);
    buffer_fini(&params);
    return;
no_memory:
    buffer_fini(&params);
    free(call);
    client_down(c, ERGON_END_UNREACHABLE, "out of memory");
}

/* ---- messages ---- */

static void on_response(struct ergon_client *c, const struct envelope *e)
{
    static const uint8_t nil = 0xc0;
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
    struct error_text said;
    if (e->error.len == 1 && *e->error.at == nil) {
        answer.result = (struct ergon_raw){e->result.at, e->result.len};
    } else {
        error_text_read(e->error, &said);
        answer.outcome = ERGON_END_ERROR;
        answer.error = (struct ergon_raw){e->error.at, e->error.len};
        answer.code = said.code;
        answer.text = said.text;
    }
    end_call(call, &answer);
}

/* A peer that asks must be answered, or it waits for ever. */
static void on_request(struct ergon_client *c, const struct envelope *e)
{
    c->stats.unasked++;
    uint8_t *p = buffer_reserve(&c->link.out, NO_METHOD_ROOM);
    if (p == NULL)
        return;
    struct error_answer refusal = {.code = ERGON_E_NO_METHOD,
                                   .text = span_text("a client has no methods")};
    uint8_t *end = enc_error_response(p, NO_METHOD_ROOM, e->msgid, ERROR_SHAPE_TEXT, &refusal);
    buffer_filled(&c->link.out, (size_t)(end - p));
    link_flush(&c->link);
}

void requests_message(struct ergon_client *c, struct span message)
{
    struct envelope e;
    const char *why = NULL;
    if (envelope_read(message, &e, &why) != ENVELOPE_OK) {
        char text[160];
        snprintf(text, sizeof text, "the server does not speak MessagePack-RPC: %s", why);
        client_down(c, ERGON_END_UNREACHABLE, text);
        return;
    }
    /* Not when it is connected: a server at its limit accepts, says nothing and closes. */
    c->attempt = 0;
    switch (e.type) {
    case ENVELOPE_RESPONSE:
        on_response(c, &e);
        return;
    case ENVELOPE_REQUEST:
        on_request(c, &e);
        return;
    case ENVELOPE_NOTIFICATION:
        c->stats.unasked++;
        return;
    }
}
