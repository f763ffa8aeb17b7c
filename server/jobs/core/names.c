#include "server/jobs/core/names.h"

#include <assert.h>

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

static struct tenant *find_tenant(const struct job_table *table, struct span name, uint64_t hash)
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

struct tenant *table_tenant_find(const struct job_table *table, struct span name)
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

static void tenant_free(struct job_table *table, struct tenant *t)
{
    feed_tenant_gone(&table->feed, t->fed);
    tenant_board_leave(&table->board, &t->shown);
    tenant_free_shares(t);
    free(t);
}

/* One with a weight was named by the configuration, and stays. */
void table_tenant_unref(struct job_table *table, struct tenant *t)
{
    assert(t->jobs > 0);
    if (--t->jobs > 0 || t->weight != 1 || table->tenants.count <= TENANTS_IDLE)
        return;
    assert(t->open == 0 && t->open_bytes == 0 && kept_bytes(t->kept.bytes) == 0);
    assert(t->limits == 0 && t->rates == 0 && t->crons == 0);
    hash_remove(&table->tenants, &t->link);
    if (table->recent_tenant == t)
        table->recent_tenant = NULL;
    tenant_free(table, t);
}

void tenant_show_open(struct job_table *table, struct tenant *t)
{
    counter_set(&table->board.open, table->open);
    tenant_board_note(&table->board, &t->shown, t->name, t->open);
}

void tenant_count_open(struct job_table *table, const struct job *job, bool open, size_t bytes)
{
    uint64_t sign = open ? 1 : (uint64_t)-1;
    assert(bytes == job_bytes(job) && (open || job->tenant->open > 0));
    job->tenant->open += (uint32_t)sign;
    job->tenant->open_bytes += sign * bytes;
    table->open += sign;
    table->open_bytes += sign * bytes;
    assert(job->tenant->open <= table->open && job->tenant->open_bytes <= table->open_bytes);
    tenant_show_open(table, job->tenant);
}

void tenant_count_read(struct job_table *table, const struct job *job, bool read)
{
    uint64_t bytes = (read ? 1 : (uint64_t)-1) * job_bytes(job);
    job->tenant->read_bytes += bytes;
    table->read_bytes += bytes;
    assert(job->tenant->read_bytes <= table->read_bytes);
}

/* --- Queues --- */

static struct job_queue *queue_new(struct job_table *table, struct span name, uint64_t hash)
{
    struct job_queue *q = calloc(1, sizeof *q + name.len + 1);
    if (!q)
        return NULL;
    q->table = table;
    memcpy(q + 1, name.at, name.len);
    q->name = span_of(q + 1, name.len);
    q->method = registry_find(table->registry, name);
    q->link.hash = hash;
    hash_add(&table->queue_names, &q->link);
    *(table->queues_last ? &table->queues_last->next : &table->queues) = q;
    table->queues_last = q;
    q->shown_next = atomic_load_explicit(&table->shown_queues, memory_order_relaxed);
    atomic_store_explicit(&table->shown_queues, q, memory_order_release);
    return q;
}

static bool is_recent_queue(const struct job_table *table, struct span name)
{
    return table->recent_queue && span_equal(table->recent_queue->name, name);
}

static struct job_queue *find_queue(const struct job_table *table, struct span name, uint64_t hash)
{
    struct hash_link *link = hash_first(&table->queue_names, hash);
    for (; link; link = hash_next(link))
        if (span_equal(((struct job_queue *)link)->name, name))
            return (struct job_queue *)link;
    return NULL;
}

struct job_queue *table_queue_find(struct job_table *table, struct span method)
{
    if (is_recent_queue(table, method))
        return table->recent_queue;
    struct job_queue *q = find_queue(table, method, siphash(table->seed, method));
    if (q)
        table->recent_queue = q;
    return q;
}

struct job_queue *table_queue(struct job_table *table, struct span method)
{
    struct job_queue *q = table_queue_find(table, method);
    return q ? q : queue_new(table, method, siphash(table->seed, method));
}

bool queue_runs(const struct job_queue *q)
{
    const struct method *m = q->method;
    return m && m->attempts_pool && (!m->no_executor || m->elsewhere);
}

bool queue_is_local(const struct job_queue *q)
{
    return q->method && !method_of_workers(q->method) && !q->method->elsewhere;
}

bool queue_is_open(const struct job_queue *q)
{
    uint64_t open = 0;
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        open += job_state_open((enum job_state)state) ? counter_read(&q->by_state[state]) : 0;
    return open > 0;
}

static void queue_free(struct job_queue *q)
{
    free(q->offer.who);
    free(q);
}

/* --- All --- */

void names_init(struct job_table *table)
{
    hash_table_init(&table->tenants);
    hash_table_init(&table->queue_names);
}

void names_fini(struct job_table *table)
{
    struct job_queue *next;
    struct hash_link *link;
    for (struct job_queue *q = table->queues; q; q = next) {
        next = q->next;
        queue_free(q);
    }
    while ((link = hash_pop(&table->tenants)))
        tenant_free(table, (struct tenant *)link);
    hash_table_fini(&table->tenants);
    hash_table_fini(&table->queue_names);
}
