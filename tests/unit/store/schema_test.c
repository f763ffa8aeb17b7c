/* The tables: a file is read by the names of its columns, and people see them, too. */
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "server/jobs/core/job_spec.h"
#include "server/store/sqlite/row_sqlite.h"
#include "server/store/sqlite/schema.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_expect.h"
#include "tests/support/store_world.h"

enum { TEXT = 300 };

/* Written by hand, so that a field that is written to another's column, and read from there, does
 * not pass.  Each column has a value of its own. */
STORE_TEST(what_stands_in_the_file_is_read_by_the_names_of_the_columns)
{
    char out[TEXT];
    store_world_open(w);
    client_close(&w->client);
    store_sql(w->path,
              "INSERT INTO submissions (id, method, tenant, durable, created_at, params) VALUES "
              "(7, 'm', 't', 'async', 12, 'P'), (8, 'm', NULL, 'fsync', NULL, NULL)",
              out, sizeof out);
    store_sql(w->path,
              "INSERT INTO options (id, key, coalesce_key, limit_key, limit_max, rate_key, "
              "rate_max, rate_per_ns, priority, deadline_at, timeout_ns, retries, backoff_ns, "
              "backoff_max_ns, jitter, keep_ns, keep_size, after, after_any) VALUES "
              "(7, 'k', 'c', 'l', 8, 'r', 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, '12345678', "
              "'abcdefgh')",
              out, sizeof out);
    store_sql(
        w->path,
        "INSERT INTO lives (id, state, attempt, failures, crashes, cancel_asked, due_at, "
        "started_at, ended_at, error_code, error_text, result, losses, lost, ran_by) VALUES "
        "(7, 'failed', 22, 23, 24, 1, 13, 25, 26, 'E', 'text', 'R', 27, 28, 'w1'), "
        "(8, 'queued', NULL, NULL, NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        out, sizeof out);
    store_expect(
        w->path,
        "counts 0 0 0 0 0 0\n"
        "task 7 failed method=m tenant=t key=k coalesce=c limit_key=l rate_key=r params=P "
        "after=12345678 after_any=abcdefgh created=12 deadline_at=14 timeout=15 "
        "backoff=17 backoff_max=18 "
        "keep=20 rate_per=10 keep_size=21 retries=16 limit=8 rate=9 priority=11 durable=1 "
        "jitter=19 attempt=22 failures=23 crashes=24 losses=27 lost=28 cancel_asked=1 due_at=13 "
        "started_at=25 ended_at=26 error_code=E error_text=text ran_by=w1 result=R\n"
        "task 8 queued method=m durable=2 due_at=5\n");
}

STORE_TEST(a_task_without_options_is_shown_with_the_defaults)
{
    char out[TEXT], expected[TEXT];
    store_world_open(w);
    client_do(&w->client, client_put(1, "m"));
    client_close(&w->client);
    const struct job_policy unsaid = JOB_POLICY_UNSAID;
    snprintf(expected, sizeof expected, "%d|%llu|%llu|%d|%llu|%llu\n", SPEC_PRIORITY,
             (unsigned long long)unsaid.backoff, (unsigned long long)unsaid.backoff_max,
             unsaid.backoff_jitter, (unsigned long long)JOB_KEEP,
             (unsigned long long)unsaid.keep_size);
    assert_string_equal(store_sql(w->path,
                                  "SELECT priority, backoff_ns, backoff_max_ns, jitter, keep_ns, "
                                  "keep_size FROM tasks",
                                  out, sizeof out),
                        expected);
}

STORE_TEST(a_task_whose_time_is_to_come_is_shown_as_delayed)
{
    char out[TEXT];
    store_world_open(w);
    for (uint64_t id = 1; id <= 2; id++) {
        struct store_op *op = client_put(id, "m");
        op->task.due_at = id == 1 ? 5 : INT64_MAX;
        client_do(&w->client, op);
    }
    assert_string_equal(store_sql(w->path, "SELECT id, state FROM tasks", out, sizeof out),
                        "1|queued\n2|delayed\n");
    client_close(&w->client);
}

STORE_TEST(a_file_in_use_can_be_looked_into)
{
    char out[2048];
    store_world_open(w);
    struct store_op *op = client_put((uint64_t)1 << 62 | 33, "resize");
    op->task.created = 1700000000123000000;
    op->task.has_options = true;
    op->task.key = span_text("k");
    op->task.tenant = span_text("acme");
    client_do(&w->client, op);
    client_do(&w->client, client_put(1, "resize"));
    op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 1,
                                   .state = CLIENT_FAILED,
                                   .attempt = 2,
                                   .started_at = 1700000000000000000,
                                   .ended_at = 1700000000250000000,
                                   .error_code = span_text("DISK")};
    client_do(&w->client, op);
    op = client_op(STORE_EVENT);
    op->event = (struct store_event){
        .id = 1, .seq = 2, .at = 1700000000000000000, .attempt = 1, .what = span_text("started")};
    client_do(&w->client, op);
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
    client_close(&w->client);
}

