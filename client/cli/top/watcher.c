#include "client/cli/top/watcher.h"

#include "client/cli/look.h"
#include "client/cli/top/rates.h"

#include <stdio.h>
#include <string.h>

enum {
    CONNECT_MS = 3000,
    ANSWER_MS = 2000, /* a server that takes longer hangs; keys wait for it */
    CONNECTIONS_MAX = 2000,
    WORKERS_MAX = 2000
};

enum status watcher_open(struct watcher *w, const struct globals *g)
{
    *w = (struct watcher){.globals = *g};
    w->status = session_open(&w->session, &w->globals, CONNECT_MS, false);
    w->session.give_up_ns = 0;
    w->connected = w->status == STATUS_OK;
    w->globals.quiet = true;
    return w->status;
}

void watcher_close(struct watcher *w)
{
    session_close(&w->session);
    json_decref(w->before);
    json_decref(w->model);
    *w = (struct watcher){0};
}

static void lost(struct watcher *w)
{
    session_close(&w->session);
    w->connected = false;
    w->status = STATUS_CONNECT;
    snprintf(w->trouble, sizeof w->trouble, "no connection to %.100s; it is tried again",
             w->globals.server);
}

static void trouble(struct watcher *w, const char *method, enum status status)
{
    w->status = status;
    if (status == STATUS_CONNECT)
        lost(w);
    else if (status == STATUS_TIMEOUT)
        snprintf(w->trouble, sizeof w->trouble, "%s has no answer: see ergon doctor", method);
    else if (status != STATUS_OK)
        snprintf(w->trouble, sizeof w->trouble, "%s: the server does not let us ask", method);
}

/* False: there is no answer. */
static bool keep(struct watcher *w, json_t *sample, const char *key, const char *method,
                 json_t *answer, enum status status)
{
    if (answer == NULL) {
        trouble(w, method, status);
        return false;
    }
    json_object_set_new(sample, key, answer);
    return true;
}

static bool ask(struct watcher *w, json_t *sample, const char *key, const char *method)
{
    enum status status;
    if (!w->connected)
        return false;
    json_t *answer = look_at(&w->session, method, NULL, ANSWER_MS, &status);
    return keep(w, sample, key, method, answer, status);
}

static void ask_pages(struct watcher *w, json_t *sample, const char *key, const char *method,
                      size_t limit)
{
    enum status status;
    if (!w->connected)
        return;
    json_t *answer = look_at_pages(&w->session, method, key, limit, ANSWER_MS, &status);
    keep(w, sample, key, method, answer, status);
}

static void connect_again(struct watcher *w)
{
    struct session s;
    if (session_open(&s, &w->globals, CONNECT_MS, false) != STATUS_OK) {
        lost(w);
        return;
    }
    w->session = s;
    w->session.give_up_ns = 0;
    w->connected = true;
}

void watcher_look(struct watcher *w, enum view_id view)
{
    w->trouble[0] = 0;
    w->status = STATUS_OK;
    if (!w->connected)
        connect_again(w);
    json_t *sample = json_object();
    if (ask(w, sample, "info", "server.info")) {
        ask(w, sample, "topology", "server.topology");
        if (view == VIEW_CONNECTIONS)
            ask_pages(w, sample, "connections", "connection.list", CONNECTIONS_MAX);
        if (view == VIEW_WORKERS)
            ask_pages(w, sample, "workers", "worker.list", WORKERS_MAX);
        ask(w, sample, "queues", "queue.list");
    }
    if (json_object_get(sample, "info") != NULL) {
        json_decref(w->model);
        w->model = model_of(w->before, sample);
        json_decref(w->before);
        w->before = json_incref(sample);
    }
    json_decref(sample);
}
