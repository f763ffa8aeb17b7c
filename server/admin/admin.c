#include "server/admin/admin.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "server/admin/web.h"
#include "server/metrics/metrics.h"
#include "server/net/stream/tls_bare.h"
#include "server/runtime/thread.h"

struct admin {
    struct web web;
    struct event *stop; /* eventfd: the thread is to end */
    int stop_fd;
    struct event *tick; /* each second while something is there */
    pthread_t thread;
    bool running;  /* the thread */
    bool stopping; /* the admin thread's own: it was asked to stop */
};

/* ---- its thread ---- */

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
    struct admin *a = arg;

    (void)fd;
    (void)what;
    a->stopping = true;
}

static void rouse(struct admin *a)
{
    const struct timeval second = {.tv_sec = 1};

    if (a->web.connections.count > 0 && !event_pending(a->tick, EV_TIMEOUT, NULL))
        event_add(a->tick, &second);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval second = {.tv_sec = 1};
    struct admin *a = arg;

    (void)fd;
    (void)what;
    if (web_tick(&a->web))
        event_add(a->tick, &second);
}

static void *run(void *arg)
{
    struct admin *a = arg;

    thread_settle("admin", -1, 0);
    while (!a->stopping) {
        event_base_loop(a->web.base, EVLOOP_ONCE);
        web_sweep(&a->web);
        rouse(a);
    }
    web_close(&a->web);
    event_base_loop(a->web.base, EVLOOP_NONBLOCK); /* what is freed a round later */
    return NULL;
}

/* ---- set-up ---- */

static bool copy_hosts(struct web *w, const struct admin_options *o)
{
    w->hosts = calloc(o->host_count + 1, sizeof *w->hosts);
    for (size_t i = 0; w->hosts && i < o->host_count; i++) {
        w->hosts[i] = strdup(o->hosts[i]);
        if (!w->hosts[i])
            return false;
        w->host_count++;
    }
    return w->hosts != NULL;
}

static bool open_tls(struct web_listener *l, const struct listener_options *o, char *error,
                     size_t size)
{
    if (!l->web->tls)
        l->web->tls = tls_loop_new(NULL, NULL);
    if (!tls_files_copy(&l->files, &o->tls))
        return snprintf(error, size, "%s: out of memory", o->url), false;
    l->tls = tls_context_new(l->web->tls, &l->files, error, size);
    return l->tls != NULL;
}

static int open_listener(struct web_listener *l, const struct listener_options *o, char *error,
                         size_t size)
{
    const char *wrong = url_parse(o->url, URL_ADMIN, &l->url);

    l->auth = o->auth;
    if (!wrong && l->url.scheme == URL_TLS && !o->tls.cert)
        wrong = "https:// needs a certificate and a key (tls.cert, tls.key)";
    if (wrong)
        return snprintf(error, size, "%s: %s", o->url, wrong), -1;
    if (l->url.scheme == URL_TLS && !open_tls(l, o, error, size))
        return -1;
    if (listen_socket_open(&l->socket, &l->url, 0, o->unix_mode, error, size) != 0)
        return -1;
    return web_serve(l) ? 0 : (snprintf(error, size, "%s: out of memory", o->url), -1);
}

static int open_listeners(struct web *w, const struct admin_options *o, char *error, size_t size)
{
    w->listeners = calloc(o->count, sizeof *w->listeners);
    if (!w->listeners)
        return snprintf(error, size, "admin listener: out of memory"), -1;
    for (uint32_t i = 0; i < o->count; i++) {
        w->listeners[i].web = w;
        w->listeners[i].socket.fd = -1;
        w->count++;
        if (open_listener(&w->listeners[i], &o->listeners[i], error, size) < 0)
            return -1;
    }
    return 0;
}

static bool open_events(struct admin *a)
{
    a->web.base = event_base_new();
    a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!a->web.base || a->stop_fd < 0)
        return false;
    a->stop = event_new(a->web.base, a->stop_fd, EV_READ, on_stop, a);
    a->tick = event_new(a->web.base, -1, 0, on_tick, a);
    return a->stop && a->tick && event_add(a->stop, NULL) == 0;
}

