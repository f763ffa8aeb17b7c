#include "server/cluster/view.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/cluster/cluster_private.h"

enum cluster_role cluster_role(const struct cluster *c)
{
    return c ? (enum cluster_role)atomic_load_explicit(&c->role, memory_order_acquire)
             : CLUSTER_ALONE;
}

uint64_t cluster_version(const struct cluster *c)
{
    return c ? atomic_load_explicit(&c->version, memory_order_acquire) : 0;
}

ao_time cluster_now(const struct cluster *c)
{
    return c->options.boottime ? c->options.boottime(c->options.clock_arg) : clock_boottime();
}

uint64_t cluster_wall(const struct cluster *c)
{
    return c->options.wall ? c->options.wall(c->options.clock_arg) : clock_wall();
}

static pthread_mutex_t *mutex_of(const struct cluster *c)
{
    return (pthread_mutex_t *)&c->mutex;
}

void cluster_view(const struct cluster *c, struct cluster_view *out)
{
    if (!c) {
        *out = (struct cluster_view){.role = CLUSTER_ALONE};
        return;
    }
    pthread_mutex_lock(mutex_of(c));
    *out = c->view;
    pthread_mutex_unlock(mutex_of(c));
    out->role = cluster_role(c);
    out->renewed_at = atomic_load_explicit(&c->renewed_at, memory_order_relaxed);
}

bool cluster_may_act(const struct cluster *c)
{
    if (!c)
        return true;
    ao_time sent = atomic_load_explicit(&c->renewed_at, memory_order_relaxed);
    ao_time now = cluster_now(c);
    return sent > 0 && now <= sent + c->options.lease - AO_S(1);
}

void cluster_on_change(struct cluster *c, void (*changed)(void *arg), void *arg)
{
    if (!c || c->listener_count == CLUSTER_LISTENERS)
        return;
    c->listeners[c->listener_count].changed = changed;
    c->listeners[c->listener_count++].arg = arg;
}

/* ---- the writer's side ---- */

void view_changed(struct cluster *c)
{
    atomic_fetch_add_explicit(&c->version, 1, memory_order_release);
}

/* Nobody waits for a node that owns the tasks, though the rows say so only after the next look. */
void view_set_role(struct cluster *c, enum cluster_role role)
{
    pthread_mutex_lock(&c->mutex);
    if (role == CLUSTER_OWNER) {
        c->view.moving_from[0] = '\0';
        c->view.moving_since = 0;
    }
    pthread_mutex_unlock(&c->mutex);
    if (atomic_exchange_explicit(&c->role, role, memory_order_acq_rel) != role)
        view_changed(c);
}

void view_tell(struct cluster *c)
{
    uint64_t version = cluster_version(c);

    if (c->shown == version)
        return;
    c->shown = version;
    for (uint32_t i = 0; i < c->listener_count; i++)
        c->listeners[i].changed(c->listeners[i].arg);
}

void view_renewed(struct cluster *c, ao_time sent)
{
    atomic_store_explicit(&c->renewed_at, sent, memory_order_relaxed);
}

static const struct engine_node *node_of(const struct engine_view *view, const char *name)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (strcmp(view->nodes[i].node, name) == 0)
            return &view->nodes[i];
    return NULL;
}

/* An owner that still loads is one that the tasks move to. */
static void set_moving(struct cluster *c, struct cluster_view *v, const char *before)
{
    const struct engine_node *owner = node_of(&c->read, v->owner);
    bool own = strcmp(v->owner, v->node) == 0;
    bool serves = own ? cluster_role(c) == CLUSTER_OWNER
                      : owner && (strcmp(owner->state, "owner") == 0 ||
                                  strcmp(owner->state, "draining") == 0);

    if (serves) {
        v->moving_from[0] = '\0';
        v->moving_since = 0;
    } else if (v->moving_since == 0) {
        snprintf(v->moving_from, sizeof v->moving_from, "%s", before);
        v->moving_since = cluster_wall(c);
    }
}

static bool differs(const struct cluster_view *a, const struct cluster_view *b)
{
    return strcmp(a->owner, b->owner) != 0 || strcmp(a->address, b->address) != 0 ||
           a->epoch != b->epoch || a->moving_since != b->moving_since;
}

static void fill_rows(struct cluster *c, ao_time now)
{
    struct cluster_rows *rows = &c->rows;

    rows->view = c->read;
    rows->known = true;
    c->read_at = now;
    for (uint32_t i = 0; i < c->read.count; i++) {
        const struct engine_node *node = &c->read.nodes[i];
        rows->silent[i] = now - lease_heard(&c->lease, node->node);
        rows->dead[i] = strcmp(node->state, "left") != 0 && lease_is_dead(&c->lease, node, now);
    }
}

void view_take(struct cluster *c, bool vacant, ao_time now)
{
    const struct engine_owner *owner = &c->read.owner;
    const struct engine_node *node = node_of(&c->read, owner->node);

    pthread_mutex_lock(&c->mutex);
    struct cluster_view before = c->view, *v = &c->view;
    snprintf(v->owner, sizeof v->owner, "%s", vacant ? "" : owner->node);
    snprintf(v->address, sizeof v->address, "%s", vacant || !node ? "" : node->address);
    v->epoch = owner->epoch;
    set_moving(c, v, before.owner[0] ? before.owner : vacant ? owner->node : "");
    fill_rows(c, now);
    bool changed = differs(&before, v);
    pthread_mutex_unlock(&c->mutex);
    if (changed)
        view_changed(c);
}

void view_trouble(struct cluster *c, const char *text)
{
    pthread_mutex_lock(&c->mutex);
    snprintf(c->rows.trouble, sizeof c->rows.trouble, "%s", text);
    pthread_mutex_unlock(&c->mutex);
}

void cluster_rows(const struct cluster *c, struct cluster_rows *out)
{
    pthread_mutex_lock(mutex_of(c));
    *out = c->rows;
    out->age = cluster_now(c) - c->read_at; /* with the mutex: not before it */
    pthread_mutex_unlock(mutex_of(c));
    for (uint32_t i = 0; i < out->view.count; i++)
        out->silent[i] += out->age;
}
