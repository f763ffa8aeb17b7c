/* Links, and the time. */
#include "sim/pg/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/pg/model_parts.h"

#define SECOND     UINT64_C(1000000000)
#define GIVES_UP   (5 * SECOND) /* tcp_user_timeout: for so long nothing is acknowledged */
#define CONNECTING (3 * SECOND) /* connect_timeout */

/* --- Begin and end --- */

struct pg *pg_new(const struct pg_env *env, const struct pg_shape *shape, const char *cluster)
{
    struct pg *pg = calloc(1, sizeof *pg);
    struct pg_owner owner = {0};
    struct pg_key key = pg_owner_key();
    require(pg != NULL, "no memory for the model");
    pg->env = *env;
    pg->shape = *shape;
    snprintf(pg->cluster, sizeof pg->cluster, "%s", cluster);
    for (int n = 0; n < PG_MACHINES; n++) {
        pg->machines[n] = (struct pg_machine){.up = true, .primary = n == 0};
        pg_table_put(&pg->machines[n].tables[PG_OWNER], pg_row_new(&key, &owner, sizeof owner));
    }
    return pg;
}

void pg_free(struct pg *pg)
{
    while (pg->backends)
        pg_backend_free(pg, pg->backends);
    while (pg->links)
        pg_close(pg->links);
    for (int n = 0; n < PG_MACHINES; n++)
        pg_machine_clear(&pg->machines[n]);
    free(pg);
}

void pg_set_shape(struct pg *pg, const struct pg_shape *shape)
{
    pg_advance(pg);
    pg->shape = *shape;
    pg_advance(pg);
}

const struct pg_env *pg_env(const struct pg *pg)
{
    return &pg->env;
}

uint64_t pg_chance(struct pg *pg, uint64_t most)
{
    return pg->env.below(pg->env.arg, most + 1);
}

void pg_fail(struct pg *pg, const char *state, uint64_t one_in)
{
    snprintf(pg->failure, sizeof pg->failure, "%s", one_in ? state : "");
    pg->fails_one_in = one_in;
}

/* --- The net --- */

static struct pg_node *node_of(const struct pg *pg, const char *name)
{
    for (int n = 0; n < pg->node_count; n++)
        if (strcmp(pg->nodes[n].name, name) == 0)
            return (struct pg_node *)&pg->nodes[n];
    return NULL;
}

bool pg_passes(const struct pg *pg, const char *node, int machine, unsigned ways)
{
    const struct pg_node *n = node_of(pg, node);
    return !n || !(n->cut[machine] & ways);
}

void pg_tell(struct pg *pg)
{
    pg->news = false;
    if (pg->env.changed)
        pg->env.changed(pg->env.arg);
}

static struct pg_node *node_for(struct pg *pg, const char *name)
{
    struct pg_node *n = node_of(pg, name);
    if (n)
        return n;
    require(pg->node_count < NODES_MAX, "too many nodes for the model");
    n = &pg->nodes[pg->node_count++];
    *n = (struct pg_node){0};
    snprintf(n->name, sizeof n->name, "%s", name);
    return n;
}

void pg_cut(struct pg *pg, const char *node, int machine, unsigned ways)
{
    pg_advance(pg);
    struct pg_node *n = node_for(pg, node);
    for (int m = 0; m < PG_MACHINES; m++) {
        if (machine >= 0 && m != machine)
            continue;
        if (ways && !n->cut[m])
            n->cut_at[m] = pg->clock;
        n->cut[m] = ways;
    }
    pg_advance(pg);
    pg_tell(pg);
}

static bool is_held(const struct pg *pg, const char *node)
{
    const struct pg_node *n = node_of(pg, node);
    return n && n->held;
}

void pg_hold(struct pg *pg, const char *node, bool on)
{
    pg_advance(pg);
    node_for(pg, node)->held = on;
    for (struct pg_backend *b = pg->backends; b && on; b = b->next)
        for (struct pg_call *call = b->inbox; call && strcmp(b->node, node) == 0; call = call->next)
            if (call->arrives > pg->clock)
                call->arrives = PG_NEVER;
}

/* --- Time --- */

/* When the node's side gives the link up; PG_NEVER. */
static uint64_t breaks_at(const struct pg *pg, const struct pg_link *l)
{
    const struct pg_node *n = node_of(pg, l->node);
    const struct pg_machine *m = &pg->machines[l->machine];
    bool cut = n && n->cut[l->machine];
    if (!l->backend && !cut)
        return l->breaks_at;
    if (!cut || l->outstanding == 0)
        return PG_NEVER;
    uint64_t since = n->cut_at[l->machine] > l->sent_at ? n->cut_at[l->machine] : l->sent_at;
    (void)m;
    return since + GIVES_UP;
}

