#include "tests/support/store_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

void store_folder_make(char folder[STORE_FOLDER], char path[STORE_PATH])
{
    strcpy(folder, "/tmp/ergon-store-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, STORE_PATH, "%s/tasks.db", folder);
}

void store_folder_remove(const char *folder)
{
    char command[STORE_FOLDER + 16];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

const char *store_sql(const char *path, const char *text, char *out, size_t size)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    out[0] = '\0';
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        for (int n = 0; n < sqlite3_column_count(st); n++) {
            const char *value = (const char *)sqlite3_column_text(st, n);
            size_t len = strlen(out);
            snprintf(out + len, size - len, "%s%s", value ? value : "-",
                     n + 1 < sqlite3_column_count(st) ? "|" : "\n");
        }
    assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
    sqlite3_close(db);
    return out;
}
