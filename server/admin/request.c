#include "server/admin/request.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "server/admin/http_reply.h"
#include "server/system/health.h"
#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/stream/tls_bare.h"

const char *request_header(struct evhttp_request *req, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(req), name);
}

/* ---- whose it is ---- */

const char *request_cookie(struct evhttp_request *req, char name[static REQUEST_COOKIE_SIZE])
{
    const char *host = request_header(req, "Host"), *port = host ? strrchr(host, ':') : NULL;
    size_t digits = port ? strspn(port + 1, "0123456789") : 0;
    bool is_port = digits > 0 && digits <= 5 && port[1 + digits] == '\0';

    snprintf(name, REQUEST_COOKIE_SIZE, "ergon_session%s%s", is_port ? "_" : "",
             is_port ? port + 1 : "");
    return name;
}

const struct ssl_st *request_tls(struct evhttp_request *req)
{
    return bufferevent_openssl_get_ssl(
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(req)));
}

/* If the session was opened by a certificate: does the connection show one of that name, at the
 * listener that believed it?  Another may believe others. */
static bool shows_certificate(const struct session *s, const struct web_listener *l,
                              struct evhttp_request *req)
{
    char name[NET_NAME_MAX], full[SESSION_PRINCIPAL_MAX];
    const struct ssl_st *ssl = request_tls(req);

    if (!s->by_certificate)
        return true;
    if (s->listener != l->index || !ssl || tls_bare_name(ssl, name, sizeof name) != TLS_NAME_FOUND)
        return false;
    principal_full_name(PRINCIPAL_CERT, name, full, sizeof full);
    return strcmp(full, s->principal) == 0;
}

struct session *request_session(const struct web_listener *l, struct evhttp_request *req)
{
    char name[REQUEST_COOKIE_SIZE];
    size_t named = strlen(request_cookie(req, name));
    const char *at = request_header(req, "Cookie");
    struct session *found = NULL;

    /* Something else on this host may have set one of the same name. */
    while (at && *at && !found) {
        at += strspn(at, "; ");
        size_t length = strcspn(at, ";");
        if (length == named + 1 + SESSION_WORD_TEXT && strncmp(at, name, named) == 0 &&
            at[named] == '=')
            found = session_find(&l->web->sessions, at + named + 1, SESSION_WORD_TEXT,
                                 clock_monotonic());
        at += length;
    }
    return found && shows_certificate(found, l, req) ? found : NULL;
}

const char *request_token(struct evhttp_request *req)
{
    static const char bearer[] = "Bearer ";
    const char *said = request_header(req, "Authorization");

    if (!said || strncasecmp(said, bearer, sizeof bearer - 1) != 0)
        return NULL;
    said += sizeof bearer - 1;
    return said + strspn(said, " ");
}

/* ---- its body ---- */

static bool says_json(struct evhttp_request *req)
{
    static const char json[] = "application/json";
    const char *type = request_header(req, "Content-Type");

    return type && strncasecmp(type, json, sizeof json - 1) == 0 &&
           (type[sizeof json - 1] == '\0' || strchr("; ", type[sizeof json - 1]));
}

json_t *request_json(struct evhttp_request *req)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    size_t length = evbuffer_get_length(body), how = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    char why[JSON_ERROR_TEXT_LENGTH + 32];

    if (!says_json(req)) {
        reply_refusal(req, 415, "BAD_REQUEST", "the body is to be application/json");
        return NULL;
    }
    const char *text = length > 0 ? (const char *)evbuffer_pullup(body, -1) : "";
    json_error_t wrong = {.text = "out of memory"};
    json_t *value = text ? json_loadb(text, length, how, &wrong) : NULL;
    if (json_is_object(value))
        return value;
    snprintf(why, sizeof why, "the body is no JSON object%s%s", value ? "" : ": ",
             value ? "" : wrong.text);
    json_decref(value);
    reply_error(req, "BAD_REQUEST", why);
    return NULL;
}

/* ---- its connection ---- */

static int socket_of(struct evhttp_request *req)
{
    return bufferevent_getfd(evhttp_connection_get_bufferevent(evhttp_request_get_connection(req)));
}

struct event *request_vanishes(struct evhttp_request *req,
                               void (*fn)(evutil_socket_t fd, short what, void *arg), void *arg)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
    struct event *e =
        event_new(bufferevent_get_base(bev), bufferevent_getfd(bev), EV_CLOSED, fn, arg);

    if (e && event_add(e, NULL) != 0) {
        event_free(e);
        e = NULL;
    }
    return e;
}

/* A browser says so of what another page than ours has it ask. */
static bool is_asked_elsewhere(struct evhttp_request *req)
{
    const char *site = request_header(req, "Sec-Fetch-Site");

    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

bool request_origin(const struct web_listener *l, struct evhttp_request *req,
                    struct net_origin *from)
{
    socklen_t size = sizeof from->address;
    int fd = socket_of(req);

    *from = (struct net_origin){.address.ss_family = AF_UNSPEC};
    if (l->url.scheme == URL_UNIX)
        from->is_user = peer_uid(fd, &from->uid);
    else if (getpeername(fd, (struct sockaddr *)&from->address, &size) != 0)
        from->address.ss_family = AF_UNSPEC; /* it has left */
    if (l->auth != LISTENER_AUTH_CERT || is_asked_elsewhere(req))
        return true;
    if (tls_bare_name(request_tls(req), from->certificate, sizeof from->certificate) ==
        TLS_NAME_UNUSABLE) {
        reply_error(req, "AUTH", "the client certificate has no usable subjectAltName");
        return false;
    }
    return true;
}

void request_local_address(struct evhttp_request *req, char *text, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    const void *at = NULL;

    *text = '\0';
    if (getsockname(socket_of(req), (struct sockaddr *)&address, &length) != 0)
        return;
    int family = address.ss_family;
    if (family == AF_INET)
        at = &((const struct sockaddr_in *)&address)->sin_addr;
    else if (family == AF_INET6)
        at = &((const struct sockaddr_in6 *)&address)->sin6_addr;
    if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)at)) {
        at = (const uint8_t *)at + 12;
        family = AF_INET;
    }
    if (at)
        inet_ntop(family, at, text, (socklen_t)size);
}

bool request_reaches(struct web *w, struct evhttp_request *req)
{
    w->gateway.base = w->base;
    w->gateway.acceptor = atomic_load_explicit(&w->acceptor, memory_order_acquire);
    if (w->gateway.acceptor && health_has_started(w->health))
        return true;
    reply_error(req, "STARTING", "the server is starting");
    return false;
}
