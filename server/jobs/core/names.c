#include "server/jobs/core/names.h"

#include "base/siphash.h"
#include "server/tasks/registry.h"

enum { TENANTS_IDLE = 1024 /* so many are remembered though they have no job */ };

/* --- Tenants --- */

static struct tenant *tenant_new(struct job_table *table, struct span name, uint64_t hash)
{
    struct tenant *t = calloc(1, sizeof *t + name.len + 1);
    if (!t)
        return NULL;
    t->weight = 1;
    if (name.len > 0)
        memcpy(t + 1, name.at, name.len);
    t->name = span_of(t + 1, name.len);
    t->link.hash = hash;
    hash_add(&table->tenants, &t->link);
    return t;
}

static struct tenant *find_tenant(struct job_table *table, struct span name, uint64_t hash)
{
    struct hash_link *link = hash_first(&table->tenants, hash);
    for (; link; link = hash_next(link))
        if (span_equal(((struct tenant *)link)->name, name))
            return (struct tenant *)link;
    return NULL;
}

static bool is_recent(const struct job_table *table, struct span name)
{
    return table->recent_tenant && span_equal(table->recent_tenant->name, name);
}

struct tenant *table_tenant_find(struct job_table *table, struct span name)
{
    return is_recent(table, name) ? table->recent_tenant
                                  : find_tenant(table, name, siphash(table->seed, name));
}

/* The next job is likely of the same. */
struct tenant *table_tenant(struct job_table *table, struct span name)
{
    if (is_recent(table, name))
        return table->recent_tenant;
    uint64_t hash = siphash(table->seed, name);
    struct tenant *t = find_tenant(table, name, hash);
    table->recent_tenant = t ? t : tenant_new(table, name, hash);
    return table->recent_tenant;
}

static void tenant_free(struct tenant *t)
{
    tenant_free_shares(t);
    free(t);
}

/* One with a weight was named by the configuration, and stays. */
void table_tenant_unref(struct job_table *table, struct tenant *t)
{
    if (--t->jobs > 0 || t->weight != 1 || table->tenants.count <= TENANTS_IDLE)
        return;
    hash_remove(&table->tenants, &t->link);
    if (table->recent_tenant == t)
        table->recent_tenant = NULL;
    tenant_free(t);
}

void tenant_count_open(struct job_table *table, const struct job *job, bool open)
{
    uint64_t sign = open ? 1 : (uint64_t)-1, bytes = sign * job_bytes(job);
    job->tenant->open += (uint32_t)sign;
    job->tenant->open_bytes += bytes;
    table->open += sign;
    table->open_bytes += bytes;
}

/* --- Queues --- */

static struct job_queue *queue_new(struct job_table *table, struct span name, struct method *m)
{
    struct job_queue *q = calloc(1, sizeof *q + name.len + 1);
    if (!q)
        return NULL;
    memcpy(q + 1, name.at, name.len);
    q->name = span_of(q + 1, name.len);
    q->method = m;
    *(table->queues_last ? &table->queues_last->next : &table->queues) = q;
    table->queues_last = q;
    return q;
}

static struct job_queue *queue_without_method(struct job_table *table, struct span name)
{
    for (struct job_queue *q = table->queues; q; q = q->next)
        if (!q->method && span_equal(q->name, name))
            return q;
    return queue_new(table, name, NULL);
}

struct job_queue *table_queue_find(struct job_table *table, struct span method)
{
    struct job_queue *q = table->recent_queue;
    if (q && span_equal(q->name, method))
        return q;
    struct method *m = registry_find(table->registry, method);
    if (m && table->by_method[m->index])
        table->recent_queue = table->by_method[m->index];
    return m ? table->by_method[m->index] : NULL;
}

struct job_queue *table_queue(struct job_table *table, struct span method)
{
    struct job_queue *q = table_queue_find(table, method);
    if (q)
        return q;
    struct method *m = registry_find(table->registry, method);
    if (!m)
        return queue_without_method(table, method);
    if (!table->by_method[m->index])
        table->by_method[m->index] = queue_new(table, method, m);
    return table->by_method[m->index];
}

/* --- All --- */

int names_init(struct job_table *table)
{
    hash_table_init(&table->tenants);
    table->by_method = calloc(registry_count(table->registry) + 1, sizeof(struct job_queue *));
    return table->by_method ? 0 : -1;
}

void names_fini(struct job_table *table)
{
    struct job_queue *next;
    struct hash_link *link;
    for (struct job_queue *q = table->queues; q; q = next) {
        next = q->next;
        free(q);
    }
    while ((link = hash_pop(&table->tenants)))
        tenant_free((struct tenant *)link);
    hash_table_fini(&table->tenants);
    free(table->by_method);
}

bool queue_runs(const struct job_queue *q)
{
    return q->method && !q->method->no_executor;
}
