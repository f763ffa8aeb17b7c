/* Workers of one connection, from their registration until the connection is gone; and the requests
 * of peers about workers, which wait for what the manager says. */
#include <stdio.h>
#include <stdlib.h>

#include "base/chance.h"
#include "base/log.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/oversight.h"
#include "server/net/holdings.h"
#include "server/workers/worker_process.h"

const char *worker_id_text(uint32_t number, char buf[WORKER_ID_SIZE])
{
    snprintf(buf, WORKER_ID_SIZE, "w%u", (unsigned)number);
    return buf;
}

const char *worker_id(const struct worker *w, char buf[WORKER_ID_SIZE])
{
    struct worker_executor_info info = {0};

    if (w->executor)
        worker_executor_info(w->executor, &info);
    return worker_id_text(info.number, buf);
}

void worker_pack_settled(struct pack *p, const char *id, uint32_t slots, uint32_t methods,
                         uint32_t out)
{
    pack_map(p, 4);
    pack_key_str(p, "worker", id);
    pack_key_uint(p, "slots", slots);
    pack_key_uint(p, "methods", methods);
    pack_key_uint(p, "out", out);
}

bool worker_is_open(const struct worker *w)
{
    struct worker_executor_info info;

    if (!w->executor)
        return false;
    worker_executor_info(w->executor, &info);
    return info.state == WORKER_OPEN || info.state == WORKER_QUIET;
}

void worker_why(const struct worker *w, const char *why, char *buf, size_t size)
{
    char id[WORKER_ID_SIZE];

    snprintf(buf, size, "worker %s at %s: %s", worker_id(w, id), conn_peer(w->link->conn), why);
}

static const char offer[] = "worker.offer.";

bool worker_may_offer(const struct connection *c, struct span method)
{
    char right[sizeof offer + METHOD_NAME_MAX];

    if (method.len > METHOD_NAME_MAX)
        return false;
    memcpy(right, offer, sizeof offer - 1);
    if (method.len > 0)
        memcpy(right + sizeof offer - 1, method.at, method.len);
    return conn_may(c, span_of(right, sizeof offer - 1 + method.len));
}

/* --- Requests that wait for the manager --- */

struct worker_wait {
    struct call call; /* first */
    struct worker_wait *next;
    struct worker *worker; /* NULL: it is not there any more */
};

static struct worker_wait *wait_of(struct call *call)
{
    return ao_of(call, struct worker_wait, call);
}

struct worker_wait *worker_wait_new(struct rpc_request *rq, struct worker *w)
{
    struct worker_wait *wait = calloc(1, sizeof *wait);

    if (!wait) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return NULL;
    }
    wait->worker = w;
    wait->next = w->waits;
    w->waits = wait;
    rpc_open_call(rq, &wait->call, CALL_WORKER, true);
    conn_hold(rq->conn, sizeof *wait);
    return wait;
}

bool call_is_worker_wait(const struct call *call)
{
    return call->tag & CALL_WORKER;
}

static void end(struct worker_wait *wait)
{
    struct connection *c = wait->call.owner;

    call_unlink(&wait->call);
    conn_hold(c, -(int64_t)sizeof *wait);
    free(wait);
    conn_call_ended(c, true);
}

void worker_wait_give_up(struct call *call)
{
    struct worker_wait **at = &wait_of(call)->worker->waits;

    while (*at != wait_of(call))
        at = &(*at)->next;
    *at = wait_of(call)->next;
    end(wait_of(call));
}

static void answer_with_figures(const struct worker_wait *wait)
{
    const struct worker *w = wait->worker;
    char id[WORKER_ID_SIZE];
    struct worker_executor_info info;
    struct pack p;

    worker_executor_info(w->executor, &info);
    pack_init(&p);
    worker_pack_settled(&p, worker_id(w, id), w->slots, w->count, info.out);
    struct span msgid = span_of(wait->call.msgid, wait->call.msgid_len);
    if (p.failed)
        answer_error(wait->call.owner, msgid, ERGON_E_MEMORY, NULL, (struct span){0});
    else
        answer_result(wait->call.owner, msgid, pack_bytes(&p));
    pack_fini(&p);
}

void worker_answer_waits(struct worker *w, enum ergon_error error, const char *text)
{
    struct worker_wait *wait;

    while ((wait = w->waits)) {
        w->waits = wait->next;
        if (wait->call.msgid_len == 0)
            ;
        else if (error == ERGON_OK)
            answer_with_figures(wait);
        else
            answer_error(wait->call.owner, span_of(wait->call.msgid, wait->call.msgid_len), error,
                         NULL, span_text(text));
        end(wait);
    }
}

/* --- The link --- */

struct worker_link *worker_link_of(struct rpc_loop *loop, struct connection *c)
{
    struct worker_link *link = conn_service(c);

