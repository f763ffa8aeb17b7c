#include "server/front/fronts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/front/node_worker.h"
#include "server/net/net.h"

enum { UNIX_MODE = 0600, STOCK = 2 /* of a loop; a handshake takes some ms of both sides */ };

struct fronts {
    struct owner_finder *finder;
    char *listen; /* NULL: none */
    struct tls_files tls;
    const struct acceptor *acceptor;
    uint32_t listener; /* index there, once acceptor is set */
    struct node_worker_options work;
    char node[CLUSTER_NAME_MAX];
    struct node_worker *worker;
    void (*drained)(void *arg);
    void *drained_arg;
    uint32_t count;
    struct forward *at[];
};

static bool open_loops(struct fronts *f, const struct fronts_options *o, char *error, size_t size)
{
    for (uint32_t i = 0; i < o->loop_count; i++) {
        const struct forward_options options = {.roles = o->roles,
                                                .finder = f->finder,
                                                .rpc = o->loops[i],
                                                .poller = o->pollers[i],
                                                .limits = o->limits,
                                                .tls = &f->tls,
                                                .patience = o->patience,
                                                .stock = f->tls.cert ? STOCK : 0,
                                                .unix_users = o->unix_users};
        f->at[i] = forward_new(&options, error, size);
        if (!f->at[i])
            return false;
        f->count++;
    }
    return true;
}

struct fronts *fronts_new(const struct fronts_options *o, char *error, size_t size)
{
    struct fronts *f = calloc(1, sizeof *f + o->loop_count * sizeof f->at[0]);

    snprintf(error, size, "out of memory");
    if (!f)
        return NULL;
    f->listen = o->listen ? strdup(o->listen) : NULL;
    f->finder = owner_finder_new(&o->roles, o->loop_count + 1);
    snprintf(f->node, sizeof f->node, "%s", o->node ? o->node : "");
    f->work = (struct node_worker_options){.finder = f->finder,
                                           .activator = o->loops[0]->activator,
                                           .poller = o->pollers[0],
                                           .registry = o->registry,
                                           .tasks = o->loops[0]->shared->tasks,
                                           .jobs = o->loops[0]->shared->jobs,
                                           .tls = &f->tls,
                                           .node = f->node,
                                           .slots = {o->blocking_slots, o->stepped_slots}};
    bool good = f->finder && !f->listen == !o->listen && tls_files_copy(&f->tls, &o->tls);
    if (good && open_loops(f, o, error, size))
        return f;
    fronts_free(f);
    return NULL;
}

int fronts_listen(struct fronts *f, struct acceptor *a, char *error, size_t size)
{
    const struct listener_options options = {
        .url = f->listen,
        .auth = LISTENER_AUTH_NODE,
        .tls = f->tls,
        .idle_timeout = AO_NEVER,
        .unix_mode = UNIX_MODE,
    };

    if (!f->listen)
        return 0;
    if (acceptor_listen(a, &options, error, size) != 0)
        return -1;
    f->acceptor = a;
    f->listener = acceptor_count(a) - 1;
    return 0;
}

const char *fronts_url(const struct fronts *f)
{
    return f->acceptor ? acceptor_url(f->acceptor, f->listener) : NULL;
}

static int open_worker(struct fronts *f, char *error, size_t size)
{
    f->worker = node_worker_new(&f->work, error, size);
    return f->worker ? 0 : -1;
}

int fronts_start(struct fronts *f, char *error, size_t size)
{
    if (open_worker(f, error, size) != 0)
        return -1;
    if (owner_finder_start(f->finder) == 0)
        return 0;
    snprintf(error, size, "cannot start the thread that finds the owner");
    return -1;
}

void fronts_stop(struct fronts *f)
{
    if (!f)
        return;
    owner_finder_stop(f->finder);
}

void fronts_drain(struct fronts *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        forward_drain(f->at[i]);
}

void fronts_on_drained(struct fronts *f, void (*drained)(void *arg), void *arg)
{
    f->drained = drained;
    f->drained_arg = arg;
    if (f->worker)
        node_worker_on_drained(f->worker, drained, arg);
}

void fronts_tasks_drained(void *fronts)
{
    const struct fronts *f = fronts;

    if (f->worker)
        node_worker_tasks_drained(f->worker);
    else
        f->drained(f->drained_arg);
}

void fronts_free(struct fronts *f)
{
    if (!f)
        return;
    owner_finder_free(f->finder);
    for (uint32_t i = 0; i < f->count; i++)
        forward_free(f->at[i]);
    node_worker_free(f->worker);
    tls_files_free(&f->tls);
    free(f->listen);
    free(f);
}

bool fronts_reload(struct fronts *f, char *error, size_t size)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (!forward_reload(f->at[i], error, size))
            return false;
    return node_worker_reload(f->worker, error, size);
}

void fronts_changed(void *arg)
{
    struct fronts *f = arg;

    owner_finder_changed(f->finder);
}
