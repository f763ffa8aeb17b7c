/* The engine of a cluster on the model: the same transactions as server/cluster/postgres/engine.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/pg/handle_parts.h"

#define CALL_TIMEOUT UINT64_C(9000000000)

struct engine {
    struct pg *pg;
    struct engine_setup setup;
    char cluster[CLUSTER_NAME_MAX], node[CLUSTER_NAME_MAX];
    char address[CLUSTER_ADDRESS_MAX], version[32];
    uint64_t renewals;
    struct pg_link *link;
    uint64_t deadline;
    char wrong[64];
};

/* --- Calls --- */

static enum engine_result away(struct engine *e, const char *why, char *error, size_t size)
{
    pg_close(e->link);
    e->link = NULL;
    snprintf(error, size, "the model of PostgreSQL: %s", why);
    return ENGINE_AWAY;
}

static bool begin(struct engine *e)
{
    e->deadline = pg_now(e->pg) + CALL_TIMEOUT;
    if (!e->link)
        e->link = pg_open_link(e->pg, e->node);
    return e->link != NULL;
}

static struct pg_call *call_new(const struct engine *e, enum pg_kind kind)
{
    struct pg_call *call = pg_call_new(kind);
    memcpy(call->node, e->node, sizeof call->node);
    call->incarnation = e->setup.incarnation;
    return call;
}

/* DONE and the answer, which the caller frees; or the result that the call has.  Frees the call. */
static enum engine_result run(struct engine *e, struct pg_call *call, struct pg_call **answer,
                              char *error, size_t size)
{
    *answer = pg_ask(e->pg, e->link, call, e->deadline);
    if (!*answer)
        return away(e, "the connection broke, or the engine does not answer", error, size);
    if (!(*answer)->state[0])
        return ENGINE_DONE;
    snprintf(error, size, "the model of PostgreSQL: %s", (*answer)->state);
    bool leaves = pg_error_kind((*answer)->state) == PG_AWAY;
    bool is_away = pg_error_store((*answer)->state) == STORE_AWAY;
    pg_call_free(*answer);
    *answer = NULL;
    if (leaves) {
        pg_close(e->link);
        e->link = NULL;
    }
    return is_away ? ENGINE_AWAY : ENGINE_WRONG;
}

/* A statement that is a transaction, or the end of one. */
static enum engine_result run_last(struct engine *e, struct pg_call *call, struct pg_call **answer,
                                   char *error, size_t size)
{
    enum engine_result result = run(e, call, answer, error, size);
    if (result != ENGINE_DONE || !(*answer)->cancelled)
        return result;
    pg_call_free(*answer);
    *answer = NULL;
    snprintf(error, size, "the model of PostgreSQL: the wait for the standby was cancelled");
    return ENGINE_AWAY;
}

static enum engine_result change(struct engine *e, struct pg_call *call, char *error, size_t size)
{
    struct pg_call *answer;
    enum engine_result result = run_last(e, call, &answer, error, size);
    if (result == ENGINE_DONE && answer->rows == 0)
        result = ENGINE_UNCHANGED;
    pg_call_free(answer);
    return result;
}

/* --- For the cluster's thread --- */

static void *engine_open(const struct engine_setup *setup, char *error, size_t size)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error, size, "there is no memory for the cluster's engine");
        return NULL;
    }
    e->pg = pg_here;
    e->setup = *setup;
    snprintf(e->cluster, sizeof e->cluster, "%s", setup->cluster ? setup->cluster : "");
    snprintf(e->node, sizeof e->node, "%s", setup->node);
    snprintf(e->address, sizeof e->address, "%s", setup->address ? setup->address : "");
    snprintf(e->version, sizeof e->version, "%s", setup->version ? setup->version : "");
    return e;
}

static void engine_close(void *engine)
{
    struct engine *e = engine;
    if (!e)
        return;
    pg_close(e->link);
    free(e);
}

static enum engine_result read_all(struct engine *e, struct engine_view *view, char *error,
                                   size_t size)
{
    struct pg_call *answer;
    enum engine_result result = run_last(e, call_new(e, PG_LOOK), &answer, error, size);
    if (result == ENGINE_DONE)
        *view = *answer->view;
    pg_call_free(answer);
    return result;
}

static enum engine_result engine_look(void *engine, struct engine_view *view, char *error,
                                      size_t size)
{
    struct engine *e = engine;
    return begin(e) ? read_all(e, view, error, size)
                    : away(e, "no primary is reached", error, size);
}

static enum engine_result check_cluster(struct engine *e, char *error, size_t size)
{
    struct pg_call *answer;
    enum engine_result result = run(e, call_new(e, PG_CLUSTER), &answer, error, size);
    if (result == ENGINE_DONE && strcmp(answer->node, e->cluster) != 0) {
        snprintf(error, size, "the model of PostgreSQL: its rows are those of the cluster '%s'",
                 answer->node);
        result = ENGINE_WRONG;
    }
    pg_call_free(answer);
    return result;
}

static enum engine_result engine_join(void *engine, struct engine_view *view, char *error,
                                      size_t size)
{
    struct engine *e = engine;
    struct pg_call *answer;
    if (!begin(e))
        return away(e, "no primary is reached", error, size);
    enum engine_result result = check_cluster(e, error, size);
    if (result != ENGINE_DONE)
        return result;
    struct pg_call *call = call_new(e, PG_JOIN);
    struct engine_node *row = &call->row;
    *row = (struct engine_node){.incarnation = e->setup.incarnation, .weight = e->setup.weight};
    memcpy(row->node, e->node, sizeof row->node);
    memcpy(row->address, e->address, sizeof row->address);
    memcpy(row->version, e->version, sizeof row->version);
    snprintf(row->state, sizeof row->state, "front");
    result = run_last(e, call, &answer, error, size);
    if (result != ENGINE_DONE)
        return result;
    e->renewals = answer->renewals > e->renewals ? answer->renewals : e->renewals;
    pg_call_free(answer);
    return read_all(e, view, error, size);
}

