#include "server/store/postgres/statements.h"

#include <stdio.h>

#include "base/clock.h"
#include "server/store/postgres/sql.h"

#define PREPARE_TIMEOUT AO_S(8)

#define ACTOR_KEYS   "unnest($1::text[], $2::text[], $3::text[])"
#define ACTOR_OF_KEY "a.type = k.type AND a.key = k.key AND a.tenant = k.tenant"

static const char *const texts[STATEMENTS] = {
    [STATEMENT_FENCE] = "SELECT ergon.fence($1::bigint, $2::bigint, $3::bigint, $4::bigint, "
                        "$5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint, "
                        "$11::bigint, $12::bigint, $13::bigint, $14::bigint, $15::boolean, "
                        "$16::boolean, $17::bigint)",
    [STATEMENT_SETTLE] = "WITH u AS (UPDATE ergon.owner SET session = session + 1 "
                         "WHERE epoch = $1::bigint RETURNING session, batch) SELECT u.session, "
                         "u.batch, o.epoch FROM ergon.owner o LEFT JOIN u ON true",
    [STATEMENT_LEVEL] = "SELECT (" SQL_LEVEL ")::bigint",
    [STATEMENT_HURRY] = "SELECT set_config('lock_timeout', '300ms', true)",
    [STATEMENT_LOOK] =
        "SELECT (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
        "WHERE relnamespace = 'ergon'::regnamespace AND relkind = 'r'), "
        "(SELECT (1e9 * extract(epoch FROM min(flush_lag)))::bigint FROM pg_stat_replication "
        "WHERE sync_state IN ('sync', 'quorum')), (SELECT protocol_min FROM ergon.cluster)",
    [STATEMENT_DURABLE] = "UPDATE ergon.submissions s SET durable = u.durable FROM "
                          "unnest($1::bigint[], $2::text[]) AS u(id, durable) WHERE s.id = u.id",
    [STATEMENT_SETTLED] = "UPDATE ergon.options SET after = NULL, after_any = NULL "
                          "WHERE id = ANY ($1::bigint[])",
    [STATEMENT_TRIM] = "DELETE FROM ergon.events e USING unnest($1::bigint[], $2::bigint[]) "
                       "AS u(task, oldest) "
                       "WHERE e.task = u.task AND e.seq > 1 AND e.seq < u.oldest",
    [STATEMENT_REMOVE_EVENTS] = "DELETE FROM ergon.events WHERE task = ANY ($1::bigint[])",
    [STATEMENT_REMOVE_OPTIONS] = "DELETE FROM ergon.options WHERE id = ANY ($1::bigint[])",
    [STATEMENT_REMOVE_LIFE] = "DELETE FROM ergon.lives WHERE id = ANY ($1::bigint[])",
    [STATEMENT_REMOVE] = "DELETE FROM ergon.submissions WHERE id = ANY ($1::bigint[])",
    [STATEMENT_REMOVE_ACTORS] = "DELETE FROM ergon.actors a USING " ACTOR_KEYS " AS k(type, key, "
                                "tenant) WHERE " ACTOR_OF_KEY,
    [STATEMENT_DUE_BACK] = "UPDATE ergon.lives SET due_at = greatest(due_at - $1::bigint, 1) "
                           "WHERE due_at > 0",
    [STATEMENT_DEADLINES_BACK] =
        "UPDATE ergon.options o SET deadline_at = greatest(deadline_at - $1::bigint, 1) "
        "WHERE deadline_at > 0 AND NOT EXISTS "
        "(SELECT FROM ergon.lives l WHERE l.id = o.id AND l.ended_at > 0)",
    [STATEMENT_HOLDS_BACK] = "UPDATE ergon.holds SET ends_at = greatest(ends_at - $1::bigint, 1) "
                             "WHERE ends_at > 0",
    [STATEMENT_COUNT] =
        "SELECT o.submitted, o.done, o.failed, o.cancelled, o.expired, o.dead, count(t.id), "
        "count(*) FILTER (WHERE t.state = 'done'), count(*) FILTER (WHERE t.state = 'failed'), "
        "count(*) FILTER (WHERE t.state = 'cancelled'), "
        "count(*) FILTER (WHERE t.state = 'expired'), count(*) FILTER (WHERE t.state = 'dead'), "
        "coalesce(max(t.id), 0) FROM ergon.owner o LEFT JOIN LATERAL "
        "(SELECT s.id, l.state FROM ergon.submissions s LEFT JOIN ergon.lives l ON l.id = s.id "
        "WHERE s.id >= $1::bigint ORDER BY s.id LIMIT $2::bigint) t ON true "
        "GROUP BY o.one, o.submitted, o.done, o.failed, o.cancelled, o.expired, o.dead"};