static bool step_links(struct pg *pg)
{
    bool any = false;
    for (struct pg_link *l = pg->links; l; l = l->next) {
        if (!l->backend && l->breaks_at == PG_NEVER)
            l->breaks_at = pg->clock + pg_chance(pg, pg->shape.net);
        if (l->broken || breaks_at(pg, l) > pg->clock)
            continue;
        l->broken = any = pg->news = true;
    }
    return any;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_event(const struct pg *pg)
{
    uint64_t next = pg_machines_next(pg);
    for (const struct pg_backend *b = pg->backends; b; b = b->next)
        next = least(next, pg_backend_next(pg, b));
    for (const struct pg_link *l = pg->links; l; l = l->next) {
        if (!l->broken)
            next = least(next, breaks_at(pg, l));
        if (l->outbox && l->outbox->arrives > pg->clock)
            next = least(next, l->outbox->arrives);
    }
    return next;
}

/* False: nothing was due. */
static bool step(struct pg *pg)
{
    bool any = true, ever = false;
    while (any) {
        any = pg_machines_step(pg);
        for (struct pg_backend *next, *b = pg->backends; b; b = next) {
            next = b->next;
            any |= pg_backend_step(pg, b);
        }
        any |= step_links(pg);
        ever |= any;
    }
    return ever;
}

void pg_advance(struct pg *pg)
{
    uint64_t now = pg->env.now(pg->env.arg), next;
    bool any = step(pg);
    while ((any || now > pg->clock) && (next = next_event(pg)) <= now) {
        if (next > pg->clock)
            pg->clock = next;
        any = step(pg);
    }
    if (now > pg->clock) {
        pg->clock = now;
        step(pg);
    }
    if (pg->news)
        pg_tell(pg);
}

uint64_t pg_next(struct pg *pg)
{
    pg_advance(pg);
    return next_event(pg);
}

/* --- Links --- */

static bool is_reached(const struct pg *pg, const char *node, int machine)
{
    const struct pg_machine *m = &pg->machines[machine];
    return m->up && !m->frozen && m->primary &&
           pg_passes(pg, node, machine, PG_TO_ENGINE | PG_TO_NODE);
}

struct pg_link *pg_connect(struct pg *pg, const char *node)
{
    int machine = 0;
    pg_advance(pg);
    while (machine < PG_MACHINES && !is_reached(pg, node, machine))
        machine++;
    if (machine == PG_MACHINES)
        return NULL;
    struct pg_link *l = calloc(1, sizeof *l);
    require(l != NULL, "no memory for a connection of the model");
    *l = (struct pg_link){.next = pg->links, .pg = pg, .machine = machine, .breaks_at = PG_NEVER};
    snprintf(l->node, sizeof l->node, "%s", node);
    l->backend = pg_backend_new(pg, l);
    pg->links = l;
    return l;
}

uint64_t pg_connect_takes(struct pg *pg)
{
    bool reached = false;
    for (int n = 0; n < PG_MACHINES; n++)
        reached |= pg->machines[n].up && !pg->machines[n].frozen && pg->machines[n].primary;
    return 6 * pg_chance(pg, pg->shape.net) + (reached ? 0 : pg_chance(pg, CONNECTING));
}

bool pg_send(struct pg_link *l, struct pg_call *call)
{
    struct pg *pg = l->pg;
    struct pg_backend *b = l->backend;
    pg_advance(pg);
    b = l->backend;
    if (l->broken || !b) {
        pg_call_free(call);
        return !l->broken; /* it is not known yet */
    }
    uint64_t at = is_held(pg, b->node) ? PG_NEVER : pg->clock + pg_chance(pg, pg->shape.net);
    call->next = NULL;
    call->arrives = b->inbox_last && b->inbox_last->arrives > at ? b->inbox_last->arrives : at;
    if (b->inbox_last)
        b->inbox_last->next = call;
    else
        b->inbox = call;
    b->inbox_last = call;
    if (l->outstanding++ == 0)
        l->sent_at = pg->clock;
    pg_advance(pg);
    return true;
}

struct pg_call *pg_receive(struct pg_link *l)
{
    struct pg *pg = l->pg;
    pg_advance(pg);
    struct pg_call *call = l->outbox;
    if (!call || l->broken || call->arrives > pg->clock ||
        !pg_passes(pg, l->node, l->machine, PG_TO_NODE))
        return NULL;
    l->outbox = call->next;
    if (!l->outbox)
        l->outbox_last = NULL;
    l->outstanding--;
    l->sent_at = pg->clock;
    return call;
}

bool pg_is_broken(const struct pg_link *l)
{
    return l->broken;
}

bool pg_said_why(const struct pg_link *l)
{
    return l->said_why;
}

bool pg_is_ready(const struct pg_link *l)
{
    return l->broken || (l->outbox && l->outbox->arrives <= l->pg->clock &&
                         pg_passes(l->pg, l->node, l->machine, PG_TO_NODE));
}

/* The engine notices it when that passes; else by keepalives. */
static void leave(struct pg *pg, struct pg_link *l, bool says_so)
{
    struct pg_backend *b = l->backend;
    l->backend = NULL;
    if (!b)
        return;
    b->link = NULL;
    bool hears = says_so && pg_passes(pg, b->node, b->machine, PG_TO_ENGINE);
    b->gone_at = pg->clock + (hears ? pg_chance(pg, pg->shape.net) : GIVES_UP);
    if (b->inbox_last && b->gone_at < b->inbox_last->arrives)
        b->gone_at = b->inbox_last->arrives;
}

/* Of what is under way only the first `kept` arrive. */
static void cut_inbox(struct pg *pg, struct pg_backend *b, uint64_t kept)
{
    struct pg_call **at = &b->inbox;
    b->inbox_last = NULL;
    while (*at) {
        struct pg_call *call = *at;
        bool arrives = call->arrives <= pg->clock || kept > 0;
        kept -= call->arrives > pg->clock && kept > 0;
        if (arrives) {
            b->inbox_last = call;
            at = &call->next;
            continue;
        }
        *at = call->next;
        pg_call_free(call);
    }
}

static void free_link(struct pg_link *l)
{
    struct pg_link **at = &l->pg->links;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    while (l->outbox) {
        struct pg_call *call = l->outbox;
        l->outbox = call->next;
        pg_call_free(call);
    }
    free(l);
}

void pg_close(struct pg_link *l)
{
    if (!l)
        return;
    struct pg *pg = l->pg;
    pg_advance(pg);
    if (l->backend && !pg_passes(pg, l->node, l->machine, PG_TO_ENGINE) && !is_held(pg, l->node))
        cut_inbox(pg, l->backend, 0);
    leave(pg, l, true);
    free_link(l);
    pg_advance(pg);
}

static bool is_of(const char *name, const char *node)
{
    return !node || strcmp(name, node) == 0;
}

void pg_break(struct pg *pg, const char *node)
{
    pg_advance(pg);
    for (struct pg_link *l = pg->links; l; l = l->next) {
        if (l->broken || !is_of(l->node, node))
            continue;
        if (l->backend)
            cut_inbox(pg, l->backend, pg_chance(pg, 2));
        leave(pg, l, true);
        l->broken = true;
    }
    pg_advance(pg);
    pg_tell(pg);
}

static void arrive(struct pg *pg, struct pg_backend *b)
{
    struct pg_link *l = b->link;
    if (l) {
        leave(pg, l, true);
        l->broken = true;
    }
    for (struct pg_call *call = b->inbox; call; call = call->next)
        if (call->arrives == PG_NEVER)
            call->arrives = pg->clock;
    if (b->gone_at == PG_NEVER)
        b->gone_at = pg->clock;
}

void pg_release(struct pg *pg, const char *node, bool batches)
{
    pg_advance(pg);
    for (struct pg_backend *b = pg->backends; b; b = b->next)
        if (strcmp(b->node, node) == 0 && b->inbox && b->inbox_last->arrives == PG_NEVER &&
            (!batches || b->inbox_last->kind == PG_UNIT))
            arrive(pg, b);
    pg_advance(pg);
    pg_tell(pg);
}

void pg_node_died(struct pg *pg, const char *node, bool power)
{
    pg_advance(pg);
    for (struct pg_link *next, *l = pg->links; l; l = next) {
        next = l->next;
        if (!is_of(l->node, node))
            continue;
        if (l->backend)
            cut_inbox(pg, l->backend, pg_chance(pg, 2));
        leave(pg, l, !power);
        free_link(l);
    }
    pg_advance(pg);
}
