/* The next of the queue taken, and put back at the end of its tenant's share: by how many are
 * queued and how many tenants they are of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/names.h"
#include "server/jobs/sched/fair_queue.h"
#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

enum { POOL = 0, OPERATIONS = 1000000, TENANTS_MAX = 1000, ENTRIES_MAX = 1000000 };

struct queue {
    struct fair_queue pick;
    struct tenant tenants[TENANTS_MAX];
    struct job *entries;
    uint32_t tenant_count, entry_count;
    ao_time now;
};

static void put(struct queue *q, struct job *e)
{
    if (!fair_queue_add(&q->pick, e, q->now))
        exit(1);
}

static void take_and_add(void *arg)
{
    struct queue *q = arg;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        struct job *e = fair_queue_take(&q->pick);
        fair_queue_served(&q->pick, e, q->now);
        e->arrival += q->entry_count;
        q->now += 1000;
        put(q, e);
    }
}

static void fill(struct queue *q, bool priorities)
{
    q->now = 1;
    for (uint32_t i = 0; i < q->tenant_count; i++)
        q->tenants[i] = (struct tenant){.weight = 1 + i % 4};
    for (uint32_t i = 0; i < q->entry_count; i++) {
        struct job *e = &q->entries[i];
        *e = (struct job){.arrival = i + 1,
                          .tenant = &q->tenants[i % q->tenant_count],
                          .priority = priorities ? (uint8_t)(i / 7 % FAIR_LEVELS) : 5};
        put(q, e);
    }
}

static double measure(struct queue *q, uint32_t entries, uint32_t tenants, bool priorities)
{
    q->entry_count = entries;
    q->tenant_count = tenants < entries ? tenants : entries;
    fair_queue_init(&q->pick, POOL, priorities ? AO_MS(1) : 0);
    fill(q, priorities);
    double ns = bench_best(take_and_add, q, OPERATIONS);
    for (uint32_t i = 0; i < q->tenant_count; i++)
        tenant_free_shares(&q->tenants[i]);
    return ns;
}

static void row(struct report *r, struct queue *q, const char *what, uint32_t entries,
                bool priorities)
{
    static const uint32_t tenants[] = {1, 10, TENANTS_MAX};
    double ns[3];
    for (int i = 0; i < 3; i++)
        ns[i] = tenants[i] <= entries ? measure(q, entries, tenants[i], priorities) : NAN;
    report_row(r, what, ns);
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"1 tenant, ns", 1}, {"10 tenants, ns", 1}, {"1000 tenants, ns", 1}};
    static struct queue q;
    struct report r;
    report_begin(&r, "pick", argc, argv);
    q.entries = calloc(ENTRIES_MAX, sizeof *q.entries);
    if (!q.entries)
        exit(1);
    report_table(&r, "Add and take of the pick, together", "queued", columns, 3);
    row(&r, &q, "1", 1, false);
    row(&r, &q, "1 k", 1000, false);
    row(&r, &q, "1 M", ENTRIES_MAX, false);
    row(&r, &q, "1 k, all priorities, ageing", 1000, true);
    row(&r, &q, "1 M, all priorities, ageing", ENTRIES_MAX, true);
    report_end(&r);
    free(q.entries);
    return 0;
}
