#include "server/admin/monitoring.h"

#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/admin/accept.h"
#include "server/admin/http_reply.h"
#include "server/admin/api.h"
#include "server/admin/request.h"
#include "server/system/health.h"
#include "server/metrics/metrics.h"

static const char plain[] = "text/plain; charset=utf-8";

void monitoring_healthz(struct web_listener *l, struct evhttp_request *req)
{
    const char *wrong = health_complaint(l->web->health, clock_monotonic());
    char text[128];

    snprintf(text, sizeof text, "%s\n", wrong ? wrong : "ok");
    reply_text(req, wrong ? HTTP_SERVUNAVAIL : HTTP_OK, plain, text);
}

void monitoring_readyz(struct web_listener *l, struct evhttp_request *req)
{
    const char *name, *wrong = health_not_ready(l->web->health, &name);
    char text[128];

    snprintf(text, sizeof text, "%s%s%s\n", wrong ? wrong : "ready", name ? ": " : "",
             name ? name : "");
    reply_text(req, wrong ? HTTP_SERVUNAVAIL : HTTP_OK, plain, text);
}

/* ---- paths that ask for a principal ---- */

struct probe;
typedef void probe_answer_fn(struct probe *p, const struct gateway_answer *a);

/* One request, and the connection that is made for it alone, where it has no session. */
struct probe {
    struct web *web;
    struct evhttp_request *req;
    struct gateway_peer *peer; /* NULL: the session's is used */
    const char *method;
    probe_answer_fn *answer;
};

static void probe_end(struct probe *p, const struct gateway_answer *a)
{
    struct gateway_peer *peer = p->peer;

    if (!a->result)
        reply_error(p->req, a->code, a->text);
    else
        p->answer(p, a);
    free(p);
    gateway_close(peer);
}

static void on_answer(void *arg, const struct gateway_answer *a)
{
    probe_end(arg, a);
}

static void ask(struct probe *p, struct gateway_peer *peer)
{
    static const struct gateway_answer no_memory = {NULL, "MEMORY", "out of memory"};
    json_t *none = json_array();
    const char *code;

    if (!none || !gateway_call(peer, p->method, none, p->web->call_ms, on_answer, p, &code))
        probe_end(p, &no_memory);
    json_decref(none);
}

static void on_opened(void *arg, const char *principal, const char *code, const char *text)
{
    const struct gateway_answer refused = {NULL, code, text};

    if (principal)
        ask(arg, ((struct probe *)arg)->peer);
    else
        probe_end(arg, &refused);
}

/* What it asked is answered so, too. */
static void on_lost(void *arg)
{
    (void)arg;
}

static void probe(struct web_listener *l, struct evhttp_request *req, const char *method,
                  probe_answer_fn *answer)
{
    static const struct gateway_port port = {.opened = on_opened, .lost = on_lost};
    const struct session *s = request_session(l, req);

    struct net_origin from;
    if (!request_reaches(l->web, req) || !request_origin(l, req, &from))
        return;
    struct probe *p = malloc(sizeof *p);
    if (p) {
        *p = (struct probe){.web = l->web, .req = req, .method = method, .answer = answer};
        if (!s)
            p->peer = gateway_open(&l->web->gateway, l->index, &from, request_token(req), &port, p);
    }
    if (p && s) {
        ask(p, api_peer(s));
    } else if (!p || !p->peer) {
        free(p);
        reply_error(req, "MEMORY", "out of memory");
    }
}

/* ---- metrics ---- */

/* A client that asks for OpenMetrics gets it.  All others, browsers and old scrapers, get the older
 * text format, even if they accept neither. */
static enum metrics_format format_for(const struct evkeyvalq *headers)
{
    static const struct accept_media media[METRICS_FORMATS] = {
        [METRICS_OPENMETRICS] = {"application/openmetrics-text", "1.0.0"},
        [METRICS_CLASSIC] = {"text/plain", "0.0.4"}};
    struct accepted open = accept_media(headers, &media[METRICS_OPENMETRICS]);
    struct accepted classic = accept_media(headers, &media[METRICS_CLASSIC]);
    bool same = open.named && open.weight > 0 && open.weight == classic.weight;

    return open.weight > classic.weight || same ? METRICS_OPENMETRICS : METRICS_CLASSIC;
}

static void write_metrics(struct web *w, struct evhttp_request *req)
{
    static const char *const types[METRICS_FORMATS] = {
        [METRICS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [METRICS_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8"};
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(req);
    struct metrics_text *out = &w->figures;

    out->format = format_for(headers);
    if (!metrics_write(w->metrics, out)) {
        reply_error(req, "MEMORY", "out of memory");
        return;
    }
    evhttp_add_header(evhttp_request_get_output_headers(req), "Vary", "Accept, Accept-Encoding");
    (accept_gzip(headers) ? reply_gzip : reply_bytes)(req, HTTP_OK, types[out->format], out->at,
                                                      out->length);
}

static void answer_metrics(struct probe *p, const struct gateway_answer *a)
{
    (void)a;
    write_metrics(p->web, p->req);
}

void monitoring_metrics(struct web_listener *l, struct evhttp_request *req)
{
    if (!url_is_local(&l->url))
        probe(l, req, "server.info", answer_metrics);
    else if (request_reaches(l->web, req))
        write_metrics(l->web, req);
}

/* ---- topology ---- */

static void answer_result(struct probe *p, const struct gateway_answer *a)
{
    reply_json(p->req, HTTP_OK, json_incref(a->result));
}

void monitoring_topology(struct web_listener *l, struct evhttp_request *req)
{
    probe(l, req, "server.topology", answer_result);
}
