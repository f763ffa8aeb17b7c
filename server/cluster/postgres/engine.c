/* The rows of a cluster's nodes and of their owner: see server/cluster/engine.h.
 *
 * Each call writes something, also where it reads: a transaction that wrote nothing does not wait
 * for the standby, and what it saw might be gone after a fail-over. */
#include "server/cluster/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/driver_parts.h"

#define CALL_TIMEOUT AO_S(9)
#define CALL_LEAST   AO_S(3) /* for its statements, however long the hosts took */
enum { TRIES_MOST = 2 };

struct engine {
    char *where, *cluster, *address, *version;
    char node[CLUSTER_NAME_MAX];
    uint64_t incarnation;
    uint32_t weight;
    int stop;
    /* The last number that this node has written, or tried to: none is written twice, so that after
     * a fail-over that lost one an observer never sees the same one again. */
    uint64_t renewals;
    struct connection c;
    struct values values;
    ao_time deadline; /* of the call */
    struct store_fault fault;
};

/* --- Calls --- */

static enum engine_result say_fault(const struct engine *e, char *error, size_t size)
{
    snprintf(error, size, "%s", e->fault.text);
    return e->fault.error == STORE_AWAY ? ENGINE_AWAY : ENGINE_WRONG;
}

/* False and the fault: there is no connection. */
static bool begin(struct engine *e)
{
    e->deadline = clock_monotonic() + CALL_TIMEOUT;
    e->c.cancelled = false;
    values_begin(&e->values);
    if (e->c.pg)
        return true;
    if (!connection_open(&e->c, e->where, CONNECTION_MEMBER, e->stop, &e->fault))
        return false;
    ao_time least = clock_monotonic() + CALL_LEAST;
    e->deadline = e->deadline > least ? e->deadline : least;
    return true;
}

/* A statement with what is in e->values.  NULL and the fault. */
static PGresult *run(struct engine *e, const char *sql)
{
    const struct params *p = values_end(&e->values);
    if (!p) {
        error_say(&e->fault, STORE_MEMORY, e->where, "there is no memory");
        return NULL;
    }
    PGresult *r = connection_run(&e->c, sql, p, e->deadline, e->where, &e->fault);
    values_begin(&e->values);
    return r;
}

/* A statement that is a transaction, or the end of one: its commit has waited for the standby. */
static PGresult *run_last(struct engine *e, const char *sql)
{
    PGresult *r = run(e, sql);
    if (!r || !e->c.cancelled)
        return r;
    PQclear(r);
    error_say(&e->fault, STORE_AWAY, e->where,
              "the wait for the standby was cancelled, so it is open what survives");
    return NULL;
}

/* UNCHANGED, if no row was changed. */
static enum engine_result change(struct engine *e, const char *sql, char *error, size_t size)
{
    PGresult *r = run_last(e, sql);
    if (!r)
        return say_fault(e, error, size);
    bool any = strcmp(PQcmdTuples(r), "0") != 0;
    PQclear(r);
    return any ? ENGINE_DONE : ENGINE_UNCHANGED;
}

/* --- What is read --- */

static uint64_t number(const PGresult *r, int row, int *column)
{
    int c = (*column)++;
    return PQgetisnull(r, row, c) ? 0 : value_number(PQgetvalue(r, row, c), PQgetlength(r, row, c));
}

static void text(const PGresult *r, int row, int *column, char *to, size_t size)
{
    int c = (*column)++;
    snprintf(to, size, "%.*s", PQgetlength(r, row, c), PQgetvalue(r, row, c));
}

#define OWNER_COLUMNS                                                                              \
    "coalesce(o.node, ''), o.incarnation, o.epoch, o.batch, o.boards, o.tries, o.id_mark, "        \
    "o.fence_mark"

static void read_owner(const PGresult *r, int row, int *column, struct engine_owner *o)
{
    text(r, row, column, o->node, sizeof o->node);
    o->incarnation = number(r, row, column);
    o->epoch = number(r, row, column);
    o->batch = number(r, row, column);
    o->boards = (uint32_t)number(r, row, column);
    o->tries = (uint32_t)number(r, row, column);
    o->id_mark = number(r, row, column);
    o->fence_mark = number(r, row, column);
}

static void read_node(const PGresult *r, int row, int *column, struct engine_node *n)
{
    text(r, row, column, n->node, sizeof n->node);
    n->incarnation = number(r, row, column);
    n->renewals = number(r, row, column);
    text(r, row, column, n->state, sizeof n->state);
    text(r, row, column, n->note, sizeof n->note);
    n->board = number(r, row, column);
    text(r, row, column, n->address, sizeof n->address);
    text(r, row, column, n->version, sizeof n->version);
    n->weight = (uint32_t)number(r, row, column);
}

