/* The tenants that have most submitted tasks open; all others are one, "_other". */
#include <stdlib.h>
#include <string.h>

#include "server/metrics/families.h"

/* Names are cut: a name may have one series only. */
static bool merges(struct jobs_tenant_shown *all, uint32_t count,
                   const struct jobs_tenant_shown *one)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].name, one->name) == 0) {
            all[i].open += one->open;
            return true;
        }
    return false;
}

static uint32_t merge(struct jobs_tenant_shown *all, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!merges(all, kept, &all[i]))
            all[kept++] = all[i];
    return kept;
}

void write_tenants(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family f = {
        "ergon_tenant_open_tasks", METRICS_GAUGE, NULL,
        "Submitted tasks of the tenant that are open; of 100 that have most, the others as "
        "\"_other\"."};
    struct jobs_tenant_shown *all = malloc(JOBS_TENANTS * sizeof *all);
    uint64_t open = 0, shown = 0;
    uint32_t count = all ? merge(all, jobs_tenants(s->jobs, all, &open)) : 0;
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < count; i++) {
        labels[0] = '\0';
        metrics_count(t, &f, metrics_label(labels, sizeof labels, "tenant", all[i].name),
                      all[i].open);
        shown += all[i].open;
    }
    metrics_count(t, &f, "tenant=\"_other\"", open > shown ? open - shown : 0);
    t->failed |= !all;
    free(all);
}
