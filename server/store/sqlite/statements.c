#include "server/store/sqlite/statements.h"

#include <assert.h>
#include <errno.h>

#include "server/store/sqlite/row_sqlite.h"

/* Prepared at once, so that a server that runs lacks no memory for them. */
static const struct store_table *const tables[] = {
    &store_queues, &store_rates,       &store_semaphores,  &store_holds,
    &store_crons,  &store_cron_states, &store_actor_types, &store_batches};

static const char *const texts[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_SAVEPOINT] = "SAVEPOINT of_group",
    [STATEMENT_RELEASE] = "RELEASE of_group",
    [STATEMENT_ROLLBACK_TO] = "ROLLBACK TO of_group",
    [STATEMENT_SETTLE] = "UPDATE options SET after = NULL, after_any = NULL WHERE id = ?1",
    [STATEMENT_DURABLE] = "UPDATE submissions SET durable = ?2 WHERE id = ?1",
    [STATEMENT_REMOVE] = "DELETE FROM submissions WHERE id = ?1",
    [STATEMENT_REMOVE_OPTIONS] = "DELETE FROM options WHERE id = ?1",
    [STATEMENT_REMOVE_LIFE] = "DELETE FROM lives WHERE id = ?1",
    [STATEMENT_REMOVE_EVENTS] = "DELETE FROM events WHERE task = ?1",
    [STATEMENT_TRIM_EVENTS] = "DELETE FROM events WHERE task = ?1 AND seq > 1 AND seq < ?2",
    [STATEMENT_COMMITTED_AT] = "SELECT committed_at FROM counters",
    [STATEMENT_DUE_BACK] = "UPDATE lives SET due_at = max(due_at - ?1, 1) WHERE due_at > 0",
    [STATEMENT_DEADLINES_BACK] =
        "UPDATE options SET deadline_at = max(deadline_at - ?1, 1) WHERE deadline_at > 0 "
        "AND NOT EXISTS (SELECT 1 FROM lives WHERE lives.id = options.id AND ended_at > 0)",
    [STATEMENT_HOLDS_BACK] = "UPDATE holds SET ends_at = max(ends_at - ?1, 1) WHERE ends_at > 0",
    [STATEMENT_LAST_FENCE] = "SELECT last_fence FROM counters",
    [STATEMENT_COUNT] = "SELECT count(*), sum(state = 'done'), sum(state = 'failed'), "
                        "sum(state = 'cancelled'), sum(state = 'expired'), sum(state = 'dead'), "
                        "max(id) FROM "
                        "(SELECT submissions.id, state FROM submissions LEFT JOIN lives ON "
                        "lives.id = submissions.id WHERE submissions.id >= ?1 "
                        "ORDER BY submissions.id LIMIT ?2)",
    [STATEMENT_COUNTERS] = "SELECT submitted, done, failed, cancelled, expired, dead, last_id, "
                           "ifnull(last_fence, 0) FROM counters",
    [STATEMENT_ADD] = "UPDATE counters SET submitted = submitted + ?1, done = done + ?2, "
                      "failed = failed + ?3, cancelled = cancelled + ?4, expired = expired + ?5, "
                      "dead = dead + ?6, last_id = max(last_id, ?7), commits = commits + 1, "
                      "committed_at = ?8, last_fence = nullif(max(ifnull(last_fence, 0), ?9), 0)"};

static int prepare(const struct statements *s, const char *sql, sqlite3_stmt **st)
{
    return sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
}

int statement_prepare(struct statements *s, enum statement which, const char *sql)
{
    return prepare(s, sql, &s->all[which]);
}

/* The caller finalizes what was prepared. */
static int prepare_table(const struct statements *s, struct table_statements *of)
{
    char sql[ROW_SQL_MAX];
    if (of->table->updates)
        row_update_sql(of->table, sql);
    else
        row_insert_sql(of->table, "REPLACE", sql);
    int rc = prepare(s, sql, &of->put);
    row_remove_sql(of->table, sql);
    return rc == SQLITE_OK ? prepare(s, sql, &of->remove) : rc;
}

static void finalize(struct table_statements *of)
{
    sqlite3_finalize(of->put);
    sqlite3_finalize(of->remove);
}

const struct table_statements *statements_of(struct statements *s, const struct store_table *t,
                                             int *rc)
{
    for (uint32_t n = 0; n < s->table_count; n++)
        if (s->tables[n].table == t)
            return &s->tables[n];
    assert(s->table_count < STATEMENT_TABLES);
    struct table_statements of = {.table = t};
    *rc = prepare_table(s, &of);
    if (*rc == SQLITE_OK) {
        s->tables[s->table_count] = of;
        return &s->tables[s->table_count++];
    }
    finalize(&of);
    return NULL;
}

int statements_open(struct statements *s, sqlite3 *db)
{
    char sql[ROW_SQL_MAX];
    int rc = SQLITE_OK;
    s->db = db;
    for (unsigned n = 0; n < STATEMENTS && rc == SQLITE_OK; n++)
        if (texts[n])
            rc = statement_prepare(s, n, texts[n]);
    row_upsert_sql(&row_lives, &row_submissions, sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_CHANGE, sql);
    row_insert_sql(&row_options, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_OPTIONS, sql);
    row_insert_sql(&row_events, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_EVENT, sql);
    for (unsigned n = 0; n < sizeof tables / sizeof *tables && rc == SQLITE_OK; n++)
        statements_of(s, tables[n], &rc);
    return rc;
}

void statements_close(struct statements *s)
{
    for (unsigned n = 0; n < STATEMENTS; n++)
        sqlite3_finalize(s->all[n]);
    for (uint32_t n = 0; n < s->table_count; n++)
        finalize(&s->tables[n]);
}

int statement_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int statement_run_id(struct statements *s, enum statement which, uint64_t id)
{
    assert(s->all[which]);
    sqlite3_bind_int64(s->all[which], 1, (sqlite3_int64)id);
    return statement_run(s->all[which]);
}

bool statement_failed_alone(int rc)
{
    rc &= 0xff;
    return rc == SQLITE_CONSTRAINT || rc == SQLITE_TOOBIG || rc == SQLITE_MISMATCH;
}

/* Errors that SQLite has no code for. */
static enum store_error by_errno(int number)
{
    if (number == ENOSPC || number == EDQUOT)
        return STORE_FULL;
    return number == EROFS ? STORE_READ_ONLY : STORE_IO;
}

enum store_error store_error_of(sqlite3 *db, int rc)
{
    if (rc == SQLITE_READONLY_DBMOVED)
        return STORE_MOVED;
    switch (rc & 0xff) {
    case SQLITE_OK:
        return STORE_OK;
    case SQLITE_FULL:
        return STORE_FULL;
    case SQLITE_READONLY:
        return STORE_READ_ONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return STORE_CORRUPT;
    case SQLITE_NOMEM:
        return STORE_MEMORY;
    default:
        return by_errno(sqlite3_system_errno(db));
    }
}
