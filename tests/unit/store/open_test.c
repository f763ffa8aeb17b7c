/* What store_open() takes and what it refuses, each with a word to whoever reads it; and what
 * people see who look into the file with sqlite3. */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "server/ledger/order.h"
#include "server/store/schema.h"
#include "tests/support/heap.h"
#include "tests/support/store_client.h"
#include "tests/support/store_folder.h"
#include "tests/support/store_told.h"

enum { TEXT = 300 };

struct world {
    char folder[STORE_FOLDER], path[STORE_PATH];
};

static void refused(const char *path, const char *why)
{
    char error[TEXT] = "", expected[TEXT];
    const struct store_options options = client_options(path);
    assert_null(store_open(&options, error, sizeof error));
    snprintf(expected, sizeof expected, "store %s: %s", path, why);
    assert_string_equal(error, expected);
}

static struct store *opened(const char *path)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(path);
    struct store *s = store_open(&options, error, sizeof error);
    assert_string_equal(error, "");
    assert_non_null(s);
    return s;
}

/* A statement on the file, as sqlite3 would run it; the rows as lines of text. */
static const char *sql(const char *path, const char *text, char *out, size_t size)
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

/* --- */

static void no_folder(void **state)
{
    struct world *w = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/none/tasks.db", w->folder);
    refused(path, "there is no such folder; make it");
}

static void a_folder_is_no_file(void **state)
{
    struct world *w = *state;
    refused(w->folder, "Is a directory");
}

/* Root passes over the rights of files by a capability, which this thread lays down or takes up
 * again: so the test asks the same of everybody. */
static void obey_rights(bool obey)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    assert_int_equal(syscall(SYS_capget, &header, sets), 0);
    uint32_t bit = CAP_TO_MASK(CAP_DAC_OVERRIDE);
    uint32_t *effective = &sets[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].effective;
    *effective &= ~bit;
    if (!obey)
        *effective |= bit & sets[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].permitted;
    assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static void no_right_to_write(void **state)
{
    struct world *w = *state;
    store_close(opened(w->path));
    assert_int_equal(chmod(w->path, 0400), 0);
    obey_rights(true);
    refused(w->path, "no right to write it; give the server that right");
    obey_rights(false);
}

static void something_else(void **state)
{
    struct world *w = *state;
    FILE *f = fopen(w->path, "w");
    for (int n = 0; n < 100; n++)
        fputs("a shopping list, which is no database\n", f);
    fclose(f);
    refused(w->path, "it is not a store of ergond; name another file, or move this one");
}

static void a_database_of_somebody_else(void **state)
{
    struct world *w = *state;
    char out[TEXT];
    sql(w->path, "CREATE TABLE tasks (id)", out, sizeof out);
    refused(w->path, "it is not a store of ergond; name another file, or move this one");
    assert_string_equal(sql(w->path, "PRAGMA journal_mode", out, sizeof out), "delete\n");
}

static void a_newer_version(void **state)
{
    struct world *w = *state;
    char out[TEXT], why[TEXT];
    store_close(opened(w->path));
    sql(w->path, "PRAGMA user_version = 77", out, sizeof out);
    snprintf(why, sizeof why,
             "it was written by a newer ergond (its version is 77, this one knows %u); run that "
             "one",
             schema_version);
    refused(w->path, why);
}

static void a_second_server(void **state)
{
    struct world *w = *state;
    char why[TEXT];
    struct store *s = opened(w->path);
    snprintf(why, sizeof why, "another server uses it: process %ld; stop that one first",
             (long)getpid());
    refused(w->path, why);
    store_close(s);
    store_close(opened(w->path));
}

static void its_lock_file_deleted(void **state)
{
    struct world *w = *state;
    char lock[TEXT];
    struct store *s = opened(w->path);
    snprintf(lock, sizeof lock, "%s.lock", w->path);
    assert_int_equal(unlink(lock), 0);
    refused(w->path, "another server uses it; stop that one first");
    store_close(s);
    store_close(opened(w->path));
}