static void get_actors(struct sql *sql)
{
    sql_add(sql, "SELECT $4::bigint + k.n, ");
    sql_names(sql, &store_actors, "a.");
    sql_add(sql, " FROM " ACTOR_KEYS " WITH ORDINALITY AS k(type, key, tenant, n) "
                 "JOIN ergon.actors a ON " ACTOR_OF_KEY " ORDER BY k.n");
}

/* Without their states. */
static void page_actors(struct sql *sql)
{
    sql_add(sql, "SELECT $5::bigint");
    for (uint32_t n = 0; n < store_actors.count; n++) {
        bool blob = store_actors.columns[n].kind == COLUMN_BLOB;
        sql_add(sql, ", %s", blob ? "NULL::bytea" : store_actors.columns[n].name);
    }
    sql_add(sql, " FROM ergon.actors WHERE (type, key, tenant) >= (coalesce($1::text, ''), "
                 "coalesce($2::text, ''), coalesce($3::text, '')) ORDER BY type, key, tenant "
                 "LIMIT $4::bigint");
}

/* Those that are made from the maps. */
static void make(enum statement which, struct sql *sql)
{
    if (texts[which])
        sql_add(sql, "%s", texts[which]);
    else if (which == STATEMENT_PUT)
        sql_insert(sql, &row_database_submissions);
    else if (which == STATEMENT_PUT_OPTIONS)
        sql_insert(sql, &row_options);
    else if (which == STATEMENT_PUT_LIFE)
        sql_insert(sql, &row_lives);
    else if (which == STATEMENT_CHANGE)
        sql_change_lives(sql, false);
    else if (which == STATEMENT_FIRST_LIFE)
        sql_change_lives(sql, true);
    else if (which == STATEMENT_OPTIONS)
        sql_upsert(sql, &row_options, "id");
    else if (which == STATEMENT_EVENT)
        sql_upsert(sql, &row_events, "task, seq");
    else if (which == STATEMENT_PUT_ACTORS)
        sql_upsert(sql, &store_actors, store_actors.order);
    else if (which == STATEMENT_GET_ACTORS)
        get_actors(sql);
    else if (which == STATEMENT_PAGE_ACTORS)
        page_actors(sql);
}

struct statement_name {
    char text[16];
};

static struct statement_name name_of(enum statement which)
{
    struct statement_name name;
    snprintf(name.text, sizeof name.text, "ergon_%u", (unsigned)which);
    return name;
}

static bool send_all(PGconn *pg)
{
    bool good = true;
    for (unsigned n = 0; n < STATEMENTS && good; n++) {
        char text[SQL_MAX];
        struct sql sql = {.at = text, .room = sizeof text};
        make((enum statement)n, &sql);
        good = PQsendPrepare(pg, name_of((enum statement)n).text, text, 0, NULL);
    }
    return good && PQpipelineSync(pg);
}

/* Waits for what libpq has to read.  False: it broke, or the time is over. */
static bool await(struct connection *c, ao_time deadline)
{
    for (;;) {
        int unsent = PQflush(c->pg);
        if (unsent < 0 || !PQconsumeInput(c->pg))
            return false;
        if (unsent == 0 && !PQisBusy(c->pg))
            return true;
        if (!connection_wait_until(c, unsent > 0, deadline))
            return false;
    }
}

bool statements_prepare(struct postgres_store *s, struct store_fault *fault)
{
    ao_time deadline = clock_monotonic() + PREPARE_TIMEOUT;
    struct connection *c = &s->link;
    bool good = PQsetnonblocking(c->pg, 1) == 0 && PQenterPipelineMode(c->pg) && send_all(c->pg);
    bool synced = false, failed = false;
    while (good && !synced && (good = await(c, deadline))) {
        PGresult *r = PQgetResult(c->pg);
        ExecStatusType status = r ? PQresultStatus(r) : PGRES_COMMAND_OK;
        synced = status == PGRES_PIPELINE_SYNC;
        if (status == PGRES_FATAL_ERROR && !failed) {
            error_of_result(fault, s->where, r);
            failed = true;
        }
        PQclear(r);
    }
    if (!good)
        error_of_connection(fault, s->where, c->pg);
    return good && !failed;
}

bool statement_send(struct postgres_store *s, enum statement which)
{
    const struct params *p = values_end(&s->values);
    return p && PQsendQueryPrepared(s->link.pg, name_of(which).text, p->count, p->values,
                                    p->lengths, p->formats, 1);
}
