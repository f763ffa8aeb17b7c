/* The tables: what those of an older version become, and what people see of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "server/jobs/core/job_spec.h"
#include "server/store/schema.h"
#include "tests/support/store_client.h"
#include "tests/support/store_folder.h"
#include "tests/support/store_told.h"

enum { TEXT = 300 };

struct world {
    char folder[STORE_FOLDER], path[STORE_PATH];
};

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
    assert_string_equal(store_sql(w->path, "SELECT * FROM a", out, sizeof out), "1\n");
    assert_int_equal(upgrade(w, 2, error), 0);
    assert_int_equal(upgrade(w, 2, error), 0);
    assert_string_equal(store_sql(w->path, "SELECT * FROM a", out, sizeof out), "1|2\n");
}

static void a_step_that_fails_leaves_the_older_version(void **state)
{
    struct world *w = *state;
    char error[TEXT], out[TEXT];
    assert_int_equal(upgrade(w, 1, error), 0);
    assert_int_equal(upgrade(w, 3, error), -1);
    assert_string_equal(error, "its tables cannot be made: table a already exists");
    assert_string_equal(store_sql(w->path, "SELECT * FROM a", out, sizeof out), "1\n");
    assert_string_equal(store_sql(w->path, "PRAGMA user_version", out, sizeof out), "1\n");
}

/* Its tasks are there, and new columns can be written. */
static void a_file_of_the_first_version_goes_on(void **state)
{
    struct world *w = *state;
    struct store_client c = {0};
    char error[TEXT], out[TEXT];
    const struct store_options options = client_options(w->path);
    assert_int_equal(upgrade_by(w, schema_steps, 1, error), 0);
    store_sql(
        w->path,
        "INSERT INTO tasks (id, state, method, durable, key, attempt, due_at, error_code, params) "
        "VALUES (7, 'queued', 'm', 'fsync', NULL, NULL, NULL, NULL, NULL), "
        "(8, 'running', 'm', 'async', 'k', 3, 5, 'E', x'c0')",
        out, sizeof out);
    assert_true(client_open(&c, &options, error, sizeof error));
    struct store_op *op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 7, .state = CLIENT_OPEN, .cancel_asked = 1};
    assert_int_equal(client_do(&c, op), STORE_OK);
    client_close(&c);
    assert_string_equal(
        store_sql(w->path, "SELECT task, cancel_asked FROM named_tasks", out, sizeof out),
        "t0000000000007|1\nt0000000000008|-\n");
    assert_string_equal(
        store_sql(w->path,
                  "SELECT state, method, durable, key, attempt, due_at, error_code, "
                  "hex(params) FROM tasks WHERE id = 8",
                  out, sizeof out),
        "running|m|async|k|3|5|E|C0\n");
    snprintf(error, sizeof error, "%u\n", schema_version);
    assert_string_equal(store_sql(w->path, "PRAGMA user_version", out, sizeof out), error);
}

/* Each column has a value of its own. */
static void all_of_a_task_of_the_second_version_is_there(void **state)
{
    struct world *w = *state;
    char error[TEXT], out[TEXT];
    assert_int_equal(upgrade_by(w, schema_steps, 2, error), 0);
    store_sql(
        w->path,
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
    snprintf(expected, sizeof expected, "%d|%llu|%llu|%d|%llu|%llu\n", SPEC_PRIORITY,
             (unsigned long long)SPEC_BACKOFF, (unsigned long long)SPEC_BACKOFF_MAX, SPEC_JITTER,
             (unsigned long long)SPEC_KEEP, (unsigned long long)SPEC_KEEP_SIZE);
    assert_string_equal(store_sql(w->path,
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
    assert_string_equal(store_sql(w->path, "SELECT id, state FROM tasks", out, sizeof out),
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
        store_sql(w->path,
                  "SELECT task, state, method, tenant, key, durable, created FROM open_tasks", out,
                  sizeof out),
        "t4000000000011|queued|resize|acme|k|fsync|2023-11-14 22:13:20.123\n");
    assert_string_equal(
        store_sql(w->path,
                  "SELECT task, state, attempt, started, ended, took_ms, error_code FROM task_life "
                  "WHERE state = 'failed'",
                  out, sizeof out),
        "t0000000000001|failed|2|2023-11-14 22:13:20.000|2023-11-14 22:13:20.250|250.0|DISK\n");
    assert_string_equal(store_sql(w->path, "SELECT * FROM task_events", out, sizeof out),
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
        TEST(an_older_version_is_brought_up_to_date),
        TEST(a_step_that_fails_leaves_the_older_version),
        TEST(a_file_of_the_first_version_goes_on),
        TEST(all_of_a_task_of_the_second_version_is_there),
        TEST(a_task_without_options_is_shown_with_the_defaults),
        TEST(a_task_whose_time_is_to_come_is_shown_as_delayed),
        TEST(a_file_in_use_can_be_looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
