/* What the worker loop of a loop has done to its workers' connections (worker_executor.h). */
#include "base/log.h"
#include "server/workers/worker_watch.h"
#include "server/workers/workers.h"

static void joined(void *peer, struct worker_executor *r, enum ergon_error error, const char *text)
{
    struct worker *w = peer;
    char id[WORKER_ID_SIZE];

    (void)r;
    if (error != ERGON_OK)
        w->executor = NULL;
    else
        log_info("worker registered", LOG_STR("worker", worker_id(w, id)),
                 LOG_UINT("conn", conn_id(w->link->conn)),
                 LOG_PEER("peer", conn_peer(w->link->conn)), LOG_STR("name", w->name),
                 LOG_STR("version", w->version), LOG_UINT("slots", w->slots),
                 LOG_UINT("methods", w->count));
    if (error == ERGON_OK)
        worker_count(w, true);
    worker_answer_waits(w, error, text);
    if (error != ERGON_OK)
        worker_drop(w);
    else if (w->lease > 0)
        worker_lease_begin(w->link);
}

/* A peer that has several registrations is answered when all of them are settled, in whatever order
 * the manager comes to them. */
static void settled(void *peer, struct worker_executor *r, bool open)
{
    struct worker *w = peer;
    const struct worker_link *link = w->link;

    (void)r;
    worker_count_quiet(w, !open);
    w->settling = false;
    for (const struct worker *other = link->first; other; other = other->next)
        if (other->settling)
            return;
    for (w = link->first; w; w = w->next)
        if (worker_is_open(w))
            worker_answer_waits(w, ERGON_OK, NULL);
}

void rpc_serve_workers(struct rpc_loop *loop, struct worker_loop *worker_loop)
{
    const struct worker_port port = {
        .send = worker_send, .unwanted = worker_unwanted, .joined = joined, .settled = settled};

    loop->worker_loop = worker_loop;
    worker_loop_set_port(worker_loop, &port);
}
