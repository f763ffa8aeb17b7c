#include "server/store/sqlite/sound.h"

#include <stdio.h>
#include <string.h>

#include "server/store/sqlite/schema.h"

enum { SQL = 128, LINE = 400 };

/* --- Pages --- */

/* Runs what gives a line for each finding, or "ok". */
static int run(sqlite3_stmt *st, const struct sound_report *report)
{
    bool sound = true, on = true;
    int rc = SQLITE_DONE;
    while (on && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        if (text && strcmp(text, "ok") == 0)
            continue;
        sound = false;
        on = report->finding(report->arg, text ? text : "SQLite finds it damaged");
    }
    sqlite3_finalize(st);
    if (!sound)
        return SOUND_NOT;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sound_pages(sqlite3 *db, const struct sound_report *report)
{
    char sql[SQL];
    sqlite3_stmt *st;
    snprintf(sql, sizeof sql, "PRAGMA integrity_check(%u)", report->most);
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    return rc == SQLITE_OK ? run(st, report) : rc;
}

int sound_pages_without(sqlite3 *db, const char *table, const struct sound_report *report)
{
    static const char sql[] =
        "SELECT c.integrity_check FROM (SELECT 'sqlite_schema' AS name UNION ALL SELECT name FROM "
        "sqlite_schema WHERE type = 'table') AS t, pragma_integrity_check(t.name) AS c "
        "WHERE t.name <> ?1";
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
    return rc == SQLITE_OK ? run(st, report) : rc;
}

/* --- Tables --- */

/* What a table is made of, as lines; so that a comment in the schema may change.  A table without a
 * rowid is read by another kind of tree. */
static const char shapes[] =
    "SELECT t.name, t.wr || '|' || (SELECT group_concat(c.name || ' ' || c.type || ' ' || "
    "c.\"notnull\" || ' ' || c.pk, '|') FROM pragma_table_info(t.name) AS c) "
    "FROM pragma_table_list AS t WHERE t.schema = 'main' AND t.type = 'table' "
    "AND t.name NOT LIKE 'sqlite_%' AND t.name = ifnull(?1, t.name) ORDER BY t.name";

static bool is_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    const char *x = (const char *)sqlite3_column_text(a, column);
    const char *y = (const char *)sqlite3_column_text(b, column);
    return x && y && strcmp(x, y) == 0;
}

/* `wanted` is at a table; is that in the file, and the same?  `on`: whether to go on. */
static int compare(sqlite3_stmt *wanted, sqlite3_stmt *found, const struct sound_report *report,
                   bool *on)
{
    char line[LINE];
    const char *name = (const char *)sqlite3_column_text(wanted, 0);
    sqlite3_reset(found);
    sqlite3_bind_text(found, 1, name, -1, SQLITE_TRANSIENT);
    int rc = sqlite3_step(found);
    if (rc == SQLITE_ROW && is_text(wanted, found, 1))
        return SQLITE_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rc;
    snprintf(line, sizeof line, "the table `%s` %s", name,
             rc == SQLITE_ROW ? "has other columns than it was made with" : "is missing");
    *on = report->finding(report->arg, line);
    return SOUND_NOT;
}

static int compare_all(sqlite3 *model, sqlite3 *db, const struct sound_report *report)
{
    sqlite3_stmt *wanted = NULL, *found = NULL;
    bool on = true;
    int rc = sqlite3_prepare_v2(model, shapes, -1, &wanted, NULL), all = SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, shapes, -1, &found, NULL);
    while (on && rc == SQLITE_OK && (rc = sqlite3_step(wanted)) == SQLITE_ROW) {
        rc = compare(wanted, found, report, &on);
        if (rc == SOUND_NOT)
            all = rc;
        rc = rc == SOUND_NOT ? SQLITE_OK : rc;
    }
    sqlite3_finalize(wanted);
    sqlite3_finalize(found);
    return rc == SQLITE_DONE || !on ? all : rc;
}

int sound_tables(sqlite3 *db, const struct sound_report *report)
{
    sqlite3 *model = NULL;
    int rc = sqlite3_open(":memory:", &model);
    if (rc == SQLITE_OK && !schema_make_tables(model))
        rc = sqlite3_errcode(model);
    if (rc == SQLITE_OK)
        rc = compare_all(model, db, report);
    sqlite3_close(model);
    return rc;
}