/* --- An older file --- */

/* Everything that the file is made of, views included. */
static const char columns[] =
    "SELECT m.type, m.name, c.name, c.type, c.\"notnull\", c.pk FROM sqlite_master AS m, "
    "pragma_table_info(m.name) AS c ORDER BY m.name, c.cid";

static void run(sqlite3 *db, const char *sql)
{
    char *error = NULL;
    sqlite3_exec(db, sql, NULL, NULL, &error);
    assert_null(error);
}

static void make_older(const char *path)
{
    static char sql[16384];
    sqlite3 *db;
    FILE *f = fopen(SCHEMA_3, "r");
    assert_non_null(f);
    sql[fread(sql, 1, sizeof sql - 1, f)] = '\0';
    fclose(f);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run(db, sql);
    run(db, "PRAGMA application_id = 1165125486; PRAGMA user_version = 3;"
            "INSERT INTO submissions VALUES (7, 'm', 't', 'async', 12, 'P');"
            "INSERT INTO options (id, key, priority, keep_ns, after) VALUES "
            "(7, 'k', 3, 3600000000000, '12345678');"
            "INSERT INTO lives (id, state, attempt) VALUES (7, 'failed', 2);"
            "INSERT INTO events (task, seq, what) VALUES (7, 5, 'started');"
            "INSERT INTO crons (name, schedule, method, tenant, next_at) VALUES "
            "('b', '@daily', 'm', 't', 5), ('a', '@yearly', 'm', NULL, 6);"
            "INSERT INTO paused_queues VALUES ('m'); UPDATE counters SET submitted = 1");
    sqlite3_close(db);
}

STORE_TEST(a_file_of_the_version_before_is_taken_over)
{
    static char made[16384], taken_over[16384];
    char fresh[STORE_PATH];
    make_older(w->path);
    store_expect(w->path, "counts 1 0 0 0 0 0\n queue=m paused=1\n"
                          " cron=a schedule=@yearly method=m next_at=6\n"
                          " cron=b schedule=@daily method=m tenant=t next_at=5\n"
                          "task 7 failed method=m tenant=t key=k params=P after=12345678 "
                          "created=12 keep=18446744073709551615 priority=3 durable=1 attempt=2\n"
                          "event 7.5 what=started\n");
    snprintf(fresh, sizeof fresh, "%s/fresh.db", w->folder);
    store_expect(fresh, "counts 0 0 0 0 0 0\n");
    assert_string_equal(store_sql(w->path, columns, taken_over, sizeof taken_over),
                        store_sql(fresh, columns, made, sizeof made));
    assert_string_equal(store_sql(w->path, "SELECT id, state FROM tasks", made, sizeof made),
                        "7|failed\n");
}

/* --- What comes later --- */

TEST(a_column_of_a_later_version_is_a_step_to_it)
{
    static const struct store_column columns_of_two[] = {
        {"id", .kind = COLUMN_U64},
        {"name", .kind = COLUMN_TEXT, .required = true, .about = "of people"},
        {"size", .kind = COLUMN_U64, .since = 12},
        {"of_nodes", .kind = COLUMN_U32}};
    const struct store_table things = {
        .table = "things", .order = "id", .columns = columns_of_two, .count = 3, .more = 1};
    char sql[ROW_SQL_MAX];
    row_create_sql(&things, 11, sql);
    assert_string_equal(sql, "CREATE TABLE things (\n    id INTEGER PRIMARY KEY,\n"
                             "    name TEXT NOT NULL           -- of people\n);\n");
    row_step_sql(&things, 12, sql);
    assert_string_equal(sql, "ALTER TABLE things ADD COLUMN size INTEGER;\n");
    row_step_sql(&things, 13, sql);
    assert_string_equal(sql, "");
}

TEST(no_column_is_of_a_version_that_is_to_come)
{
    for (int n = 0; n < ROW_TABLES; n++)
        for (uint32_t c = 0; c < row_tables[n]->count; c++)
            assert_in_range(row_tables[n]->columns[c].since, 0, schema_version);
}
