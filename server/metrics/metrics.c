#include "server/metrics/metrics.h"

#include <stdlib.h>

#include "server/metrics/families.h"

struct metrics {
    const struct rpc_shared *shared;
    struct method_board *board;
};

struct metrics *metrics_new(const struct rpc_shared *shared)
{
    struct metrics *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->shared = shared;
    m->board = method_board_new();
    if (!m->board) {
        free(m);
        return NULL;
    }
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    method_board_free(m->board);
    free(m);
}

bool metrics_write(struct metrics *m, struct metrics_text *out)
{
    metrics_text_clear(out);
    write_process(out, m->shared);
    write_loops(out, m->shared);
    write_connections(out, m->shared);
    write_accounts(out, m->shared);
    write_tasks(out, m->shared);
    bool good = write_methods(out, m->shared, m->board);
    write_executors(out, m->shared);
    write_modules(out, m->shared);
    write_jobs(out, m->shared);
    write_tenants(out, m->shared);
    good = write_actors(out, m->shared) && good;
    good = write_queues(out, m->shared) && good;
    write_logs(out);
    write_cluster(out, m->shared);
    write_spans(out, m->shared);
    metrics_end(out);
    return good && !out->failed;
}