    if (link)
        return link;
    link = calloc(1, sizeof *link);
    if (!link || !chance_bytes(link->seed, sizeof link->seed) || !conn_set_service(c, link)) {
        free(link);
        return NULL;
    }
    link->loop = loop;
    link->conn = c;
    hash_table_init(&link->offers);
    requests_init(&link->requests, activator_random(loop->activator));
    link->rights = conn_rights(c);
    worker_process_open(link);
    link->charged = sizeof *link;
    conn_hold(c, sizeof *link);
    return link;
}

void worker_link_settle(struct worker_link *link)
{
    uint64_t now = sizeof *link + link->requests.room * sizeof(struct request);

    if (now == link->charged)
        return;
    conn_hold(link->conn, (int64_t)(now - link->charged));
    link->charged = now;
}

static void link_free(struct worker_link *link)
{
    if (link->leased) {
        ao_deactivate(&link->lease);
        ao_fini(&link->lease);
    }
    if (link->watched) {
        ao_deactivate(&link->late);
        ao_fini(&link->late);
    }
    worker_process_close(link);
    requests_fini(&link->requests);
    hash_table_fini(&link->offers);
    conn_set_service(link->conn, NULL);
    conn_hold(link->conn, -(int64_t)link->charged);
    free(link);
}

struct worker *worker_of(const struct worker_link *link, const struct task *t)
{
    struct worker *w = link->first;

    while (w->executor != worker_executor_of_task(t))
        w = w->next;
    return w;
}

void worker_note_begun(struct worker_link *link)
{
    uint64_t handed = conn_handed(link->conn);
    void *waiter;

    while ((waiter = requests_begun(&link->requests, handed)))
        if (waiter != &link->ping)
            worker_executor_begun(worker_of(link, waiter)->executor, waiter);
}

void worker_count_quiet(struct worker *w, bool quiet)
{
    if (!w->counted || w->quiet == quiet)
        return;
    w->quiet = quiet;
    counter_add(&w->link->loop->stats.workers_quiet, quiet ? 1 : (uint64_t)-1);
}

void worker_count(struct worker *w, bool here)
{
    struct rpc_stats *stats = &w->link->loop->stats;
    uint64_t sign = here ? 1 : (uint64_t)-1;

    if (w->counted == here)
        return;
    worker_count_quiet(w, false);
    w->counted = here;
    counter_add(&stats->workers, sign);
    counter_add(&stats->worker_slots, sign * w->slots);
    counter_add(&stats->workers_gone, !here);
}

static void worker_free(struct worker *w)
{
    struct worker_link *link = w->link;
    struct worker **at = &link->first;

    assert(!w->waits);
    worker_count(w, false);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    for (uint32_t i = 0; i < w->count; i++)
        hash_remove(&link->offers, &w->offers[i].link);
    conn_hold(link->conn, -(int64_t)w->holds);
    free(w);
}

void worker_drop(struct worker *w)
{
    struct worker_link *link = w->link;

    worker_free(w);
    if (link->first || link->why)
        return;
    conn_serve(link->conn, false);
    link_free(link);
}

void worker_close(struct worker_link *link, const char *why)
{
    char name[160];

    if (link->why)
        return;
    link->why = why;
    worker_why(link->first, why, name, sizeof name);
    log_warn("connection of a worker closed", LOG_UINT("conn", conn_id(link->conn)),
             LOG_STR("reason", name));
    conn_close(link->conn, why);
}

static void log_lost(const struct worker *w, const char *why)
{
    struct worker_executor_info info;
    char id[WORKER_ID_SIZE];

    worker_executor_info(w->executor, &info);
    log_info("worker gone", LOG_STR("worker", worker_id(w, id)),
             LOG_UINT("conn", conn_id(w->link->conn)), LOG_STR("reason", why),
             LOG_UINT("out", info.out));
}

void worker_gone(struct connection *c, const char *why)
{
    struct worker_link *link = conn_service(c);
    char text[200];

    if (!link)
        return;
    worker_note_begun(link);
    for (struct worker *w = link->first; w; w = w->next)
        if (w->executor)
            log_lost(w, link->why ? link->why : why);
    if (worker_is_process(link))
        worker_process_ended(link);
    struct worker *known = link->first;
    while (known && !known->executor)
        known = known->next;
    if (known) {
        worker_why(known, link->why ? link->why : why, text, sizeof text);
        worker_executor_lost(known->executor, text); /* and all beside it */
    }
    while (link->first) {
        worker_answer_waits(link->first, ERGON_E_NOT_FOUND, "the worker has gone");
        worker_free(link->first);
    }
    link_free(link);
}

bool worker_flushed(struct connection *c)
{
    struct worker_link *link = conn_service(c);

    if (!link)
        return false;
    if (link->why)
        return true;
    worker_note_begun(link);
    for (struct worker *w = link->first; w && !conn_output_full(c); w = w->next)
        if (w->full) {
            w->full = false;
            worker_executor_flushed(w->executor);
        }
    return true;
}
