#include "server/admin/api.h"

#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/admin/http_reply.h"
#include "server/admin/request.h"
#include "server/net/stream/tls_bare.h"

/* ---- sessions ---- */

/* A client that opens a session. */
struct guest {
    const struct web_listener *listener;
    struct gateway_peer *peer;
    struct evhttp_request *req; /* POST /api/session; NULL: answered */
    struct session *session;    /* NULL: not yet */
    struct tls_shown *shown;    /* the certificate by which it came; NULL: it did otherwise */
};

struct gateway_peer *api_peer(const struct session *s)
{
    return ((const struct guest *)s->user)->peer;
}

static void guest_free(struct guest *g)
{
    gateway_close(g->peer);
    tls_shown_free(g->shown);
    free(g);
}

void api_end_session(struct session *s)
{
    guest_free(s->user);
    session_end(s);
}

void api_end_distrusted(const struct web_listener *l)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session *s = &l->web->sessions.at[i];
        const struct guest *g = *s->id ? s->user : NULL;
        const char *why =
            g && g->listener == l && g->shown ? tls_shown_distrusted(g->shown, l->tls) : NULL;
        if (!why)
            continue;
        log_warn("admin session ended", LOG_STR("principal", s->principal), LOG_STR("reason", why));
        api_end_session(s);
    }
}

static void set_cookie(const struct web_listener *l, struct evhttp_request *req, const char *id,
                       const char *more)
{
    char text[256], name[REQUEST_COOKIE_SIZE];

    snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
             request_cookie(req, name), id, l->url.scheme == URL_TLS ? "; Secure" : "", more);
    evhttp_add_header(evhttp_request_get_output_headers(req), "Set-Cookie", text);
}

static void answer_session(struct evhttp_request *req, const struct session *s)
{
    reply_json(req, HTTP_OK,
               json_pack_ex(NULL, 0, "{s:s,s:s}", "principal", s->principal, "csrf", s->csrf));
}

/* The page asks at each load, so this is no error: browsers report each to the console.  `token`:
 * without one no session can be opened. */
static void answer_no_session(struct evhttp_request *req, bool token)
{
    reply_json(req, HTTP_OK, json_pack_ex(NULL, 0, "{s:n,s:b}", "principal", "token", token));
}

static void welcome(struct guest *g, const char *principal)
{
    struct web *w = g->listener->web;
    struct session *surplus;
    struct evhttp_request *req = g->req;

    if (g->shown && tls_shown_distrusted(g->shown, g->listener->tls)) { /* a reload came between */
        reply_error(req, "AUTH", "the client certificate counts no more");
        guest_free(g);
        return;
    }
    surplus = sessions_surplus(&w->sessions, principal);
    if (surplus)
        api_end_session(surplus);
    g->session = session_open(&w->sessions, principal, g->listener->index, clock_monotonic());
    if (!g->session) {
        reply_error(req, "BUSY", "there are too many sessions");
        guest_free(g);
        return;
    }
    g->session->user = g;
    g->session->by_certificate = g->shown != NULL;
    g->req = NULL;
    log_info("admin session opened", LOG_STR("principal", principal));
    set_cookie(g->listener, req, g->session->id, "");
    answer_session(req, g->session);
}

/* gateway_port */
static void on_opened(void *arg, const char *principal, const char *code, const char *text)
{
    struct guest *g = arg;

    if (principal) {
        welcome(g, principal);
        return;
    }
    reply_error(g->req, code, text);
    guest_free(g);
}

/* Its rights have ended, it was closed by an overseer, or the server drains. */
static void on_lost(void *arg)
{
    const struct guest *g = arg;

    api_end_session(g->session);
}

/* Not one that would seem shorter than it is. */
static bool is_plain_text(const json_t *value)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

void api_session_post(struct web_listener *l, struct evhttp_request *req)
{
    static const struct gateway_port port = {.opened = on_opened, .lost = on_lost};
    struct guest *g = NULL;
    json_t *body = request_json(req);

    if (!body)
        return;
    if (!request_reaches(l->web, req))
        goto done;
    const json_t *token = json_object_get(body, "token");
    if (token && !is_plain_text(token)) {
        reply_error(req, "BAD_REQUEST", "\"token\" is to be a token");
        goto done;
    }
    struct net_origin from;
    if (!request_origin(l, req, &from))
        goto done;
    g = calloc(1, sizeof *g);
    if (g) {
        *g = (struct guest){.listener = l, .req = req};
        bool by_certificate = !token && *from.certificate;
        if (by_certificate)
            g->shown = tls_shown_of(request_tls(req));
        if (!by_certificate || g->shown)
            g->peer =
                gateway_open(&l->web->gateway, l->index, &from, json_string_value(token), &port, g);
    }
    if (!g || !g->peer) {
        if (g)
            guest_free(g);
        reply_error(req, "MEMORY", "out of memory");
    }
done:
    json_decref(body);
}

