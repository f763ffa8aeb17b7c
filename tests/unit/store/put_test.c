/* Tasks that are put together: each is what it would be alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/store/sqlite/sqlite_parts.h"
#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"

enum { TASKS_MAX = 64, TEXT = 300 };

struct world {
    struct store_world at;
    char errors[TASKS_MAX + 1]; /* what came back, a digit each */
    uint64_t ids[TASKS_MAX];
    uint32_t count;
};

static int set_up(void **state)
{
    return store_world_make_of(state, sizeof(struct world));
}

#define PUT_TEST(name) TEST_OF(struct world *w, NULL, set_up, store_world_remove, name)

static void note_error(struct store_client *c, struct store_op *op)
{
    struct world *w = c->arg;
    w->errors[strlen(w->errors)] = (char)('0' + op->error);
}

static void open_client(struct world *w)
{
    store_world_open(&w->at);
    w->at.client.returned = note_error;
    w->at.client.arg = w;
}

static void no_counts(void *arg, const struct store_counts *counts)
{
}

static void read_back(struct world *w, bool (*task)(void *arg, const struct store_task *t))
{
    char error[TEXT];
    const struct store_options options = client_options(w->at.path);
    const struct store_reader reader = {.arg = w, .counts = no_counts, .task = task};
    struct store *s = store_open(&options, error, sizeof error);
    assert_non_null(s);
    assert_int_equal(store_load(s, &reader, error, sizeof error), 0);
    store_close(s);
}

/* --- */

static bool note_id(void *arg, const struct store_task *t)
{
    struct world *w = arg;
    w->ids[w->count++] = t->id;
    return true;
}

/* Some of one kind, some of another, and each kind has one that is refused. */
PUT_TEST(a_refused_one_takes_nobody_along)
{
    static const uint64_t ids[] = {5, 6, 6, 7, 8, 9, 8, 10};
    open_client(w);
    for (int n = 0; n < 8; n++) {
        struct store_op *op = client_put(ids[n], "m");
        op->task.has_options = n >= 4;
        op->task.key = span_text("k");
        client_push(&w->at.client, op);
    }
    client_wait(&w->at.client);
    client_close(&w->at.client);
    const char expected[] = {'0', '0', '0' + STORE_REFUSED, '0', '0', '0', '0' + STORE_REFUSED,
                             '0', '\0'};
    assert_string_equal(w->errors, expected);
    read_back(w, note_id);
    const uint64_t there[] = {5, 6, 7, 8, 9, 10};
    assert_int_equal(w->count, 6);
    assert_memory_equal(w->ids, there, sizeof there);
}

/* --- */

static void *field_of(struct store_task *t, const struct store_column *c)
{
    return (char *)t + c->at;
}

static void set_field(struct store_task *t, const struct store_column *c)
{
    switch (c->kind) {
    case COLUMN_U64:
        *(uint64_t *)field_of(t, c) = 1000;
        break;
    case COLUMN_U32:
        *(uint32_t *)field_of(t, c) = 1000;
        break;
    case COLUMN_U8:
    case COLUMN_NAME:
        *(uint8_t *)field_of(t, c) = 1;
        break;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        *(struct span *)field_of(t, c) = span_text("bytes");
        break;
    }
}

static bool is_set(const struct store_task *t, const struct store_column *c)
{
    const char *field = (const char *)t + c->at;
    switch (c->kind) {
    case COLUMN_U64:
        return *(const uint64_t *)field == 1000;
    case COLUMN_U32:
        return *(const uint32_t *)field == 1000;
    case COLUMN_U8:
    case COLUMN_NAME:
        return *(const uint8_t *)field == 1;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return span_is(*(const struct span *)field, "bytes");
    }
    return false;
}

static const struct store_table *const maps[] = {&row_submissions, &row_options, &row_lives};

/* Columns are numbered through the three tables, the ids left out. */
static const struct store_column *column_of(uint32_t number)
{
    for (unsigned m = 0; m < sizeof maps / sizeof *maps; m++) {
        if (number < maps[m]->count - 1)
            return &maps[m]->columns[number + 1];
        number -= maps[m]->count - 1;
    }
    return NULL;
}

static bool is_in_all(const struct store_column *c)
{
    return strcmp(c->name, "method") == 0 || strcmp(c->name, "created_at") == 0 ||
           strcmp(c->name, "durable") == 0;
}

/* The task of this number has this column, and no other that is not in all. */
static bool has_its_own(void *arg, const struct store_task *t)
{
    struct world *w = arg;
    const struct store_column *c;
    w->count++;
    for (uint32_t n = 0; (c = column_of(n)); n++)
        if (n + 1 == t->id || !is_in_all(c))
            assert_int_equal(is_set(t, c), n + 1 == t->id);
    return true;
}

PUT_TEST(each_column_comes_back_where_it_is_the_only_one)
{
    const struct store_column *c;
    uint32_t count = 0;
    open_client(w);
    for (; (c = column_of(count)); count++) {
        struct store_op *op = client_put(count + 1, "m");
        op->task.has_options =
            c >= row_options.columns && c < row_options.columns + row_options.count;
        set_field(&op->task, c);
        client_push(&w->at.client, op);
    }
    client_wait(&w->at.client);
    client_close(&w->at.client);
    assert_int_equal(strspn(w->errors, "0"), count);
    read_back(w, has_its_own);
    assert_int_equal(w->count, count);
}

/* --- What is refused is not there in part --- */

static void put_large(struct world *w, uint64_t id, bool options, bool life)
{
    static char name[2000];
    memset(name, 'k', sizeof name);
    struct store_op *op = client_put(id, "m");
    op->task.has_options = true;
    op->task.state = CLIENT_DONE;
    op->task.key = span_of(name, options ? sizeof name : 1);
    op->task.error_text = span_of(name, life ? sizeof name : 1);
    client_push(&w->at.client, op);
}

/* Its first row would fit, and those of its neighbours do. */
PUT_TEST(a_task_of_which_one_row_is_too_large_is_refused_whole)
{
    char out[TEXT];
    open_client(w);
    struct sqlite_store *s = w->at.client.store->engine;
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, 1000);
    put_large(w, 1, false, false);
    put_large(w, 2, true, false);
    put_large(w, 3, false, false);
    put_large(w, 4, false, true);
    put_large(w, 5, false, false);
    client_wait(&w->at.client);
    client_close(&w->at.client);
    const char expected[] = {'0', '0' + STORE_REFUSED, '0', '0' + STORE_REFUSED, '0', '\0'};
    assert_string_equal(w->errors, expected);
    assert_string_equal(store_sql(w->at.path,
                                  "SELECT (SELECT group_concat(id) FROM submissions), (SELECT "
                                  "group_concat(id) FROM options), (SELECT group_concat(id) FROM "
                                  "lives)",
                                  out, sizeof out),
                        "1,3,5|1,3,5|1,3,5\n");
}