static void a_second_name(void **state)
{
    struct world *w = *state;
    char other[TEXT];
    struct store *s = opened(w->path);
    snprintf(other, sizeof other, "%s.link", w->path);
    assert_int_equal(link(w->path, other), 0);
    refused(other, "another server uses it; stop that one first");
    store_close(s);
}

static void a_second_server_by_another_name(void **state)
{
    struct world *w = *state;
    char error[TEXT], link[128];
    snprintf(link, sizeof link, "%s/link.db", w->folder);
    struct store *s = opened(w->path);
    assert_int_equal(symlink(w->path, link), 0);
    const struct store_options options = client_options(link);
    assert_null(store_open(&options, error, sizeof error));
    assert_non_null(strstr(error, "another server uses it"));
    store_close(s);
}

static void the_file_is_for_its_owner_alone(void **state)
{
    struct world *w = *state;
    struct stat file;
    store_close(opened(w->path));
    assert_int_equal(stat(w->path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static bool refuse_everything(struct world *w)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    store_close(s);
    assert_true(s || strstr(error, "no memory"));
    return !s;
}

static void without_memory_nothing_is_left_behind(void **state)
{
    struct world *w = *state;
    int64_t live = heap_live();
    for (int64_t n = 1;; n++) {
        heap_fail_at(n);
        bool failed = refuse_everything(w);
        bool came = heap_failed();
        heap_fail_at(0);
        assert_int_equal(heap_live(), live);
        assert_int_equal(failed, came);
        if (!came)
            return;
    }
}

/* --- Versions --- */

static const char *const steps[] = {"CREATE TABLE a (x); INSERT INTO a VALUES (1)",
                                    "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
                                    "CREATE TABLE a (z)"};

static int upgrade_by(struct world *w, const char *const *by, unsigned version,
                      char error[static TEXT])
{
    sqlite3 *db;
    error[0] = '\0';
    assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
    int upgraded = schema_upgrade(db, by, version, error, TEXT);
    sqlite3_close(db);
    return upgraded;
}

static int upgrade(struct world *w, unsigned version, char error[static TEXT])
{
    return upgrade_by(w, steps, version, error);
}

static void an_older_version_is_brought_up_to_date(void **state)
{
    struct world *w = *state;
    char error[TEXT], out[TEXT];
    assert_int_equal(upgrade(w, 1, error), 0);
    assert_string_equal(sql(w->path, "SELECT * FROM a", out, sizeof out), "1\n");
    assert_int_equal(upgrade(w, 2, error), 0);
    assert_int_equal(upgrade(w, 2, error), 0);
    assert_string_equal(sql(w->path, "SELECT * FROM a", out, sizeof out), "1|2\n");
}

static void a_step_that_fails_leaves_the_older_version(void **state)
{
    struct world *w = *state;
    char error[TEXT], out[TEXT];
    assert_int_equal(upgrade(w, 1, error), 0);
    assert_int_equal(upgrade(w, 3, error), -1);
    assert_string_equal(error, "its tables cannot be made: table a already exists");
    assert_string_equal(sql(w->path, "SELECT * FROM a", out, sizeof out), "1\n");
    assert_string_equal(sql(w->path, "PRAGMA user_version", out, sizeof out), "1\n");
}

/* Its tasks are there, and new columns can be written. */
static void a_file_of_the_first_version_goes_on(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], out[TEXT];
    const struct store_options options = client_options(w->path);
    assert_int_equal(upgrade_by(w, schema_steps, 1, error), 0);
    sql(w->path,
        "INSERT INTO tasks (id, state, method, durable, key, attempt, due_at, error_code, params) "
        "VALUES (7, 'queued', 'm', 'fsync', NULL, NULL, NULL, NULL, NULL), "
        "(8, 'running', 'm', 'async', 'k', 3, 5, 'E', x'c0')",
        out, sizeof out);
    assert_true(client_open(&c, &options, error, sizeof error));
    struct store_op *op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 7, .state = CLIENT_OPEN, .cancel_asked = 1};
    assert_int_equal(client_do(&c, op), STORE_OK);
    client_close(&c);
    assert_string_equal(sql(w->path, "SELECT task, cancel_asked FROM named_tasks", out, sizeof out),
                        "t0000000000007|1\nt0000000000008|-\n");
    assert_string_equal(sql(w->path,
                            "SELECT state, method, durable, key, attempt, due_at, error_code, "
                            "hex(params) FROM tasks WHERE id = 8",
                            out, sizeof out),
                        "running|m|async|k|3|5|E|C0\n");
    snprintf(error, sizeof error, "%u\n", schema_version);
    assert_string_equal(sql(w->path, "PRAGMA user_version", out, sizeof out), error);
}