static void read_view(const PGresult *r, struct engine_view *view)
{
    *view = (struct engine_view){0};
    for (int row = 0; row < PQntuples(r) && view->count < CLUSTER_NODES_MAX; row++) {
        int column = 0;
        read_owner(r, row, &column, &view->owner);
        view->clock = number(r, row, &column);
        view->replicates = number(r, row, &column) != 0;
        if (!PQgetisnull(r, row, column)) /* else there is no node at all */
            read_node(r, row, &column, &view->nodes[view->count++]);
    }
}

/* The UPDATE changes nothing but that the transaction waits for the standby. */
static const char look_sql[] =
    "WITH w AS (UPDATE ergon.nodes SET state = state WHERE node = $1 AND incarnation = $2) "
    "SELECT " OWNER_COLUMNS ", (1e9 * extract(epoch FROM clock_timestamp()))::bigint, "
    "current_setting('synchronous_standby_names') <> '' AND current_setting('fsync') = 'on', "
    "n.node, n.incarnation, n.renewals, n.state, n.note, n.board, n.address, n.version, n.weight "
    "FROM ergon.owner o LEFT JOIN ergon.nodes n ON true ORDER BY n.node";

static enum engine_result read_all(struct engine *e, struct engine_view *view, char *error,
                                   size_t size)
{
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    PGresult *r = run_last(e, look_sql);
    if (!r)
        return say_fault(e, error, size);
    read_view(r, view);
    PQclear(r);
    return ENGINE_DONE;
}

/* --- For the cluster's thread --- */

static void engine_close(void *engine)
{
    struct engine *e = engine;
    if (!e)
        return;
    connection_close(&e->c);
    values_free(&e->values);
    free(e->where);
    free(e->cluster);
    free(e->address);
    free(e->version);
    free(e);
}

static void *engine_open(const struct engine_setup *setup, char *error, size_t size)
{
    if (connection_check(setup->where, error, size))
        return NULL;
    struct engine *e = calloc(1, sizeof *e);
    if (e) {
        e->where = strdup(setup->where);
        e->cluster = strdup(setup->cluster ? setup->cluster : "");
        e->address = strdup(setup->address ? setup->address : "");
        e->version = strdup(setup->version ? setup->version : "");
        e->incarnation = setup->incarnation;
        e->weight = setup->weight;
        e->stop = setup->stop;
        snprintf(e->node, sizeof e->node, "%s", setup->node);
        if (e->where && e->cluster && e->address && e->version)
            return e;
    }
    engine_close(e);
    snprintf(error, size, "there is no memory for the cluster's engine");
    return NULL;
}

static enum engine_result check_cluster(struct engine *e, char *error, size_t size)
{
    char name[CLUSTER_NAME_MAX];
    int column = 0;
    PGresult *r = run(e, "SELECT name FROM ergon.cluster");
    if (!r)
        return say_fault(e, error, size);
    bool there = PQntuples(r) == 1;
    if (there)
        text(r, 0, &column, name, sizeof name);
    PQclear(r);
    if (there && strcmp(name, e->cluster) == 0)
        return ENGINE_DONE;
    error_say(&e->fault, STORE_IO, e->where,
              "its rows are those of the cluster '%s', not of '%s'; correct --cluster or the URL",
              there ? name : "", e->cluster);
    return say_fault(e, error, size);
}

/* The number of renewals leaps by chance: after a fail-over that lost a join the next one writes
 * another number than the one that was seen. */
static const char join_sql[] =
    /* Rows of nodes that stopped in order make room.  The owner's says that it is gone. */
    "WITH gone AS (DELETE FROM ergon.nodes WHERE state = 'left' AND node <> $1 "
    "AND node IS DISTINCT FROM (SELECT o.node FROM ergon.owner o) "
    "AND $6 <= (SELECT count(*) FROM ergon.nodes) RETURNING node) "
    "INSERT INTO ergon.nodes AS n (node, incarnation, renewals, state, address, version, weight) "
    "SELECT $1, $2, 1 + (1e9 * random())::bigint, 'front', $3, $4, $5::bigint::int "
    "WHERE $6 > (SELECT count(*) FROM ergon.nodes WHERE node NOT IN (SELECT node FROM gone)) "
    "OR $1 IN (SELECT node FROM ergon.nodes) ON CONFLICT (node) DO UPDATE SET "
    "incarnation = excluded.incarnation, renewals = n.renewals + excluded.renewals, "
    "state = 'front', note = '', address = excluded.address, version = excluded.version, "
    "weight = excluded.weight RETURNING renewals";

