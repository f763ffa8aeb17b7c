#include <stdio.h>

#include "server/store/schema.h"

/* 1: to be cancelled as soon as the attempt that runs has returned. */
static const char upgrade_2[] = "ALTER TABLE tasks ADD COLUMN cancel_asked INTEGER";

const char *const schema_steps[] = {schema_first, upgrade_2, schema_upgrade_3};
const unsigned schema_version = sizeof schema_steps / sizeof *schema_steps;

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

static int run_steps(sqlite3 *db, const char *const *steps, unsigned from, unsigned to)
{
    char mark[96];
    for (unsigned n = from; n < to; n++)
        if (sqlite3_exec(db, steps[n], NULL, NULL, NULL) != SQLITE_OK)
            return -1;
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %u;",
             SCHEMA_APPLICATION, to);
    return sqlite3_exec(db, mark, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static int upgrade(sqlite3 *db, const char *const *steps, unsigned from, unsigned to)
{
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    return run_steps(db, steps, from, to) == 0 &&
                   sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : -1;
}

int schema_upgrade(sqlite3 *db, const char *const *steps, unsigned version, char *error,
                   size_t size)
{
    int application = 0, tables = 0, now = 0;
    int rc = ask(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", &now);
    if (rc == SQLITE_OK)
        rc = ask(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (rc != SQLITE_OK || (application != SCHEMA_APPLICATION && tables > 0) || now < 0)
        return not_ours(db, rc, error, size);
    if ((unsigned)now > version) {
        snprintf(error, size,
                 "it was written by a newer ergond (its version is %d, this one knows %u); run "
                 "that one",
                 now, version);
        return -1;
    }
    if ((unsigned)now < version && upgrade(db, steps, (unsigned)now, version) != 0) {
        fail(db, error, size, "its tables cannot be made");
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return 0;
}
