/* The methods cluster.*: they show the cluster as this node sees it, and steer it. */
#include <stdlib.h>

#include "base/clock.h"
#include "server/cluster/cluster.h"
#include "server/rpc/cluster_methods.h"
#include "server/rpc/job_requests.h"

static const char *role_name(enum cluster_role role)
{
    static const char *const names[] = {[CLUSTER_ALONE] = "alone",
                                        [CLUSTER_FRONT] = "front",
                                        [CLUSTER_LOADING] = "loading",
                                        [CLUSTER_OWNER] = "owner",
                                        [CLUSTER_DEPOSED] = "deposed"};

    return names[role];
}

/* nil instead of an empty text. */
static void pack_key_text(struct pack *p, const char *key, const char *text)
{
    pack_key_str(p, key, text[0] ? text : NULL);
}

static void pack_ms(struct pack *p, const char *key, ao_time ns)
{
    pack_key_uint(p, key, ns / AO_MS(1));
}

static void pack_node(struct pack *p, const struct cluster_rows *rows, uint32_t i)
{
    const struct engine_node *node = &rows->view.nodes[i];
    const char *note;
    char settings[32];

    cluster_split_note(node, settings, sizeof settings, &note);
    pack_map(p, 9);
    pack_key_str(p, "node", node->node);
    pack_key_str(p, "state", rows->dead[i] ? "dead" : node->state);
    pack_key_text(p, "address", node->address);
    pack_key_str(p, "version", node->version);
    pack_key_uint(p, "weight", node->weight);
    pack_key_uint(p, "incarnation", node->incarnation);
    pack_ms(p, "silent_ms", rows->silent[i]);
    pack_key_text(p, "note", note);
    pack_key_text(p, "settings", settings);
}

static void pack_rows(struct pack *p, const struct cluster_rows *rows)
{
    pack_key_uint(p, "boards", rows->view.owner.boards);
    pack_key_uint(p, "tries", rows->view.owner.tries);
    pack_key_bool(p, "replicates", rows->view.replicates);
    pack_key_int(p, "clock_ms", rows->clock / (int64_t)AO_MS(1));
    pack_str(p, "read_ms");
    if (rows->known)
        pack_uint(p, rows->age / AO_MS(1));
    else
        pack_nil(p);
    pack_key_text(p, "trouble", rows->trouble);
    pack_str(p, "nodes");
    pack_array(p, rows->view.count);
    for (uint32_t i = 0; i < rows->view.count; i++)
        pack_node(p, rows, i);
}

static void pack_renewed(struct pack *p, const struct cluster_view *v)
{
    ao_time now = clock_boottime();

    pack_str(p, "renewed_ms");
    if (v->renewed_at > 0)
        pack_uint(p, now > v->renewed_at ? (now - v->renewed_at) / AO_MS(1) : 0);
    else
        pack_nil(p);
}

static void pack_moving(struct pack *p, const struct cluster_view *v)
{
    pack_key_text(p, "moving_from", v->moving_from);
    pack_str(p, "moving_since");
    if (v->moving_since > 0)
        pack_uint(p, v->moving_since / AO_MS(1));
    else
        pack_nil(p);
}

struct rpc_forwarded_sum rpc_forwarded(const struct rpc_shared *s)
{
    struct rpc_forwarded_sum sum = {0};

    for (uint32_t i = 0; i < s->loop_count; i++) {
        const struct rpc_forwarded *f = s->rpc_loops[i]->forwarded;
        if (!f)
            continue;
        sum.sessions += counter_read(&f->sessions);
        sum.waiting += counter_read(&f->waiting);
        sum.passed += counter_read(&f->passed);
        sum.resent += counter_read(&f->resent);
        sum.refused += counter_read(&f->refused);
        sum.unsure += counter_read(&f->unsure);
    }
    return sum;
}

static void pack_forwarded(struct pack *p, const struct rpc_shared *s)
{
    struct rpc_forwarded_sum sum = rpc_forwarded(s);

    pack_str(p, "front");
    pack_map(p, 6);
    pack_key_uint(p, "sessions", sum.sessions);
    pack_key_uint(p, "waiting", sum.waiting);
    pack_key_uint(p, "passed", sum.passed);
    pack_key_uint(p, "resent", sum.resent);
    pack_key_uint(p, "refused", sum.refused);
    pack_key_uint(p, "unsure", sum.unsure);
}

void cluster_pack(struct pack *p, const struct rpc_shared *s)
{
    const struct cluster *c = s->cluster;
    struct cluster_view v;

    pack_str(p, "cluster");
    if (!c) {
        pack_nil(p);
        return;
    }
    cluster_view(c, &v);
    pack_map(p, 8);
    pack_key_str(p, "node", v.node);
    pack_key_str(p, "role", role_name(v.role));
    pack_key_text(p, "owner", v.owner);
    pack_key_uint(p, "epoch", v.epoch);
    pack_moving(p, &v);
    pack_renewed(p, &v);
    pack_forwarded(p, s);
}

