#include "server/store/sqlite/schema.h"

#include <stdbool.h>
#include <stdio.h>

#include "server/store/sqlite/row_sqlite.h"

const char schema_not_ours[] = "it is not a store of ergond; name another file, or move this one";

static int fail(sqlite3 *db, char *error, size_t size, const char *what)
{
    snprintf(error, size, "%s: %s", what, sqlite3_errmsg(db));
    return -1;
}

/* A number that the file answers. */
static int ask(sqlite3 *db, const char *sql, int *number)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_int(statement, 0);
    int end = sqlite3_finalize(statement);
    return rc != SQLITE_OK ? rc : end;
}

static int not_ours(sqlite3 *db, int rc, char *error, size_t size)
{
    if (rc == SQLITE_OK || rc == SQLITE_NOTADB)
        snprintf(error, size, "%s", schema_not_ours);
    else
        fail(db, error, size, "it cannot be read");
    return -1;
}

enum {
    VERSION_OF_TABLES = 9, /* a new file begins so, and takes the steps behind */
    VERSION = 14           /* of a file that was opened by this program */
};
const int schema_version = VERSION;

/* What a file of that version lacks to be one of the next, by hand.  Behind these a step is what
 * the tables have `since` (rows.c): a new column is a row there, and a higher VERSION. */
static const char *const upgrades[] = {
    [3] = "CREATE TABLE queues (method TEXT PRIMARY KEY NOT NULL, paused INTEGER, draining INTEGER)"
          " WITHOUT ROWID;"
          "INSERT INTO queues (method, paused) SELECT method, 1 FROM paused_queues;"
          "DROP TABLE paused_queues;"
          "ALTER TABLE options ADD COLUMN after_any BLOB;"
          "UPDATE options SET keep_ns = -1 WHERE keep_ns = 3600000000000;" /* none was said */,
    [4] = "CREATE TABLE rates (id INTEGER PRIMARY KEY, tenant TEXT, key TEXT NOT NULL,"
          " rate_max INTEGER, per_ns INTEGER, noted_at INTEGER, promised INTEGER, starts BLOB);"
          "ALTER TABLE counters ADD COLUMN committed_at INTEGER;",
    [5] = "CREATE TEMP TABLE old_crons AS SELECT * FROM crons; DROP TABLE crons;"
          "CREATE TABLE crons (id INTEGER PRIMARY KEY, tenant TEXT, name TEXT NOT NULL,"
          " schedule TEXT, zone TEXT, method TEXT, made_by TEXT, next_at INTEGER, last_at INTEGER,"
          " last_task INTEGER, params BLOB, options BLOB);"
          "INSERT INTO crons SELECT NULL, tenant, name, schedule, zone, method, NULL, next_at,"
          " last_at, last_task, params, options FROM old_crons ORDER BY name;"
          "DROP TABLE old_crons;"
          "CREATE UNIQUE INDEX cron_names ON crons (ifnull(tenant, ''), name);",
    [6] = "ALTER TABLE lives ADD COLUMN losses INTEGER; ALTER TABLE lives ADD COLUMN lost INTEGER;"
          "ALTER TABLE queues ADD COLUMN offered_at INTEGER;"
          "ALTER TABLE options ADD COLUMN limit_take INTEGER;"
          "CREATE TABLE semaphores (id INTEGER PRIMARY KEY, tenant TEXT, name TEXT NOT NULL,"
          " permits INTEGER);"
          "CREATE TABLE holds (id INTEGER PRIMARY KEY, tenant TEXT, name TEXT NOT NULL,"
          " secret BLOB, principal TEXT, permits INTEGER, of_permits INTEGER, since_at INTEGER,"
          " ends_at INTEGER, ttl_ns INTEGER, grace_ns INTEGER);"
          "ALTER TABLE counters ADD COLUMN last_fence INTEGER;",
    [7] = "ALTER TABLE crons ADD COLUMN paused INTEGER;",
    [8] = "ALTER TABLE options ADD COLUMN traceparent TEXT;"
          "ALTER TABLE options ADD COLUMN tracestate TEXT;",
    [9] = "ALTER TABLE lives ADD COLUMN ran_by TEXT;",
    [10] = "ALTER TABLE queues ADD COLUMN secret INTEGER;"};

enum { BY_HAND = sizeof upgrades / sizeof *upgrades };

static const char drop_views[] = "DROP VIEW IF EXISTS task_events; DROP VIEW IF EXISTS task_life;"
                                 "DROP VIEW IF EXISTS open_tasks; DROP VIEW IF EXISTS named_tasks;"
                                 "DROP VIEW IF EXISTS tasks; DROP VIEW IF EXISTS actor_states;";

static bool run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Adds the columns that this version has and the one before had not. */
static bool step_to(sqlite3 *db, int version)
{
    char sql[ROW_SQL_MAX];
    for (int n = 0; n < ROW_TABLES; n++) {
        row_step_sql(row_tables[n], version, sql);
        if (!run(db, sql))
            return false;
    }
    return true;
}

static bool upgrade(sqlite3 *db, int version)
{
    for (; version < VERSION; version++)
        if (!(version < BY_HAND ? run(db, upgrades[version]) : step_to(db, version + 1)))
            return false;
    return run(db, drop_views);
}

bool schema_make_tables(sqlite3 *db)
{
    char sql[ROW_SQL_MAX];
    for (int n = 0; n < ROW_TABLES; n++) {
        row_create_sql(row_tables[n], VERSION_OF_TABLES, sql);
        if (!run(db, sql))
            return false;
    }
    return run(db, "INSERT INTO counters VALUES (0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL)") &&
           upgrade(db, VERSION_OF_TABLES);
}

/* `version` 0: the file is empty. */
static int make_tables(sqlite3 *db, int version)
{
    char mark[128];
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             SCHEMA_APPLICATION, schema_version);
    return run(db, "BEGIN IMMEDIATE") &&
                   (version > 0 ? upgrade(db, version) : schema_make_tables(db)) &&
                   run(db, schema_views) && run(db, mark)
               ? 0
               : -1;
}

int schema_prepare(sqlite3 *db, char *error, size_t size)
{
    int application = 0, tables = 0, version = 0;
    int rc = ask(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = ask(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (rc != SQLITE_OK || (application != SCHEMA_APPLICATION && tables > 0) || version < 0)
        return not_ours(db, rc, error, size);
    if (version == schema_version)
        return 0;
    if (version > schema_version) {
        snprintf(error, size,
                 "it was written by a newer ergond (its version is %d, this one knows %d); run "
                 "that one",
                 version, schema_version);
        return -1;
    }
    if (tables > 0 && version < SCHEMA_OLDEST) {
        snprintf(error, size,
                 "it was written by an older ergond (its version is %d, this one needs at least "
                 "%d), and "
                 "cannot be taken over; let that one finish its tasks, then name another file, or "
                 "move this one",
                 version, SCHEMA_OLDEST);
        return -1;
    }
    if (make_tables(db, tables > 0 ? version : 0) != 0) {
        fail(db, error, size, "its tables cannot be made");
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return 0;
}
