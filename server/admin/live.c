#include "server/admin/live.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/admin/http_reply.h"
#include "server/admin/api.h"
#include "server/admin/follow.h"
#include "server/admin/request.h"

enum { UNREAD_MAX = 64 << 10 }; /* bytes that a reader has not taken: then an event is skipped */

static const struct {
    const char *name, *method;
} parts[] = {{"info", "server.info"}, {"topology", "server.topology"}, {"queues", "queue.list"}};
enum { PARTS = sizeof parts / sizeof *parts };

/* One part that is under way. */
struct live_part {
    struct live *live;
    const char *name;
};

struct live {
    LIST_ENTRY(live) link;
    struct web *web;
    struct evhttp_request *req;
    struct follow *follow;          /* what it shows of the feed */
    uint64_t number;                /* by which its page means it */
    char id[SESSION_WORD_TEXT + 1]; /* of its session, which may end first */
    struct live_part parts[PARTS];
    unsigned asked; /* parts that have not been answered */
    json_t *event;  /* what they said */
    bool gone;      /* its connection has closed */
    bool over;      /* it ends when all parts have been answered */
};

/* As long as somebody looks, it is used. */
static struct session *session_of(const struct live *v)
{
    return session_find(&v->web->sessions, v->id, SESSION_WORD_TEXT, clock_monotonic());
}

/* evhttp has let go of the request, which is ours to end; but not from in here. */
static void on_closed(struct evhttp_connection *connection, void *arg)
{
    struct live *v = arg;

    (void)connection;
    v->gone = true;
}

static void end(struct live *v)
{
    struct session *s = session_of(v);

    follow_free(v->follow);
    if (s)
        s->lives--;
    struct evhttp_connection *connection = v->gone ? NULL : evhttp_request_get_connection(v->req);
    if (connection)
        evhttp_connection_set_closecb(connection, NULL, NULL);
    evhttp_send_reply_end(v->req); /* frees it if its connection is gone */
    LIST_REMOVE(v, link);
    v->web->live_count--;
    json_decref(v->event);
    free(v);
}

static void send_text(struct live *v, const char *before, const char *text)
{
    struct evbuffer *chunk = v->gone ? NULL : evbuffer_new();

    if (!chunk)
        return;
    evbuffer_add_printf(chunk, "%s%s\n\n", before, text);
    evhttp_send_reply_chunk(v->req, chunk);
    evbuffer_free(chunk);
}

static void send_event(struct live *v)
{
    char *text = v->event ? json_dumps(v->event, JSON_COMPACT) : NULL;

    if (text)
        send_text(v, "event: info\ndata: ", text);
    free(text);
    json_decref(v->event);
    v->event = NULL;
}

static void on_part(void *arg, const struct gateway_answer *a)
{
    const struct live_part *part = arg;
    struct live *v = part->live;

    if (v->event)
        json_object_set_new(v->event, part->name, a->result ? json_incref(a->result) : json_null());
    if (--v->asked > 0)
        return;
    send_event(v);
    if (v->over)
        end(v);
}

/* ---- the feed ---- */

static size_t unread(const struct live *v)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(v->req);

    return connection ? evbuffer_get_length(
                            bufferevent_get_output(evhttp_connection_get_bufferevent(connection)))
                      : 0;
}

/* follow_port */
static void on_page(void *arg, const json_t *page)
{
    char *text = json_dumps(page, JSON_COMPACT);

    if (text)
        send_text(arg, "event: task\ndata: ", text);
    free(text);
}

static bool keeps_up(void *arg)
{
    const struct live *v = arg;

    return !v->gone && !v->over && unread(v) <= UNREAD_MAX;
}

static struct gateway_peer *peer_of(void *arg)
{
    const struct session *s = session_of(arg);

    return s ? api_peer(s) : NULL;
}

/* ---- the figures ---- */

