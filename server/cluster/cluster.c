#include "server/cluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/cluster/cluster_private.h"
#include "server/runtime/thread.h"

/* Above 0, and a bigint of the database. */
static uint64_t draw_incarnation(void)
{
    uint64_t drawn;

    if (!chance_bytes(&drawn, sizeof drawn))
        drawn = clock_wall() ^ clock_monotonic() << 20;
    return (drawn & INT64_MAX) | 1;
}

struct cluster *cluster_new(const struct cluster_options *options)
{
    struct cluster *c = calloc(1, sizeof *c);
    pthread_condattr_t attr;

    if (!c)
        return NULL;
    c->options = *options;
    c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->incarnation = draw_incarnation();
    snprintf(c->view.cluster, sizeof c->view.cluster, "%s", options->cluster);
    snprintf(c->view.node, sizeof c->view.node, "%s", options->node);
    atomic_init(&c->role, CLUSTER_FRONT);
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->woken, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    if (c->engine)
        c->options.engine->close(c->engine);
    if (c->stop >= 0)
        close(c->stop);
    pthread_cond_destroy(&c->woken);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

uint64_t cluster_incarnation(const struct cluster *c)
{
    return c->incarnation;
}

/* ---- the thread ---- */

/* Until somebody wakes it, or `wait` has passed. */
static void sleep_for(struct cluster *c, ao_time wait)
{
    ao_time until = clock_after(clock_monotonic(), wait);
    const struct timespec at = clock_spec(until);

    while (!c->wakes && !c->stopping && clock_monotonic() < until) {
        if (wait == AO_NEVER)
            pthread_cond_wait(&c->woken, &c->mutex);
        else
            pthread_cond_timedwait(&c->woken, &c->mutex, &at);
    }
    c->wakes = false;
}

/* A node that stops while it reads the rows says nothing of whether they can be read. */
static void leave(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX];

    if (cluster_role(c) == CLUSTER_LOADING && !c->over && !c->away &&
        c->options.engine->ask(c->engine, "leave_load", c->options.node, error, sizeof error) !=
            ENGINE_DONE)
        log_warn("the place was not given up", LOG_STR("why", error));
    if (c->joined && !c->over && !c->away &&
        c->options.engine->say(c->engine, "left", "", error, sizeof error) != ENGINE_DONE)
        log_warn("the cluster does not know that this node has left", LOG_STR("why", error));
}

static void *run(void *arg)
{
    struct cluster *c = arg;

    thread_settle("cluster", -1, 0);
    pthread_mutex_lock(&c->mutex);
    while (!c->stopping) {
        pthread_mutex_unlock(&c->mutex);
        ao_time wait = cluster_step(c);
        pthread_mutex_lock(&c->mutex);
        sleep_for(c, wait);
    }
    pthread_mutex_unlock(&c->mutex);
    leave(c);
    return NULL;
}

int cluster_open(struct cluster *c, const char *address, char *error, size_t size)
{
    const struct cluster_options *o = &c->options;
    const struct engine_setup setup = {.where = o->where,
                                       .cluster = o->cluster,
                                       .node = o->node,
                                       .incarnation = c->incarnation,
                                       .address = address,
                                       .version = o->version,
                                       .weight = o->weight,
                                       .stop = c->stop > 0 ? c->stop : 0};

    c->engine = o->engine->open(&setup, error, size);
    return c->engine && cluster_join(c, error, size) != ENGINE_WRONG ? 0 : -1;
}

int cluster_start(struct cluster *c, const char *address, char *error, size_t size)
{
    char reason[128];

    if (cluster_open(c, address, error, size) < 0)
        return -1;
    int failed = thread_start_undisturbed(&c->thread, run, c);
    c->running = failed == 0;
    if (failed != 0)
        snprintf(error, size, "the cluster's thread: %s",
                 strerror_r(failed, reason, sizeof reason));
    return failed == 0 ? 0 : -1;
}

void cluster_stop(struct cluster *c)
{
    if (!c || !c->running)
        return;
    pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    pthread_cond_signal(&c->woken);
    pthread_mutex_unlock(&c->mutex);
    eventfd_write(c->stop, 1);
    pthread_join(c->thread, NULL);
    c->running = false;
}

/* ---- other threads ---- */

