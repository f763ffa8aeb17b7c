#include "server/store/statements.h"

#include "server/store/rows.h"

static const char *const texts[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
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
    [STATEMENT_SEMAPHORE_REMOVE] = "DELETE FROM semaphores WHERE id = ?1",
    [STATEMENT_HOLD_REMOVE] = "DELETE FROM holds WHERE id = ?1",
    [STATEMENT_LAST_FENCE] = "SELECT last_fence FROM counters",
    [STATEMENT_RATE_REMOVE] = "DELETE FROM rates WHERE id = ?1",
    [STATEMENT_CRON_STATE] =
        "UPDATE crons SET next_at = ?1, last_at = ?2, last_task = ?3, paused = ?4 "
        "WHERE name = ?5 AND ifnull(tenant, '') = ifnull(?6, '')",
    [STATEMENT_CRON_REMOVE] =
        "DELETE FROM crons WHERE name = ?1 AND ifnull(tenant, '') = ifnull(?2, '')",
    [STATEMENT_QUEUE_REMOVE] = "DELETE FROM queues WHERE method = ?1",
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

int statement_prepare(struct statements *s, enum statement which, const char *sql)
{
    return sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->all[which], NULL);
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
    row_insert_sql(&row_queues, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_QUEUE_PUT, sql);
    row_insert_sql(&row_events, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_EVENT, sql);
    row_insert_sql(&row_rates, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_RATE_PUT, sql);
    row_insert_sql(&row_semaphores, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_SEMAPHORE_PUT, sql);
    row_insert_sql(&row_holds, "REPLACE", sql);
    rc = rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_HOLD_PUT, sql);
    row_insert_sql(&row_crons, "REPLACE", sql);
    return rc != SQLITE_OK ? rc : statement_prepare(s, STATEMENT_CRON_PUT, sql);
}

void statements_close(struct statements *s)
{
    for (unsigned n = 0; n < STATEMENTS; n++)
        sqlite3_finalize(s->all[n]);
}

int statement_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int statement_run_id(struct statements *s, enum statement which, uint64_t id)
{
    sqlite3_bind_int64(s->all[which], 1, (sqlite3_int64)id);
    return statement_run(s->all[which]);
}

bool statement_failed_alone(int rc)
{
    rc &= 0xff;
    return rc == SQLITE_CONSTRAINT || rc == SQLITE_TOOBIG || rc == SQLITE_MISMATCH;
}