static enum engine_result engine_renew(void *engine, char *error, size_t size)
{
    struct engine *e = engine;
    if (!begin(e))
        return away(e, "no primary is reached", error, size);
    struct pg_call *call = call_new(e, PG_RENEW);
    call->renewals = ++e->renewals;
    return change(e, call, error, size);
}

/* --- To take over --- */

/* One statement of the transaction; UNCHANGED: it found no row, where it has to. */
static enum engine_result part(struct engine *e, struct pg_call *call, bool finds,
                               struct engine_owner *owner, char *error, size_t size)
{
    struct pg_call *answer;
    enum engine_result result = run(e, call, &answer, error, size);
    if (result == ENGINE_DONE && finds && answer->rows == 0)
        result = ENGINE_UNCHANGED;
    if (result == ENGINE_DONE && owner)
        *owner = answer->owner.row;
    pg_call_free(answer);
    return result;
}

static enum engine_result take(struct engine *e, const struct engine_take_over *take,
                               struct engine_owner *owner, char *error, size_t size)
{
    const char *dead = take->dead.node;
    enum engine_result result = part(e, call_new(e, PG_BEGIN), false, NULL, error, size);
    if (result == ENGINE_DONE)
        result = part(e, call_new(e, PG_LOCK_OWNER), false, NULL, error, size);
    if (result == ENGINE_DONE)
        result = part(e, call_new(e, PG_LOCK_OWN_ROW), true, NULL, error, size);
    if (result == ENGINE_DONE && dead[0] && strcmp(dead, e->node) != 0) {
        struct pg_call *call = call_new(e, PG_DECLARE_DEAD);
        snprintf(call->former, sizeof call->former, "%s", dead);
        call->incarnation = take->dead.incarnation;
        call->renewals = take->dead.renewals;
        result = part(e, call, true, NULL, error, size);
    }
    if (result != ENGINE_DONE)
        return result;
    struct pg_call *call = call_new(e, PG_TAKE_PLACE);
    snprintf(call->former, sizeof call->former, "%s", dead);
    call->epoch = take->epoch;
    call->loses_board = dead[0] && !take->keeps_board;
    return part(e, call, true, owner, error, size);
}

static enum engine_result engine_take_over(void *engine, const struct engine_take_over *asked,
                                           struct engine_owner *owner, char *error, size_t size)
{
    struct engine *e = engine;
    struct pg_call *answer = NULL;
    if (!begin(e))
        return away(e, "no primary is reached", error, size);
    enum engine_result result = take(e, asked, owner, error, size);
    if (result == ENGINE_UNCHANGED) {
        enum engine_result back = run(e, call_new(e, PG_ROLLBACK), &answer, error, size);
        result = back == ENGINE_DONE ? result : back;
    } else if (result == ENGINE_DONE) {
        result = run_last(e, call_new(e, PG_COMMIT), &answer, error, size);
    }
    pg_call_free(answer);
    if (result == ENGINE_AWAY || result == ENGINE_WRONG) { /* no transaction stays open */
        pg_close(e->link);
        e->link = NULL;
    }
    return result;
}

/* --- Words --- */

static enum engine_result engine_say(void *engine, const char *state, const char *note, char *error,
                                     size_t size)
{
    struct engine *e = engine;
    if (!begin(e))
        return away(e, "no primary is reached", error, size);
    struct pg_call *call = call_new(e, PG_SAY);
    snprintf(call->row.state, sizeof call->row.state, "%s", state);
    snprintf(call->row.note, sizeof call->row.note, "%s", note ? note : "");
    return change(e, call, error, size);
}

static enum engine_result engine_ask(void *engine, const char *verb, const char *node, char *error,
                                     size_t size)
{
    static const struct {
        const char *verb;
        enum pg_kind kind;
        bool own;
    } verbs[] = {{"drain", PG_DRAIN, false},
                 {"forget", PG_FORGET, false},
                 {"retry", PG_RETRY, false},
                 {"give_up", PG_GIVE_UP, true},
                 {"leave_load", PG_LEAVE_LOAD, true}};
    struct engine *e = engine;
    if (!begin(e))
        return away(e, "no primary is reached", error, size);
    for (unsigned n = 0; n < sizeof verbs / sizeof *verbs; n++) {
        if (strcmp(verbs[n].verb, verb) != 0)
            continue;
        struct pg_call *call = call_new(e, verbs[n].kind);
        if (!verbs[n].own)
            snprintf(call->node, sizeof call->node, "%s", node ? node : "");
        return change(e, call, error, size);
    }
    snprintf(error, size, "the cluster's engine knows no '%s'", verb);
    return ENGINE_WRONG;
}

const struct cluster_engine pg_cluster_engine = {.version = STORE_DRIVER_VERSION,
                                                 .open = engine_open,
                                                 .close = engine_close,
                                                 .join = engine_join,
                                                 .renew = engine_renew,
                                                 .look = engine_look,
                                                 .take_over = engine_take_over,
                                                 .say = engine_say,
                                                 .ask = engine_ask};
