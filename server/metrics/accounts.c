/* Memory, and the principals that have most tasks. */
#include <stdlib.h>
#include <string.h>

#include "server/metrics/families.h"
#include "server/metrics/metrics.h"

/* Names are cut: a name may have one series only. */
static bool merges(struct account_top *all, uint32_t count, const struct account_top *one)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].name, one->name) == 0) {
            all[i].queued += one->queued;
            all[i].places += one->places;
            return true;
        }
    return false;
}

static uint32_t merge(struct account_top *all, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!merges(all, kept, &all[i]))
            all[kept++] = all[i];
    return kept;
}

static void write_top(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family queued = {
        "ergon_principal_queued_tasks", METRICS_GAUGE, NULL,
        "Tasks of the principal's calls that wait for an executor; of the 100 that have most."};
    static const struct metrics_family parked = {
        "ergon_principal_parked_tasks", METRICS_GAUGE, NULL,
        "Tasks of the principal that are parked or take turns; of the same."};
    struct account_top *top = malloc(METRICS_ACCOUNTS * sizeof *top);
    uint32_t count = top ? merge(top, accounts_top(s->accounts, top, METRICS_ACCOUNTS)) : 0;
    char labels[LABELS_MAX];

    metrics_begin(t, &queued);
    for (uint32_t i = 0; i < count; i++) {
        labels[0] = '\0';
        metrics_count(t, &queued, metrics_label(labels, sizeof labels, "principal", top[i].name),
                      top[i].queued);
    }
    metrics_begin(t, &parked);
    for (uint32_t i = 0; i < count; i++) {
        labels[0] = '\0';
        metrics_count(t, &parked, metrics_label(labels, sizeof labels, "principal", top[i].name),
                      top[i].places);
    }
    t->failed |= !top;
    free(top);
}

void write_accounts(struct metrics_text *t, const struct rpc_shared *s)
{
    struct accounts_figures f = accounts_figures(s->accounts);
    const struct account_limits *limits = accounts_limits(s->accounts);

    write_one(t, "ergon_account_bytes", METRICS_GAUGE, "bytes", f.bytes,
              "Memory that is charged to all principals together.");
    write_one(t, "ergon_account_input_bytes", METRICS_GAUGE, "bytes", f.input,
              "Of that, input that has not begun.");
    write_one(t, "ergon_account_limit_bytes", METRICS_GAUGE, "bytes", limits->bytes_in_all,
              "The most that may be charged.");
    write_one(t, "ergon_partial_bytes", METRICS_GAUGE, "bytes", f.unfinished,
              "Messages that are not whole.");
    write_one(t, "ergon_account_stops", METRICS_COUNTER, NULL, f.stopped,
              "Times that a connection was not read on for want of room.");
    write_top(t, s);
}
