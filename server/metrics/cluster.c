/* Of a cluster: its owner and its nodes, as this node sees them.  A server that belongs to none has
 * no such family. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/cluster/cluster.h"
#include "server/metrics/families.h"

static void write_nodes(struct metrics_text *t, const struct cluster_rows *rows)
{
    static const char *const states[] = {"front", "loading", "owner", "draining", "dead", "left"};
    enum { STATES = sizeof states / sizeof *states };
    static const struct metrics_family nodes = {"ergon_cluster_nodes", METRICS_GAUGE, NULL,
                                                "Nodes of the cluster, by what they are."};
    uint64_t counts[STATES] = {0};
    char labels[LABELS_MAX];

    for (uint32_t i = 0; i < rows->view.count; i++)
        for (size_t k = 0; k < STATES; k++)
            counts[k] += strcmp(states[k], rows->dead[i] ? "dead" : rows->view.nodes[i].state) == 0;
    metrics_begin(t, &nodes);
    for (size_t k = 0; k < STATES; k++) {
        labels[0] = '\0';
        metrics_count(t, &nodes, metrics_label(labels, sizeof labels, "state", states[k]),
                      counts[k]);
    }
}

static void write_view(struct metrics_text *t, const struct cluster_view *v)
{
    ao_time now = clock_boottime();

    write_one(t, "ergon_cluster_owner", METRICS_GAUGE, NULL, v->role == CLUSTER_OWNER,
              "1 while this node owns the tasks.");
    write_one(t, "ergon_cluster_owner_known", METRICS_GAUGE, NULL,
              v->owner[0] != '\0' && v->moving_since == 0,
              "1 while this node knows of an owner that serves.");
    write_one(t, "ergon_cluster_epoch", METRICS_GAUGE, NULL, v->epoch,
              "Owners that there were so far.");
    write_one(t, "ergon_cluster_takeovers", METRICS_COUNTER, NULL, v->takeovers,
              "Times that this process took over.");
    write_one_ns(t, "ergon_cluster_renewal_age_seconds", METRICS_GAUGE,
                 now > v->renewed_at ? now - v->renewed_at : 0,
                 "Age of this node's last acknowledged renewal.");
}

static void write_forwarded(struct metrics_text *t, const struct rpc_shared *s)
{
    struct rpc_forwarded_sum sum = rpc_forwarded(s);

    write_one(t, "ergon_front_sessions", METRICS_GAUGE, NULL, sum.sessions,
              "Open sessions to the owner, each for one connection of a client.");
    write_one(t, "ergon_front_waiting_requests", METRICS_GAUGE, NULL, sum.waiting,
              "Requests that wait here for an owner.");
    write_one(t, "ergon_front_requests", METRICS_COUNTER, NULL, sum.passed,
              "Requests that the owner had to answer.");
    write_one(t, "ergon_front_resent", METRICS_COUNTER, NULL, sum.resent,
              "Of these, sent again to the next owner.");
    write_one(t, "ergon_front_refused", METRICS_COUNTER, NULL, sum.refused,
              "Of these, answered BUSY, since no owner could be reached.");
    write_one(t, "ergon_front_unsure", METRICS_COUNTER, NULL, sum.unsure,
              "Of these, answered UNSURE, since the owner was lost.");
}

void write_cluster(struct metrics_text *t, const struct rpc_shared *s)
{
    struct cluster_rows *rows = s->cluster ? malloc(sizeof *rows) : NULL;
    struct cluster_view view;

    if (!s->cluster)
        return;
    cluster_view(s->cluster, &view);
    write_view(t, &view);
    write_forwarded(t, s);
    t->failed |= !rows;
    if (!rows)
        return;
    cluster_rows(s->cluster, rows);
    write_one(t, "ergon_cluster_replicates", METRICS_GAUGE, NULL, rows->view.replicates,
              "1 while commits wait for a standby.");
    write_nodes(t, rows);
    free(rows);
}