/* What could not be asked stays out of the event. */
static void ask(struct live *v, const struct session *s)
{
    json_t *none = json_array();
    const char *code;

    v->event = json_object();
    v->asked = 1; /* until all are under way */
    for (size_t i = 0; none && i < PARTS; i++) {
        v->parts[i] = (struct live_part){v, parts[i].name};
        if (gateway_call(api_peer(s), parts[i].method, none, v->web->call_ms, on_part, &v->parts[i],
                         &code))
            v->asked++;
    }
    json_decref(none);
    if (--v->asked == 0)
        send_event(v);
}

static void tick(struct live *v)
{
    const struct session *s = session_of(v);

    v->over |= !s || v->gone;
    if (v->asked > 0)
        return;
    if (v->over)
        end(v);
    else if (unread(v) <= UNREAD_MAX)
        ask(v, s);
}

void lives_tick(struct web *w)
{
    struct live *next;

    for (struct live *v = LIST_FIRST(&w->lives); v; v = next) {
        next = LIST_NEXT(v, link);
        tick(v);
    }
}

void lives_close(struct web *w)
{
    struct live *v;

    while ((v = LIST_FIRST(&w->lives)))
        end(v);
}

static void begin(struct web *w, struct session *s, struct evhttp_request *req)
{
    static const struct follow_port port = {.page = on_page, .keeps_up = keeps_up, .peer = peer_of};
    struct live *v = calloc(1, sizeof *v);
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    char hello[64];

    if (v)
        v->follow = follow_new(w->base, &port, v);
    if (!v || !v->follow) {
        free(v);
        reply_error(req, "MEMORY", "out of memory");
        return;
    }
    v->number = ++w->live_last;
    v->web = w;
    v->req = req;
    memcpy(v->id, s->id, sizeof v->id);
    s->lives++;
    w->live_count++;
    LIST_INSERT_HEAD(&w->lives, v, link);
    reply_headers(req);
    evhttp_add_header(headers, "Content-Type", "text/event-stream");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    connections_enter(&w->connections,
                      evhttp_connection_get_bufferevent(evhttp_request_get_connection(req)),
                      HTTP_STREAMS, clock_monotonic());
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_closed, v);
    evhttp_send_reply_start(req, HTTP_OK, "OK");
    snprintf(hello, sizeof hello, "{\"stream\":%" PRIu64 "}", v->number);
    send_text(v, "event: stream\ndata: ", hello);
    ask(v, s);
}

void live_get(struct web_listener *l, struct evhttp_request *req)
{
    struct web *w = l->web;
    struct session *s = request_session(l, req);

    if (!s)
        reply_error(req, "AUTH", "there is no session: it has ended, or was never opened");
    else if (s->lives >= WEB_LIVES_A_SESSION || w->live_count >= WEB_LIVES_MAX ||
             sessions_lives(&w->sessions, s->principal) >= WEB_LIVES_A_PRINCIPAL)
        reply_error(req, "BUSY", "too many pages look on already");
    else
        begin(w, s, req);
}

static struct live *find(struct web *w, const struct session *s, uint64_t number)
{
    struct live *v;

    LIST_FOREACH(v, &w->lives, link)
    if (v->number == number && strcmp(v->id, s->id) == 0 && !v->gone && !v->over)
        return v;
    return NULL;
}

void live_post(struct web_listener *l, struct evhttp_request *req)
{
    struct session *s = api_trusted_session(l, req);
    json_t *body = s ? request_json(req) : NULL;

    if (!body)
        return;
    const json_t *number = json_object_get(body, "stream"),
                 *follow = json_object_get(body, "follow");
    struct live *v = find(l->web, s, (uint64_t)json_integer_value(number));
    if (!json_is_integer(number) || !(json_is_object(follow) || json_is_null(follow))) {
        reply_error(req, "BAD_REQUEST",
                    "\"stream\" is to be a number, and \"follow\" options of task.events, or null");
    } else if (!v) {
        reply_error(req, "NOT_FOUND", "the session has no such stream");
    } else {
        follow_set(v->follow, follow);
        reply_json(req, HTTP_OK, json_object());
    }
    json_decref(body);
}