static void pack_view(struct pack *p, const struct cluster *c, const struct cluster_view *v)
{

    pack_key_text(p, "cluster", v->cluster);
    pack_key_text(p, "node", v->node);
    pack_key_str(p, "role", role_name(v->role));
    pack_key_text(p, "owner", v->owner);
    pack_key_uint(p, "epoch", v->epoch);
    pack_moving(p, v);
    pack_key_uint(p, "takeovers", v->takeovers);
    pack_renewed(p, v);
    pack_key_bool(p, "may_act", cluster_may_act(c));
}

/* cluster.status [] */
void serve_cluster_status(struct rpc_request *rq)
{
    const struct cluster *c = rq->loop->shared->cluster;
    struct cluster_rows *rows = calloc(1, sizeof *rows);
    struct cluster_view view;
    struct pack p;

    if (!rows) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    cluster_view(c, &view);
    if (c)
        cluster_rows(c, rows);
    pack_init(&p);
    pack_map(&p, 17);
    pack_view(&p, c, &view);
    pack_rows(&p, rows);
    free(rows);
    rpc_answer_packed(rq, &p);
}

static void ask(struct rpc_request *rq, const char *verb, const char *node)
{
    struct cluster *c = rq->loop->shared->cluster;
    char error[200];
    struct pack p;

    if (!c) {
        rpc_refuse(rq, ERGON_E_NOT_FOUND,
                   "there is no cluster: this server's tasks are in no database");
        return;
    }
    enum cluster_asked asked = cluster_ask(c, verb, node, error, sizeof error);
    if (asked != CLUSTER_ASKED) {
        rpc_refuse(rq, asked == CLUSTER_BUSY ? ERGON_E_BUSY : ERGON_E_NOT_FOUND, "%s%s%s", node,
                   *node ? ": " : "", error);
        return;
    }
    pack_init(&p);
    pack_str(&p, node);
    rpc_answer_packed(rq, &p);
}

/* A name that no node can have names none. */
static bool read_node(struct rpc_request *rq, char node[CLUSTER_NAME_MAX])
{
    struct span name;

    if (!rpc_read_only(rq, read_text, &name))
        return false;
    if (name.len == 0 || name.len >= CLUSTER_NAME_MAX || memchr(name.at, '\0', name.len)) {
        rpc_refuse(rq, ERGON_E_NOT_FOUND, "no node has a name of that form");
        return false;
    }
    snprintf(node, CLUSTER_NAME_MAX, "%.*s", (int)name.len, (const char *)name.at);
    return true;
}

/* --- cluster.board --- */

static bool read_begun(struct reader *r, struct board_arguments *a)
{
    uint32_t count;
    uint64_t number;

    if (!read_array(r, &count) || count % 2 != 0)
        return false;
    const uint8_t *first = r->at;
    for (uint32_t i = 0; i < count; i++)
        if (!read_uint(r, &number) || (i % 2 == 1 && number > UINT32_MAX))
            return false;
    a->begun = span_of(first, (size_t)(r->at - first));
    a->pairs = count / 2;
    return true;
}

/* cluster.board [node, epoch, [id, attempt, ...]]: of the node itself only. */
void serve_cluster_board(struct rpc_request *rq)
{
    char certificate[CLUSTER_NAME_MAX * 2];
    struct job_request jr;

    if (!rq->loop->shared->cluster) {
        rpc_refuse(rq, ERGON_E_NO_METHOD, "this server belongs to no cluster");
        return;
    }
    if (!conn_is_of_node(rq->conn, certificate, sizeof certificate)) {
        rpc_refuse(rq, ERGON_E_DENIED, "cluster.board is for nodes, at cluster.listen only");
        return;
    }
    if (!job_request_begin(&jr, rq, &operation_cluster_board, 0))
        return;
    struct board_arguments *a = &jr.op->board;
    if (jr.count != 3 || !read_text(&jr.r, &a->node) || !read_uint(&jr.r, &a->epoch) ||
        !read_begun(&jr.r, a)) {
        rpc_refuse_params(rq, "");
        job_request_abort(&jr);
    } else if (certificate[0] && !span_is(a->node, certificate)) {
        rpc_refuse(rq, ERGON_E_DENIED, "the certificate is of another node");
        job_request_abort(&jr);
    } else {
        job_request_keep(&jr, &a->node);
        job_request_keep(&jr, &a->begun);
        job_request_send(&jr, false);
    }
}

/* --- What people ask --- */

/* cluster.drain [] or [node]: the owner, where none is named */
void serve_cluster_drain(struct rpc_request *rq)
{
    char node[CLUSTER_NAME_MAX];
    struct cluster_view view;
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count > 0) {
        if (read_node(rq, node))
            ask(rq, "drain", node);
        return;
    }
    cluster_view(rq->loop->shared->cluster, &view);
    if (rq->loop->shared->cluster && view.owner[0] == '\0')
        rpc_refuse(rq, ERGON_E_NOT_FOUND, "nobody owns the tasks now");
    else
        ask(rq, "drain", view.owner);
}

/* cluster.forget [node] */
void serve_cluster_forget(struct rpc_request *rq)
{
    char node[CLUSTER_NAME_MAX];

    if (read_node(rq, node))
        ask(rq, "forget", node);
}

/* cluster.retry [] */
void serve_cluster_retry(struct rpc_request *rq)
{
    ask(rq, "retry", "");
}