/* With the mutex. */
static void wake(struct cluster *c)
{
    c->wakes = true;
    pthread_cond_signal(&c->woken);
}

void cluster_owns(void *cluster)
{
    struct cluster *c = cluster;

    view_set_role(c, CLUSTER_OWNER);
    pthread_mutex_lock(&c->mutex);
    wake(c);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_leave(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    c->leaves = true;
    wake(c);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_load_failed(void *cluster, const char *text, bool away)
{
    struct cluster *c = cluster;

    pthread_mutex_lock(&c->mutex);
    c->load_failed = true;
    c->load_broke = away;
    snprintf(c->failure, sizeof c->failure, "%s", text);
    wake(c);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_deposed(void *cluster)
{
    struct cluster *c = cluster;

    view_set_role(c, CLUSTER_DEPOSED);
    pthread_mutex_lock(&c->mutex);
    c->deposed = true;
    wake(c);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_note(struct cluster *c, const char *note)
{
    pthread_mutex_lock(&c->mutex);
    if (strncmp(c->note, note, sizeof c->note - 1) != 0) {
        snprintf(c->note, sizeof c->note, "%s", note);
        snprintf(c->view.note, sizeof c->view.note, "%s", note);
        view_changed(c);
        wake(c);
    }
    pthread_mutex_unlock(&c->mutex);
}

void cluster_load_waits(void *cluster, const char *text)
{
    cluster_note(cluster, text);
}

#define SETTINGS "settings "

void cluster_set_settings(struct cluster *c, const char *hash)
{
    pthread_mutex_lock(&c->mutex);
    snprintf(c->settings, sizeof c->settings, SETTINGS "%.*s",
             (int)(sizeof c->settings - sizeof SETTINGS), hash);
    wake(c);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_split_note(const struct engine_node *node, char *hash, size_t size, const char **note)
{
    size_t mark = sizeof SETTINGS - 1, end = strcspn(node->note, "\n");
    bool has = strncmp(node->note, SETTINGS, mark) == 0;

    snprintf(hash, size, "%.*s", has ? (int)(end - mark) : 0, node->note + (has ? mark : 0));
    *note = has ? node->note + end + (node->note[end] == '\n') : node->note;
}

/* ---- what people ask ---- */

static bool is_there(const struct engine_view *view, const char *node)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (strcmp(view->nodes[i].node, node) == 0)
            return true;
    return false;
}

/* NULL: it can be asked now.  With the mutex, as is the next. */
static const char *obstacle(const struct cluster *c)
{
    if (!c->rows.known || c->rows.trouble[0])
        return "the cluster's database does not answer now (see 'ergon cluster status')";
    if (c->request_count == CLUSTER_REQUESTS)
        return "other requests wait for the cluster's database (try again)";
    return NULL;
}

/* NULL: it may be asked.  Otherwise why not. */
static const char *refusal(const struct cluster *c, const char *verb, const char *node)
{
    const struct engine_view *view = &c->rows.view;

    if (strcmp(verb, "retry") == 0)
        return view->owner.tries < LEASE_TRIES
                   ? "no take-over has failed twice, so there is nothing to retry"
                   : NULL;
    if (!is_there(view, node))
        return "no node of this name is known (see 'ergon cluster status')";
    if (strcmp(verb, "drain") == 0)
        return strcmp(view->owner.node, node) != 0
                   ? "it owns no tasks, so it has nothing to hand over"
                   : NULL;
    return strcmp(view->owner.node, node) == 0
               ? "it owns the tasks (run 'ergon cluster drain' first)"
               : NULL;
}

enum cluster_asked cluster_ask(struct cluster *c, const char *verb, const char *node, char *error,
                               size_t size)
{
    pthread_mutex_lock(&c->mutex);
    const char *busy = obstacle(c), *why = busy ? busy : refusal(c, verb, node);
    if (!why) {
        struct cluster_request *request = &c->requests[c->request_count++];
        snprintf(request->verb, sizeof request->verb, "%s", verb);
        snprintf(request->node, sizeof request->node, "%s", node);
        wake(c);
    } else {
        snprintf(error, size, "%s", why);
    }
    pthread_mutex_unlock(&c->mutex);
    return busy ? CLUSTER_BUSY : why ? CLUSTER_REFUSED : CLUSTER_ASKED;
}