static void refuse_stranger(struct evhttp_request *req)
{
    reply_error(req, "AUTH", "there is no session: it has ended, or was never opened");
}

void api_session_get(struct web_listener *l, struct evhttp_request *req)
{
    const struct session *s = request_session(l, req);
    struct net_origin from;

    if (s)
        answer_session(req, s);
    else if (request_origin(l, req, &from))
        answer_no_session(req, l->auth == LISTENER_AUTH_TOKEN ||
                                   (l->auth == LISTENER_AUTH_CERT && !*from.certificate));
}

struct session *api_trusted_session(const struct web_listener *l, struct evhttp_request *req)
{
    struct session *s = request_session(l, req);

    if (!s)
        refuse_stranger(req);
    else if (!session_knows(s, request_header(req, "X-Ergon-CSRF")))
        reply_error(req, "DENIED", "X-Ergon-CSRF does not say what the session's answer said");
    else
        return s;
    return NULL;
}

void api_session_delete(struct web_listener *l, struct evhttp_request *req)
{
    struct session *s = api_trusted_session(l, req);

    if (!s)
        return;
    api_end_session(s);
    set_cookie(l, req, "", "; Max-Age=0");
    reply_json(req, HTTP_OK, json_object());
}

/* ---- calls ---- */

struct api_call {
    struct evhttp_request *req;
    struct session *session;
    struct event *vanishes; /* the HTTP client goes away; NULL: not watched */
    struct gateway_call *call;
};

/* Nobody is there to read the answer, which evhttp finds out when it writes it. */
static void on_vanished(evutil_socket_t fd, short what, void *arg)
{
    const struct api_call *c = arg;

    (void)fd;
    (void)what;
    gateway_cancel(c->call);
}

static void api_call_free(struct api_call *c)
{
    if (c->vanishes)
        event_free(c->vanishes);
    free(c);
}

static void on_answer(void *arg, const struct gateway_answer *a)
{
    struct api_call *c = arg;

    if (*c->session->id) /* it may have ended just now, and this with it */
        c->session->calls--;
    if (a->result)
        reply_json(c->req, HTTP_OK, json_pack_ex(NULL, 0, "{s:O}", "result", a->result));
    else
        reply_error(c->req, a->code, a->text);
    api_call_free(c);
}

/* A method that changes the connection's framing or principal would change the session's. */
static bool is_of_connection(const char *method)
{
    static const char *const names[] = {"server.hello", "server.auth", "server.cancel",
                                        "worker.register"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(method, names[i]) == 0)
            return true;
    return false;
}

/* NULL, or what is wrong with it. */
static const char *take_call(const json_t *body, const char **method, json_t **params)
{
    const json_t *name = json_object_get(body, "method");

    *method = json_string_value(name);
    *params = json_object_get(body, "params");
    if (!is_plain_text(name) || !**method)
        return "\"method\" is to be the name of a method";
    if (*params && !json_is_array(*params))
        return "\"params\" is to be a list";
    return NULL;
}

static const char *why_not(const char *code)
{
    if (strcmp(code, "BAD_PARAMS") == 0)
        return "the parameters are nested too deeply, or their base64 is bad";
    if (strcmp(code, "TOO_LARGE") == 0)
        return "the parameters are larger, or nested more deeply, than a message may be";
    return "out of memory, or the name of the method is too long";
}

static void begin_call(const struct web *w, struct session *s, struct evhttp_request *req,
                       const char *method, const json_t *params)
{
    struct api_call *c = malloc(sizeof *c);
    const char *code = "MEMORY";

    if (c) {
        *c = (struct api_call){.req = req, .session = s};
        c->call = gateway_call(api_peer(s), method, params, w->call_ms, on_answer, c, &code);
    }
    if (c && c->call) {
        c->vanishes = request_vanishes(req, on_vanished, c);
        s->calls++;
        return;
    }
    free(c);
    reply_error(req, code, why_not(code));
}

void api_call(struct web_listener *l, struct evhttp_request *req)
{
    struct session *s = api_trusted_session(l, req);
    json_t *body = s ? request_json(req) : NULL, *params;
    const char *method;

    if (!body)
        return;
    const char *wrong = take_call(body, &method, &params);
    json_t *list = params ? json_incref(params) : json_array();
    if (wrong)
        reply_error(req, "BAD_REQUEST", wrong);
    else if (is_of_connection(method))
        reply_error(req, "DENIED",
                    "this method is about a connection, and here that is the session's");
    else if (s->calls >= WEB_CALLS_A_SESSION)
        reply_error(req, "BUSY", "the session has too many calls under way");
    else
        begin_call(l->web, s, req, method, list);
    json_decref(list);
    json_decref(body);
}