/* Each column has a value of its own. */
static void all_of_a_task_of_the_second_version_is_there(void **state)
{
    struct world *w = *state;
    char error[TEXT], out[TEXT];
    assert_int_equal(upgrade_by(w, schema_steps, 2, error), 0);
    sql(w->path,
        "INSERT INTO tasks (id, state, method, tenant, key, coalesce_key, limit_key, limit_max, "
        "rate_key, rate_max, rate_per_ns, priority, durable, created_at, due_at, deadline_at, "
        "timeout_ns, retries, backoff_ns, backoff_max_ns, jitter, keep_ns, keep_size, after, "
        "attempt, failures, crashes, started_at, ended_at, error_code, error_text, params, result, "
        "cancel_asked) VALUES (7, 'failed', 'm', 't', 'k', 'c', 'l', 8, 'r', 9, 10, 11, 'async', "
        "12, 13, 14, 15, 16, 17, 18, 19, 20, 21, '12345678', 22, 23, 24, 25, 26, 'E', 'text', 'P', "
        "'R', 1), (8, 'delayed', 'm', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
        "'fsync', NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
        "NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        out, sizeof out);
    told_expect(w->path,
                "counts 0 0 0 0 0 0\n"
                "task 7 failed method=m tenant=t key=k coalesce=c limit_key=l rate_key=r params=P "
                "after=12345678 created=12 deadline_at=14 timeout=15 backoff=17 backoff_max=18 "
                "keep=20 rate_per=10 keep_size=21 retries=16 limit=8 rate=9 priority=11 durable=1 "
                "jitter=19 attempt=22 failures=23 crashes=24 cancel_asked=1 due_at=13 "
                "started_at=25 ended_at=26 error_code=E error_text=text result=R\n"
                "task 8 queued method=m durable=2 due_at=5\n");
}

/* --- While it is in use --- */

static void a_file_that_is_not_where_it_was_takes_nothing(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], aside[128], out[64];
    const struct store_options options = client_options(w->path);
    uint64_t id = 2;
    snprintf(aside, sizeof aside, "%s/aside.db", w->folder);
    assert_true(client_open(&c, &options, error, sizeof error));
    assert_int_equal(client_do(&c, client_put(1, "resize")), STORE_OK);
    assert_int_equal(rename(w->path, aside), 0);
    assert_int_equal(client_do(&c, client_put(id, "resize")), STORE_MOVED);
    assert_int_equal(rename(aside, w->path), 0);
    while (client_do(&c, client_put(id, "resize")) == STORE_MOVED)
        ; /* until it has been tried again */
    assert_int_equal(c.last, STORE_OK);
    assert_string_equal(sql(w->path, "SELECT count(*) FROM tasks", out, sizeof out), "2\n");
    client_close(&c);
}

/* --- For people --- */

