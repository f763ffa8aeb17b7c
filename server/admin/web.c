/* A request: first the checks that each request has to pass, then the handler that answers it. */
#include "server/admin/web.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/admin/http_reply.h"
#include "server/admin/api.h"
#include "server/admin/evhttp_errors.h"
#include "server/admin/files.h"
#include "server/admin/framing.h"
#include "server/admin/host_check.h"
#include "server/admin/live.h"
#include "server/admin/monitoring.h"
#include "server/admin/request.h"
#include "server/net/stream/tls_bare.h"

/* ---- the handlers ---- */

enum { READS = EVHTTP_REQ_GET | EVHTTP_REQ_HEAD, CHANGES = EVHTTP_REQ_POST | EVHTTP_REQ_DELETE };

static const struct route {
    const char *path;
    int methods; /* enum evhttp_cmd_type */
    bool anyhow; /* by whatever name it is called: it tells nothing that is secret */
    void (*serve)(struct web_listener *l, struct evhttp_request *req);
} routes[] = {
    {"/healthz", READS, true, monitoring_healthz},
    {"/readyz", READS, true, monitoring_readyz},
    {"/metrics", READS, false, monitoring_metrics},
    {"/debug/topology", EVHTTP_REQ_GET, false, monitoring_topology},
    {"/api/session", EVHTTP_REQ_GET, false, api_session_get},
    {"/api/session", EVHTTP_REQ_POST, false, api_session_post},
    {"/api/session", EVHTTP_REQ_DELETE, false, api_session_delete},
    {"/api/call", EVHTTP_REQ_POST, false, api_call},
    {"/api/live", EVHTTP_REQ_GET, false, live_get},
    {"/api/live", EVHTTP_REQ_POST, false, live_post},
};

static void serve_file(struct evhttp_request *req, int method, const char *path, bool known)
{
    if (known || (method & READS) == 0)
        reply_refusal(req, HTTP_BADMETHOD, "BAD_REQUEST", "this is not asked so");
    else if (!files_answer(req, path))
        reply_error(req, "NOT_FOUND", "there is no such page");
}

/* ---- the checks ---- */

static bool is_name_of_ours(const struct web_listener *l, const char *name, const char *local)
{
    return host_is_ours(name, &l->url, *local ? local : NULL, (const char *const *)l->web->hosts,
                        l->web->host_count);
}

/* By its Host, and by the name in its first line, if that has one. */
static bool is_called_right(struct web_listener *l, struct evhttp_request *req)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *named = uri ? evhttp_uri_get_host(uri) : NULL;
    char local[64];

    request_local_address(req, local, sizeof local);
    return is_name_of_ours(l, request_header(req, "Host"), local) &&
           (!named || is_name_of_ours(l, named, local));
}

static bool is_from_us(struct evhttp_request *req, int method)
{
    return (method & CHANGES) == 0 ||
           origin_is_ours(request_header(req, "Origin"), request_header(req, "Host"));
}

static void dispatch(struct web_listener *l, struct evhttp_request *req, const char *path)
{
    int method = (int)evhttp_request_get_command(req);
    const struct route *found = NULL;
    bool known = false;

    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(path, routes[i].path) != 0)
            continue;
        known = true;
        if (routes[i].methods & method)
            found = &routes[i];
    }
    if (!(found && found->anyhow) && !is_called_right(l, req))
        reply_refusal(req, 421, "DENIED",
                      "this server is not called so: see admin.hosts of its configuration");
    else if (!is_from_us(req, method))
        reply_refusal(req, 403, "DENIED", "this request comes from another page than ours");
    else if (found)
        found->serve(l, req);
    else
        serve_file(req, method, path, known);
}

/* ---- certificates ---- */

static bool is_distrusted(struct bufferevent *bev, void *arg)
{
    const struct web_listener *l = arg;
    const struct ssl_st *ssl = bufferevent_openssl_get_ssl(bev);

    return ssl && tls_bare_distrusted(ssl, l->tls) != NULL;
}

/* Takes over what a reload brought.  Whose certificate counts no more loses connection and session.
 * False: there was none. */
static bool renew_certificate(struct web_listener *l)
{
    struct tls_context *was = l->tls, *next;

    if (!atomic_load_explicit(&l->tls_next, memory_order_relaxed))
        return false;
    next = atomic_exchange_explicit(&l->tls_next, NULL, memory_order_acquire);
    if (!next)
        return false;
    l->tls = next;
    if (!tls_same_trust(was, next)) {
        api_end_distrusted(l);
        connections_end(&l->web->connections, l, is_distrusted, l);
    }
    tls_context_unref(was); /* connections have references of their own */
    return true;
}

/* ---- requests ---- */

static struct bufferevent *stream_of(struct evhttp_request *req)
{
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
}