struct admin *admin_open(const struct admin_options *options, char *error, size_t size)
{
    struct admin *a = calloc(1, sizeof *a);

    if (!a)
        return snprintf(error, size, "admin listener: out of memory"), NULL;
    a->stop_fd = -1;
    a->web.health = options->health;
    a->web.gateway.scan = options->scan;
    a->web.call_ms = (uint32_t)(options->call_time / AO_MS(1));
    a->web.connections.request_time = options->request_time;
    a->web.connections.answer_time = options->call_time + 2 * options->request_time;
    if (!open_events(a) || !copy_hosts(&a->web, options)) {
        snprintf(error, size, "admin listener: no memory or no descriptor");
    } else if (open_listeners(&a->web, options, error, size) == 0) {
        a->running = thread_start_undisturbed(&a->thread, run, a) == 0;
        if (a->running)
            return a;
        snprintf(error, size, "admin listener: no thread is to be had");
    }
    admin_close(a);
    return NULL;
}

int admin_attach(struct admin *a, struct acceptor *acceptor, const struct rpc_shared *shared,
                 const struct admin_options *options, char *error, size_t size)
{
    a->web.metrics = metrics_new(shared);
    if (!a->web.metrics)
        return snprintf(error, size, "admin listener: out of memory"), -1;
    for (uint32_t i = 0; i < a->web.count; i++) {
        struct web_listener *l = &a->web.listeners[i];
        int index = acceptor_listen_inside(acceptor, &l->url, &options->listeners[i], error, size);
        if (index < 0)
            return -1;
        l->index = (uint32_t)index;
    }
    /* Release, for what was written above; pairs with the acquire in request_reaches(). */
    atomic_store_explicit(&a->web.acceptor, acceptor, memory_order_release);
    return 0;
}

/* ---- reload ---- */

static void offer_certificate(struct web_listener *l, struct tls_context *next)
{
    tls_context_unref(atomic_exchange_explicit(&l->tls_next, next, memory_order_acq_rel));
}

int admin_reload(struct admin *a, char *error, size_t size)
{
    struct tls_context **next = calloc(a->web.count, sizeof *next);
    int status = next ? 0 : -1;

    if (!next)
        snprintf(error, size, "out of memory");
    for (uint32_t i = 0; status == 0 && i < a->web.count; i++) {
        const struct web_listener *l = &a->web.listeners[i];
        if (l->files.cert && !(next[i] = tls_context_new(a->web.tls, &l->files, error, size)))
            status = -1;
    }
    for (uint32_t i = 0; next && i < a->web.count; i++) {
        if (status == 0 && next[i])
            offer_certificate(&a->web.listeners[i], next[i]);
        else
            tls_context_unref(next[i]);
    }
    free(next);
    return status;
}

/* ---- tear-down ---- */

static void free_listener(struct web_listener *l)
{
    listen_socket_close(&l->socket, &l->url);
    tls_context_unref(l->tls);
    offer_certificate(l, NULL);
    tls_files_free(&l->files);
}

void admin_close(struct admin *a)
{
    if (!a)
        return;
    if (a->running) {
        eventfd_write(a->stop_fd, 1);
        pthread_join(a->thread, NULL);
    } else {
        web_close(&a->web);
    }
    for (uint32_t i = 0; i < a->web.count; i++)
        free_listener(&a->web.listeners[i]);
    for (size_t i = 0; i < a->web.host_count; i++)
        free(a->web.hosts[i]);
    metrics_text_free(&a->web.figures);
    metrics_free(a->web.metrics);
    if (a->stop)
        event_free(a->stop);
    if (a->tick)
        event_free(a->tick);
    if (a->web.base)
        event_base_free(a->web.base);
    tls_loop_free(a->web.tls); /* after its connections */
    if (a->stop_fd >= 0)
        close(a->stop_fd);
    free(a->web.hosts);
    free(a->web.listeners);
    free(a);
}