static enum engine_result say_crowded(struct engine *e, char *error, size_t size)
{
    error_say(&e->fault, STORE_IO, e->where,
              "it has the rows of %d nodes, and there is no room for '%s'; remove those that are "
              "gone: 'ergon cluster forget NODE'",
              CLUSTER_NODES_MAX, e->node);
    return say_fault(e, error, size);
}

static enum engine_result engine_join(void *engine, struct engine_view *view, char *error,
                                      size_t size)
{
    struct engine *e = engine;
    int column = 0;
    if (!begin(e))
        return say_fault(e, error, size);
    enum engine_result cluster = check_cluster(e, error, size);
    if (cluster != ENGINE_DONE)
        return cluster;
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    values_text(&e->values, e->address);
    values_text(&e->values, e->version);
    values_number(&e->values, e->weight);
    values_number(&e->values, CLUSTER_NODES_MAX);
    PGresult *r = run_last(e, join_sql);
    if (!r)
        return say_fault(e, error, size);
    if (PQntuples(r) == 0) {
        PQclear(r);
        return say_crowded(e, error, size);
    }
    uint64_t renewals = number(r, 0, &column);
    e->renewals = renewals > e->renewals ? renewals : e->renewals;
    PQclear(r);
    return read_all(e, view, error, size);
}

static enum engine_result engine_renew(void *engine, char *error, size_t size)
{
    struct engine *e = engine;
    if (!begin(e))
        return say_fault(e, error, size);
    values_number(&e->values, (int64_t)++e->renewals);
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    return change(e,
                  "UPDATE ergon.nodes SET renewals = $1 WHERE node = $2 AND incarnation = $3 "
                  "AND state <> 'dead' AND renewals < $1",
                  error, size);
}

static enum engine_result engine_look(void *engine, struct engine_view *view, char *error,
                                      size_t size)
{
    struct engine *e = engine;
    return begin(e) ? read_all(e, view, error, size) : say_fault(e, error, size);
}

/* --- To take over --- */

static enum engine_result roll_back(struct engine *e, enum engine_result outcome, char *error,
                                    size_t size)
{
    PGresult *r = run(e, "ROLLBACK");
    if (!r)
        return say_fault(e, error, size);
    PQclear(r);
    return outcome;
}

/* A statement that broke leaves no transaction open on a connection that goes on. */
static enum engine_result broke(struct engine *e, char *error, size_t size)
{
    connection_close(&e->c);
    return say_fault(e, error, size);
}

/* The next owner has a row of its own, or nobody could see its end. */
static enum engine_result lock_own_row(struct engine *e)
{
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    PGresult *r = run(e, "SELECT 1 FROM ergon.nodes WHERE node = $1 AND incarnation = $2 "
                         "AND state <> 'dead' FOR UPDATE");
    if (!r)
        return ENGINE_AWAY;
    bool any = PQntuples(r) == 1;
    PQclear(r);
    return any ? ENGINE_DONE : ENGINE_UNCHANGED;
}

/* Is it still as it was seen?  One that renews meanwhile waits for the row, and is then dead. */
static enum engine_result declare_dead(struct engine *e, const struct engine_node *dead)
{
    values_text(&e->values, dead->node);
    values_number(&e->values, (int64_t)dead->incarnation);
    values_number(&e->values, (int64_t)dead->renewals);
    PGresult *r = run(e, "UPDATE ergon.nodes SET state = 'dead' "
                         "WHERE node = $1 AND incarnation = $2 AND renewals = $3");
    if (!r)
        return ENGINE_AWAY;
    bool any = strcmp(PQcmdTuples(r), "0") != 0;
    PQclear(r);
    return any ? ENGINE_DONE : ENGINE_UNCHANGED;
}

/* `former`: empty for nobody.  What is NULL is compared, too. */
static const char take_sql[] =
    "UPDATE ergon.owner o SET node = $1, incarnation = $2, epoch = epoch + 1, batch = 0, "
    "boards = boards + $3::bigint::int, tries = tries + 1 "
    "WHERE epoch = $4 AND coalesce(node, '') = $5 AND tries < $6 "
    /* a node that joined before the upgrade was finished */
    "AND $7 >= (SELECT protocol_min FROM ergon.cluster) RETURNING " OWNER_COLUMNS;

static enum engine_result take_place(struct engine *e, const struct engine_take_over *take,
                                     struct engine_owner *owner)
{
    bool loses = take->dead.node[0] && !take->keeps_board;
    int column = 0;
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    values_number(&e->values, loses);
    values_number(&e->values, (int64_t)take->epoch);
    values_text(&e->values, take->dead.node);
    values_number(&e->values, TRIES_MOST);
    values_number(&e->values, SCHEMA_VERSION);
    PGresult *r = run(e, take_sql);
    if (!r)
        return ENGINE_AWAY;
    bool won = PQntuples(r) == 1;
    if (won)
        read_owner(r, 0, &column, owner);
    PQclear(r);
    return won ? ENGINE_DONE : ENGINE_UNCHANGED;
}

