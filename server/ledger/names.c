/* Tenants and queues by name. */
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"
#include "base/siphash.h"

enum {
    TENANT_BUCKETS = 1024,
    TENANTS_IDLE = 1024 /* so many are remembered though they have no task */
};

/* --- Tenants --- */

static struct tenant **tenant_bucket(const struct ledger *l, struct span name)
{
    return &l->tenants[siphash(l->hash_seed, name) % l->tenant_buckets];
}

static struct tenant *tenant_new(struct ledger *l, struct span name)
{
    struct tenant *t = calloc(1, sizeof *t + name.len + 1);
    if (!t)
        return NULL;
    t->weight = 1;
    if (name.len > 0)
        memcpy(t + 1, name.at, name.len);
    t->name = span_of(t + 1, name.len);
    struct tenant **bucket = tenant_bucket(l, name);
    t->next = *bucket;
    *bucket = t;
    l->tenant_count++;
    return t;
}

static struct tenant *find_tenant(struct ledger *l, struct span name)
{
    for (struct tenant *t = *tenant_bucket(l, name); t; t = t->next)
        if (span_equal(t->name, name))
            return t;
    return tenant_new(l, name);
}

/* The next task is likely of the same. */
struct tenant *ledger_tenant(struct ledger *l, struct span name)
{
    if (!l->recent_tenant || !span_equal(l->recent_tenant->name, name))
        l->recent_tenant = find_tenant(l, name);
    return l->recent_tenant;
}

static void tenant_free(struct tenant *t)
{
    for (unsigned i = 0; i < PICK_KINDS; i++)
        free(t->shares[i]);
    free(t);
}

/* One with a weight was named by the configuration, and stays. */
void ledger_tenant_drop(struct ledger *l, struct tenant *t)
{
    if (--t->entries > 0 || t->weight != 1 || l->tenant_count <= TENANTS_IDLE)
        return;
    struct tenant **link = tenant_bucket(l, t->name);
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    if (l->recent_tenant == t)
        l->recent_tenant = NULL;
    l->tenant_count--;
    tenant_free(t);
}

int names_init(struct ledger *l)
{
    l->tenant_buckets = TENANT_BUCKETS;
    l->tenants = calloc(TENANT_BUCKETS, sizeof(struct tenant *));
    if (!l->tenants)
        return -1;
    for (uint32_t i = 0; i < l->options.tenant_count; i++) {
        const struct ledger_tenant *configured = &l->options.tenants[i];
        struct tenant *t = ledger_tenant(l, span_text(configured->name));
        if (!t)
            return -1;
        t->weight = configured->weight;
    }
    return 0;
}

/* --- Queues --- */

static struct ledger_queue *queue_new(struct ledger *l, struct span name, struct method *m)
{
    struct ledger_queue *q = calloc(1, sizeof *q + name.len + 1);
    if (!q)
        return NULL;
    memcpy(q + 1, name.at, name.len);
    q->name = span_of(q + 1, name.len);
    q->method = m;
    *(l->queues_last ? &l->queues_last->next : &l->queues) = q;
    l->queues_last = q;
    return q;
}

static struct ledger_queue *queue_without_method(struct ledger *l, struct span name)
{
    for (struct ledger_queue *q = l->queues; q; q = q->next)
        if (!q->method && span_equal(q->name, name))
            return q;
    return queue_new(l, name, NULL);
}

struct ledger_queue *ledger_queue_found(struct ledger *l, struct span method)
{
    struct ledger_queue *q = l->recent_queue;
    if (q && span_equal(q->name, method))
        return q;
    struct method *m = registry_find(l->options.registry, method);
    if (m && l->by_method[m->index])
        l->recent_queue = l->by_method[m->index];
    return m ? l->by_method[m->index] : NULL;
}

struct ledger_queue *ledger_queue(struct ledger *l, struct span method)
{
    struct ledger_queue *q = ledger_queue_found(l, method);
    if (q)
        return q;
    struct method *m = registry_find(l->options.registry, method);
    if (!m)
        return queue_without_method(l, method);
    if (!l->by_method[m->index])
        l->by_method[m->index] = queue_new(l, method, m);
    return l->by_method[m->index];
}

void names_fini(struct ledger *l)
{
    struct ledger_queue *next_queue;
    struct tenant *next;
    for (struct ledger_queue *q = l->queues; q; q = next_queue) {
        next_queue = q->next;
        free(q);
    }
    for (uint32_t i = 0; l->tenants && i < l->tenant_buckets; i++)
        for (struct tenant *t = l->tenants[i]; t; t = next) {
            next = t->next;
            tenant_free(t);
        }
    free(l->tenants);
}
