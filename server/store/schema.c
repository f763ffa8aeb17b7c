#include "server/store/schema.h"

#include <stdio.h>

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

static int make_tables(sqlite3 *db)
{
    char mark[128];
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             SCHEMA_APPLICATION, SCHEMA_VERSION);
    return sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_exec(db, schema_tables, NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_exec(db, mark, NULL, NULL, NULL) == SQLITE_OK
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
    if (version == SCHEMA_VERSION)
        return 0;
    if (version > SCHEMA_VERSION) {
        snprintf(error, size,
                 "it was written by a newer ergond (its version is %d, this one knows %d); run "
                 "that one",
                 version, SCHEMA_VERSION);
        return -1;
    }
    if (tables > 0) {
        snprintf(error, size,
                 "it was written by an older ergond (its version is %d, this one needs %d), and "
                 "cannot be taken over; let that one finish its tasks, then name another file, or "
                 "move this one",
                 version, SCHEMA_VERSION);
        return -1;
    }
    if (make_tables(db) != 0) {
        fail(db, error, size, "its tables cannot be made");
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return 0;
}