static enum engine_result engine_take_over(void *engine, const struct engine_take_over *take,
                                           struct engine_owner *owner, char *error, size_t size)
{
    struct engine *e = engine;
    enum engine_result result;
    if (!begin(e))
        return say_fault(e, error, size);
    PGresult *r = run(e, "BEGIN");
    if (!r)
        return broke(e, error, size);
    PQclear(r);
    /* In the order of all others, so that nobody waits in a circle: the owner's row, then nodes'.
     */
    r = run(e, "SELECT 1 FROM ergon.owner FOR UPDATE");
    if (!r)
        return broke(e, error, size);
    PQclear(r);
    result = lock_own_row(e);
    if (result == ENGINE_DONE && take->dead.node[0] && strcmp(take->dead.node, e->node) != 0)
        result = declare_dead(e, &take->dead);
    if (result == ENGINE_DONE)
        result = take_place(e, take, owner);
    if (result == ENGINE_UNCHANGED)
        return roll_back(e, result, error, size);
    r = result == ENGINE_DONE ? run_last(e, "COMMIT") : NULL;
    if (!r)
        return broke(e, error, size);
    PQclear(r);
    return ENGINE_DONE;
}

/* --- Words --- */

/* A drain that was asked for since the last look is kept until the owner has seen it. */
static enum engine_result engine_say(void *engine, const char *state, const char *note, char *error,
                                     size_t size)
{
    struct engine *e = engine;
    if (!begin(e))
        return say_fault(e, error, size);
    values_text(&e->values, state);
    values_text(&e->values, note ? note : "");
    values_text(&e->values, e->node);
    values_number(&e->values, (int64_t)e->incarnation);
    return change(e,
                  "UPDATE ergon.nodes SET state = CASE WHEN state = 'draining' AND "
                  "$1::text IN ('loading', 'owner') THEN state ELSE $1::text END, note = $2 "
                  "WHERE node = $3 AND incarnation = $4 AND state <> 'dead'",
                  error, size);
}

/* `forget` locks the owner's row first, so it does not delete the row of a node that becomes owner.
 * `give_up` counts the node's board as lost, since no row says what that knows; so does
 * `leave_load`, which takes the try back. */
static const struct verb {
    const char *verb, *sql;
} verbs[] = {{"drain", "UPDATE ergon.nodes SET state = 'draining' WHERE node = $1 "
                       "AND node = (SELECT o.node FROM ergon.owner o)"},
             {"forget", "WITH o AS (SELECT node FROM ergon.owner FOR UPDATE) "
                        "DELETE FROM ergon.nodes WHERE node = $1 "
                        "AND node IS DISTINCT FROM (SELECT o.node FROM o)"},
             {"retry", "UPDATE ergon.owner SET tries = 0 WHERE $1::text IS NOT NULL"},
             {"give_up", "UPDATE ergon.owner SET node = NULL, incarnation = 0, boards = boards + 1 "
                         "WHERE node = $1 AND incarnation = $2"},
             {"leave_load", "UPDATE ergon.owner SET node = NULL, incarnation = 0, "
                            "boards = boards + 1, tries = greatest(tries - 1, 0) "
                            "WHERE node = $1 AND incarnation = $2"}};

static enum engine_result engine_ask(void *engine, const char *verb, const char *node, char *error,
                                     size_t size)
{
    struct engine *e = engine;
    if (!begin(e))
        return say_fault(e, error, size);
    for (unsigned n = 0; n < sizeof verbs / sizeof *verbs; n++) {
        if (strcmp(verbs[n].verb, verb) != 0)
            continue;
        bool own = strcmp(verb, "give_up") == 0 || strcmp(verb, "leave_load") == 0;
        values_text(&e->values, own ? e->node : node ? node : "");
        if (own)
            values_number(&e->values, (int64_t)e->incarnation);
        return change(e, verbs[n].sql, error, size);
    }
    snprintf(error, size, "the cluster's engine knows no '%s'", verb);
    return ENGINE_WRONG;
}

__attribute__((visibility("default"))) extern const struct cluster_engine ergon_cluster_engine;
const struct cluster_engine ergon_cluster_engine = {.version = STORE_DRIVER_VERSION,
                                                    .open = engine_open,
                                                    .close = engine_close,
                                                    .join = engine_join,
                                                    .renew = engine_renew,
                                                    .look = engine_look,
                                                    .take_over = engine_take_over,
                                                    .say = engine_say,
                                                    .ask = engine_ask};
