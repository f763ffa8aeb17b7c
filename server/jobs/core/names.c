/* Tenants and queues by name. */
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"
#include "base/siphash.h"

enum {
    TENANT_BUCKETS = 1024,
    TENANTS_IDLE = 1024 /* so many are remembered though they have no task */
};

/* --- Tenants --- */

static struct tenant **tenant_bucket(const struct jobs *jobs, struct span name)
{
    return &jobs->tenants[siphash(jobs->hash_seed, name) % jobs->tenant_buckets];
}

static struct tenant *tenant_new(struct jobs *jobs, struct span name)
{
    struct tenant *t = calloc(1, sizeof *t + name.len + 1);
    if (!t)
        return NULL;
    t->weight = 1;
    if (name.len > 0)
        memcpy(t + 1, name.at, name.len);
    t->name = span_of(t + 1, name.len);
    struct tenant **bucket = tenant_bucket(jobs, name);
    t->next = *bucket;
    *bucket = t;
    jobs->tenant_count++;
    return t;
}

static struct tenant *find_tenant(struct jobs *jobs, struct span name)
{
    for (struct tenant *t = *tenant_bucket(jobs, name); t; t = t->next)
        if (span_equal(t->name, name))
            return t;
    return tenant_new(jobs, name);
}

/* The next task is likely of the same. */
struct tenant *jobs_tenant(struct jobs *jobs, struct span name)
{
    if (!jobs->recent_tenant || !span_equal(jobs->recent_tenant->name, name))
        jobs->recent_tenant = find_tenant(jobs, name);
    return jobs->recent_tenant;
}

static void tenant_free(struct tenant *t)
{
    for (unsigned i = 0; i < JOB_KINDS; i++)
        free(t->shares[i]);
    free(t);
}

/* One with a weight was named by the configuration, and stays. */
void tenant_unref(struct jobs *jobs, struct tenant *t)
{
    if (--t->entries > 0 || t->weight != 1 || jobs->tenant_count <= TENANTS_IDLE)
        return;
    struct tenant **link = tenant_bucket(jobs, t->name);
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    if (jobs->recent_tenant == t)
        jobs->recent_tenant = NULL;
    jobs->tenant_count--;
    tenant_free(t);
}

int names_init(struct jobs *jobs)
{
    jobs->tenant_buckets = TENANT_BUCKETS;
    jobs->tenants = calloc(TENANT_BUCKETS, sizeof(struct tenant *));
    if (!jobs->tenants)
        return -1;
    for (uint32_t i = 0; i < jobs->options.tenant_count; i++) {
        const struct jobs_tenant *configured = &jobs->options.tenants[i];
        struct tenant *t = jobs_tenant(jobs, span_text(configured->name));
        if (!t)
            return -1;
        t->weight = configured->weight;
    }
    return 0;
}

/* --- Queues --- */

static struct job_queue *queue_new(struct jobs *jobs, struct span name, struct method *m)
{
    struct job_queue *q = calloc(1, sizeof *q + name.len + 1);
    if (!q)
        return NULL;
    memcpy(q + 1, name.at, name.len);
    q->name = span_of(q + 1, name.len);
    q->method = m;
    *(jobs->queues_last ? &jobs->queues_last->next : &jobs->queues) = q;
    jobs->queues_last = q;
    return q;
}

static struct job_queue *queue_without_method(struct jobs *jobs, struct span name)
{
    for (struct job_queue *q = jobs->queues; q; q = q->next)
        if (!q->method && span_equal(q->name, name))
            return q;
    return queue_new(jobs, name, NULL);
}

struct job_queue *job_queue_find(struct jobs *jobs, struct span method)
{
    struct job_queue *q = jobs->recent_queue;
    if (q && span_equal(q->name, method))
        return q;
    struct method *m = registry_find(jobs->options.registry, method);
    if (m && jobs->by_method[m->index])
        jobs->recent_queue = jobs->by_method[m->index];
    return m ? jobs->by_method[m->index] : NULL;
}

struct job_queue *job_queue(struct jobs *jobs, struct span method)
{
    struct job_queue *q = job_queue_find(jobs, method);
    if (q)
        return q;
    struct method *m = registry_find(jobs->options.registry, method);
    if (!m)
        return queue_without_method(jobs, method);
    if (!jobs->by_method[m->index])
        jobs->by_method[m->index] = queue_new(jobs, method, m);
    return jobs->by_method[m->index];
}

void names_fini(struct jobs *jobs)
{
    struct job_queue *next_queue;
    struct tenant *next;
    for (struct job_queue *q = jobs->queues; q; q = next_queue) {
        next_queue = q->next;
        free(q);
    }
    for (uint32_t i = 0; jobs->tenants && i < jobs->tenant_buckets; i++)
        for (struct tenant *t = jobs->tenants[i]; t; t = next) {
            next = t->next;
            tenant_free(t);
        }
    free(jobs->tenants);
}