static void on_answered(struct evhttp_request *req, void *arg)
{
    struct web_listener *l = arg;
    const struct evhttp_connection *connection = evhttp_request_get_connection(req);

    if (connection)
        connections_enter(&l->web->connections, stream_of(req), HTTP_READS, clock_monotonic());
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct web_listener *l = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    const char *doubt = connections_doubt(&l->web->connections, stream_of(req));

    if (!doubt)
        doubt = framing_doubt(evhttp_request_get_input_headers(req),
                              evhttp_request_get_command(req) == EVHTTP_REQ_POST);

    connections_enter(&l->web->connections, stream_of(req), HTTP_ANSWERS, clock_monotonic());
    evhttp_request_set_on_complete_cb(req, on_answered, l);
    if (doubt)
        reply_last(req, HTTP_BADREQUEST, "BAD_REQUEST", doubt);
    else if (l->tls && !bufferevent_openssl_get_ssl(stream_of(req)))
        reply_refusal(req, HTTP_SERVUNAVAIL, "MEMORY", "out of memory");
    else if (renew_certificate(l) && is_distrusted(stream_of(req), l))
        reply_last(req, 401, "AUTH", "the client certificate counts no more");
    else
        dispatch(l, req, path && *path ? path : "/");
}

/* ---- connections ---- */

static struct bufferevent *new_stream(struct web_listener *l)
{
    renew_certificate(l);
    struct ssl_st *ssl = l->tls ? tls_bare_new(l->tls) : NULL;

    if (!ssl)
        return bufferevent_socket_new(l->web->base, -1, BEV_OPT_CLOSE_ON_FREE);
    struct bufferevent *bev = bufferevent_openssl_socket_new(
        l->web->base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

static void watch(struct web *w, bool accepts)
{
    for (uint32_t i = 0; i < w->count; i++) {
        struct evconnlistener *l = w->listeners[i].accepts;
        if (l && accepts)
            evconnlistener_enable(l);
        else if (l)
            evconnlistener_disable(l);
    }
}

/* evhttp has accepted a connection, and asks for its stream. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
    struct web_listener *l = arg;
    struct bufferevent *bev = new_stream(l);
    const struct http_connection *c =
        bev ? connections_add(&l->web->connections, bev, l, clock_monotonic()) : NULL;

    (void)base;
    if (c)
        evhttp_errors_replace(c);
    if (connections_full(&l->web->connections))
        watch(l->web, false);
    return bev;
}

static void go_on(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    evconnlistener_enable(arg);
}

/* No descriptor is left: waiting is all that helps. */
static void on_accept_error(struct evconnlistener *accepts, void *arg)
{
    const struct timeval pause = {.tv_sec = 1};

    (void)arg;
    if (event_base_once(evconnlistener_get_base(accepts), -1, EV_TIMEOUT, go_on, accepts, &pause) ==
        0)
        evconnlistener_disable(accepts);
}

bool web_serve(struct web_listener *l)
{
    int fd = fcntl(l->socket.fd, F_DUPFD_CLOEXEC, 0); /* evhttp closes it */
    ao_time time = l->web->connections.request_time;
    const struct timeval silence = {.tv_sec = (time_t)(time / AO_S(1)),
                                    .tv_usec = (suseconds_t)(time % AO_S(1) / AO_US(1))};
    struct evhttp_bound_socket *bound;

    l->http = evhttp_new(l->web->base);
    if (!l->http || fd < 0)
        return false;
    evhttp_set_bevcb(l->http, on_connection, l);
    evhttp_set_gencb(l->http, on_request, l);
    evhttp_set_timeout_tv(l->http, &silence);
    evhttp_set_max_headers_size(l->http, WEB_HEADERS_MAX);
    evhttp_set_max_body_size(l->http, WEB_BODY_MAX);
    evhttp_set_allowed_methods(l->http, READS | CHANGES);
    evhttp_set_default_content_type(l->http, NULL);
    bound = evhttp_accept_socket_with_handle(l->http, fd);
    if (!bound) {
        close(fd);
        return false;
    }
    l->accepts = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(l->accepts, on_accept_error);
    return true;
}

/* ---- its life ---- */

void web_sweep(struct web *w)
{
    uint32_t before = w->connections.count;

    connections_sweep(&w->connections);
    if (w->connections.count < before)
        watch(w, true);
}

bool web_tick(struct web *w)
{
    struct session *over;
    ao_time now = clock_monotonic();

    for (uint32_t i = 0; i < w->count; i++)
        renew_certificate(&w->listeners[i]);
    while ((over = sessions_expired(&w->sessions, now)))
        api_end_session(over);
    lives_tick(w);
    connections_tick(&w->connections, now);
    watch(w, !connections_full(&w->connections));
    return w->connections.count > 0 || sessions_any(&w->sessions);
}

void web_close(struct web *w)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (*w->sessions.at[i].id)
            api_end_session(&w->sessions.at[i]);
    gateway_end(&w->gateway);
    lives_close(w);
    for (uint32_t i = 0; i < w->count; i++) {
        struct web_listener *l = &w->listeners[i];
        if (l->http)
            evhttp_free(l->http);
        l->http = NULL;
        l->accepts = NULL;
    }
    connections_sweep(&w->connections);
}