static void a_task_without_options_is_shown_with_the_defaults(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], out[TEXT], expected[TEXT];
    const struct store_options options = client_options(w->path);
    assert_true(client_open(&c, &options, error, sizeof error));
    client_do(&c, client_put(1, "m"));
    client_close(&c);
    snprintf(expected, sizeof expected, "%d|%llu|%llu|%d|%llu|%llu\n", ORDER_PRIORITY,
             (unsigned long long)ORDER_BACKOFF, (unsigned long long)ORDER_BACKOFF_MAX, ORDER_JITTER,
             (unsigned long long)ORDER_KEEP, (unsigned long long)ORDER_KEEP_SIZE);
    assert_string_equal(sql(w->path,
                            "SELECT priority, backoff_ns, backoff_max_ns, jitter, keep_ns, "
                            "keep_size FROM tasks",
                            out, sizeof out),
                        expected);
}

static void a_task_whose_time_is_to_come_is_shown_as_delayed(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], out[TEXT];
    const struct store_options options = client_options(w->path);
    assert_true(client_open(&c, &options, error, sizeof error));
    for (uint64_t id = 1; id <= 2; id++) {
        struct store_op *op = client_put(id, "m");
        op->task.due_at = id == 1 ? 5 : INT64_MAX;
        client_do(&c, op);
    }
    assert_string_equal(sql(w->path, "SELECT id, state FROM tasks", out, sizeof out),
                        "1|queued\n2|delayed\n");
    client_close(&c);
}

static void a_file_in_use_can_be_looked_into(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], out[2048];
    const struct store_options options = client_options(w->path);
    assert_true(client_open(&c, &options, error, sizeof error));
    struct store_op *op = client_put((uint64_t)1 << 62 | 33, "resize");
    op->task.created = 1700000000123000000;
    op->task.has_options = true;
    op->task.key = span_text("k");
    op->task.tenant = span_text("acme");
    client_do(&c, op);
    client_do(&c, client_put(1, "resize"));
    op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 1,
                                   .state = CLIENT_FAILED,
                                   .attempt = 2,
                                   .started_at = 1700000000000000000,
                                   .ended_at = 1700000000250000000,
                                   .error_code = span_text("DISK")};
    client_do(&c, op);
    op = client_op(STORE_EVENT);
    op->event = (struct store_event){
        .id = 1, .seq = 2, .at = 1700000000000000000, .attempt = 1, .what = span_text("started")};
    client_do(&c, op);
    assert_string_equal(
        sql(w->path, "SELECT task, state, method, tenant, key, durable, created FROM open_tasks",
            out, sizeof out),
        "t4000000000011|queued|resize|acme|k|fsync|2023-11-14 22:13:20.123\n");
    assert_string_equal(
        sql(w->path,
            "SELECT task, state, attempt, started, ended, took_ms, error_code FROM task_life "
            "WHERE state = 'failed'",
            out, sizeof out),
        "t0000000000001|failed|2|2023-11-14 22:13:20.000|2023-11-14 22:13:20.250|250.0|DISK\n");
    assert_string_equal(sql(w->path, "SELECT * FROM task_events", out, sizeof out),
                        "t0000000000001|resize|2|2023-11-14 22:13:20.000|1|started|-\n");
    client_close(&c);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    store_folder_make(w->folder, w->path);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    store_folder_remove(w->folder);
    free(w);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(no_folder),
        TEST(a_folder_is_no_file),
        TEST(no_right_to_write),
        TEST(something_else),
        TEST(a_database_of_somebody_else),
        TEST(a_newer_version),
        TEST(a_second_server),
        TEST(a_second_server_by_another_name),
        TEST(its_lock_file_deleted),
        TEST(a_second_name),
        TEST(the_file_is_for_its_owner_alone),
        TEST(without_memory_nothing_is_left_behind),
        TEST(an_older_version_is_brought_up_to_date),
        TEST(a_step_that_fails_leaves_the_older_version),
        TEST(a_file_of_the_first_version_goes_on),
        TEST(a_file_that_is_not_where_it_was_takes_nothing),
        TEST(all_of_a_task_of_the_second_version_is_there),
        TEST(a_task_without_options_is_shown_with_the_defaults),
        TEST(a_task_whose_time_is_to_come_is_shown_as_delayed),
        TEST(a_file_in_use_can_be_looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
