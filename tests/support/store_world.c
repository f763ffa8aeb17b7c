#include "tests/support/store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/support/cmocka_env.h"

int store_world_make_of(void **state, size_t size)
{
    struct store_world *w = calloc(1, size);
    assert_non_null(w);
    strcpy(w->folder, "/tmp/ergon-store-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->path, STORE_PATH, "%s/tasks.db", w->folder);
    *state = w;
    return 0;
}

int store_world_make(void **state)
{
    return store_world_make_of(state, sizeof(struct store_world));
}

int store_world_remove(void **state)
{
    struct store_world *w = *state;
    char command[STORE_FOLDER + 16];
    snprintf(command, sizeof command, "rm -r %s", w->folder);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

void store_world_open(struct store_world *w)
{
    char error[512] = "";
    const struct store_options options = client_options(w->path);
    bool opened = client_open(&w->client, &options, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(opened);
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
