#include "server/admin/gateway.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/json_value.h"

struct gateway_peer {
    LIST_ENTRY(gateway_peer) link;
    const struct gateway *gateway;
    struct ergon_client *client;
    uint32_t listener;
    struct net_origin from;
    const struct gateway_port *port;
    void *arg;
    LIST_HEAD(, gateway_call) calls; /* those that libergon has not ended */
    bool closing;                    /* gateway_close() runs */
    bool open;                       /* `opened` gave a principal, and `lost` was not called */
};

/* One call of libergon, until that has ended it. */
struct gateway_call {
    LIST_ENTRY(gateway_call) link;
    struct gateway_peer *peer; /* NULL: it was closed */
    ergon_call_id id;
    gateway_answer_fn *answered; /* NULL: it has been */
    void *arg;
};

/* ---- its socket ---- */

/* The acceptor gets the other end. */
static int open_socket(void *arg)
{
    const struct gateway_peer *p = arg;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    if (net_adopt(p->gateway->acceptor, p->listener, ends[1], &p->from) == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct gateway_peer *p = arg;

    (void)why;
    if (state != ERGON_STATE_IDLE || !p->open)
        return;
    p->open = false;
    p->port->lost(p->arg);
}

/* ---- answers ---- */

/* What the server said, or what became of the call without it. */
static const char *code_of(const struct ergon_answer *a)
{
    switch (a->outcome) {
    case ERGON_END_ERROR:
        return *a->code ? a->code : "FAILED";
    case ERGON_END_TIMEOUT:
        return "TIMEOUT";
    case ERGON_END_CANCELLED:
        return "CANCELLED";
    case ERGON_END_DENIED:
        return "AUTH";
    case ERGON_END_MEMORY:
        return "MEMORY";
    case ERGON_END_INVALID:
        return "BAD_REQUEST";
    case ERGON_END_OK:
    case ERGON_END_BROKEN:
    case ERGON_END_UNREACHABLE:
    case ERGON_END_CLOSED:
        break;
    }
    return "CLOSED";
}

static json_t *result_of(const struct ergon_answer *a, struct gateway_answer *out)
{
    if (a->result.len > GATEWAY_JSON_MAX) {
        out->code = "TOO_LARGE";
        out->text = "the result is too large for the admin listener";
        return NULL;
    }
    json_t *result = json_value_read(span_of(a->result.at, a->result.len), GATEWAY_BYTES);
    if (!result) {
        out->code = "MEMORY";
        out->text = "out of memory";
    }
    return result;
}

static void on_answer(void *arg, const struct ergon_answer *a)
{
    struct gateway_call *call = arg;
    struct gateway_answer out = {.code = code_of(a), .text = a->text};

    if (call->peer)
        LIST_REMOVE(call, link);
    if (call->answered) {
        if (a->outcome == ERGON_END_OK)
            out.result = result_of(a, &out);
        call->answered(call->arg, &out);
        json_decref(out.result);
    }
    free(call);
}

/* What the server would refuse with the connection, and so with the session, is not sent. */
static bool is_within(const struct scan_limits *limits, const msgpack_sbuffer *params)
{
    enum { ENVELOPE_MAX = 300, ENVELOPE_DEPTH = 1 }; /* of a request: with the method's name */
    const struct scan_limits own = {
        .message_max = limits->message_max > ENVELOPE_MAX ? limits->message_max - ENVELOPE_MAX : 1,
        .depth_max = limits->depth_max - ENVELOPE_DEPTH};
    struct scanner scanner;

    scanner_init(&scanner);
    return scanner_run(&scanner, &own, span_of((const uint8_t *)params->data, params->size)) ==
           SCAN_WHOLE;
}

static struct gateway_call *send_call(struct gateway_peer *p, const char *method,
                                      const msgpack_sbuffer *params, uint32_t ms,
                                      gateway_answer_fn *answered, void *arg)
{
    struct gateway_call *call = malloc(sizeof *call);

    if (!call)
        return NULL;
    *call = (struct gateway_call){.peer = p, .answered = answered, .arg = arg};
    call->id = ergon_client_call(p->client, method, (struct ergon_raw){params->data, params->size},
                                 ms, on_answer, call);
    if (call->id == 0) {
        free(call);
        return NULL;
    }
    LIST_INSERT_HEAD(&p->calls, call, link);
    return call;
}

struct gateway_call *gateway_call(struct gateway_peer *p, const char *method, const json_t *params,
                                  uint32_t ms, gateway_answer_fn *answered, void *arg,
                                  const char **code)
{
    msgpack_sbuffer packed;
    msgpack_packer packer;
    struct gateway_call *call = NULL;

    msgpack_sbuffer_init(&packed);
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    *code = "MEMORY";
    if (!json_value_pack(&packer, params, GATEWAY_BYTES))
        *code = "BAD_PARAMS";
    else if (!is_within(&p->gateway->scan, &packed))
        *code = "TOO_LARGE";
    else
        call = send_call(p, method, &packed, ms, answered, arg);
    msgpack_sbuffer_destroy(&packed);
    return call;
}

/* A peer that was closed from within `lost` leaves calls that libergon ends a moment later, when
 * nobody waits for them. */
void gateway_cancel(struct gateway_call *call)
{
    static const struct gateway_answer cancelled = {NULL, "CANCELLED", "cancelled by the caller"};
    gateway_answer_fn *answered = call->answered;
    void *arg = call->arg;

    call->answered = NULL;
    if (call->peer)
        ergon_client_cancel(call->peer->client, call->id);
    answered(arg, &cancelled);
}

/* ---- its beginning and its end ---- */

/* Nobody yet: the listener asks for a token, and there was none. */
static void refuse(struct gateway_peer *p, const char *code, const char *text)
{
    p->port->opened(p->arg, NULL, code, text);
}

/* The answer to server.hello names the principal of this connection. */
static void on_hello(void *arg, const struct gateway_answer *a)
{
    struct gateway_peer *p = arg;
    const char *principal = json_string_value(json_object_get(a->result, "principal"));

    if (!a->result) {
        refuse(p, a->code, a->text);
    } else if (!principal) {
        refuse(p, "AUTH", "a token is asked for here");
    } else {
        p->open = true;
        p->port->opened(p->arg, principal, NULL, NULL);
    }
}

static bool say_hello(struct gateway_peer *p)
{
    json_t *params = json_array();
    const char *code;
    bool said = params && gateway_call(p, "server.hello", params, 0, on_hello, p, &code);

    json_decref(params);
    return said;
}

struct gateway_peer *gateway_open(struct gateway *g, uint32_t listener,
                                  const struct net_origin *from, const char *token,
                                  const struct gateway_port *port, void *arg)
{
    struct gateway_peer *p = calloc(1, sizeof *p);
    char why[128];

    if (!p)
        return NULL;
    *p = (struct gateway_peer){
        .gateway = g, .listener = listener, .from = *from, .port = port, .arg = arg};
    if (token)
        *p->from.certificate = '\0';
    LIST_INSERT_HEAD(&g->peers, p, link);
    const struct ergon_options options = {.size = sizeof options,
                                          .url = "unix:///here",
                                          .token = token,
                                          .no_reconnect = true,
                                          .connect_timeout_ms = GATEWAY_CONNECT_MS,
                                          .call_timeout_ms = GATEWAY_CONNECT_MS,
                                          .message_max = GATEWAY_MESSAGE_MAX,
                                          .on_state = on_state,
                                          .on_state_arg = p,
                                          .open_socket = open_socket,
                                          .open_socket_arg = p};
    if (ergon_client_new(g->base, &options, &p->client, why, sizeof why) != ERGON_END_OK ||
        !say_hello(p)) {
        gateway_close(p);
        return NULL;
    }
    return p;
}

void gateway_close(struct gateway_peer *p)
{
    struct gateway_call *call;

    if (!p || p->closing)
        return;
    p->closing = true;
    p->open = false;
    LIST_REMOVE(p, link);
    ergon_client_free(p->client);
    LIST_FOREACH(call, &p->calls, link)
    call->peer = NULL;
    free(p);
}

void gateway_end(struct gateway *g)
{
    struct gateway_peer *p;

    while ((p = LIST_FIRST(&g->peers)))
        gateway_close(p);
}
