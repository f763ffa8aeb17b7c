/* Rows of the inbox, which applications fill by ergon.submit(): read, refused, and removed in the
 * transaction of the task that each becomes. */
#include <stdio.h>
#include <string.h>

#include "server/store/driver.h"
#include "server/store/inbox_source.h"
#include "tests/support/contract_world.h"

static const struct inbox_source *source_of(struct contract_world *w, void **from)
{
    const struct inbox_source *source =
        driver_symbol(w->url, INBOX_SOURCE_SYMBOL, w->error, sizeof w->error);
    assert_non_null(source);
    *from = source->open(w->url, 0);
    assert_non_null(*from);
    return source;
}

/* As lines of text. */
static bool write_row(void *arg, const struct inbox_row *row)
{
    struct contract_world *w = arg;
    size_t len = strlen(w->text);
    snprintf(w->text + len, sizeof w->text - len, "%llu %s %s %s %s\n", (unsigned long long)row->id,
             row->role, row->method, row->params, row->options);
    return true;
}

static const char *rows_of(struct contract_world *w, const struct inbox_source *source, void *from)
{
    w->text[0] = '\0';
    assert_int_equal(source->read(from, write_row, w, w->error, sizeof w->error), INBOX_DONE);
    return w->text;
}

static struct store_op *put_taking(uint64_t id, uint64_t taken)
{
    struct store_op *op = client_put(id, "echo");
    op->task.taken = taken;
    return op;
}

static void submit(struct contract_world *w, unsigned count)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT count(ergon.submit('echo', jsonb_build_array(n), '{\"key\": null}')) "
             "FROM generate_series(1, %u) n",
             count);
    contract_sql(w, sql);
}

POSTGRES_TEST(submissions_are_read_in_their_order)
{
    void *from;
    const struct inbox_source *source = source_of(w, &from);
    assert_string_equal(rows_of(w, source, from), "");
    contract_sql(
        w, "SELECT ergon.submit('echo', '[1, \"\u00e4\"]', '{\"priority\": 7, \"key\": \"k\"}'),"
           "ergon.submit('hash'), ergon.submit('cart.add', '[]', '{\"actor\": \"cart/1\"}')");
    assert_string_equal(w->text, "k|sql-2|\n");
    assert_string_equal(rows_of(w, source, from),
                        "1 postgres echo [1, \"\u00e4\"] {\"key\": \"k\", \"priority\": 7}\n"
                        "2 postgres hash [] {\"key\": \"sql-2\"}\n"
                        "3 postgres cart.add [] {\"actor\": \"cart/1\"}\n");
    source->close(from);
}

POSTGRES_TEST(what_is_no_submission_fails_in_its_transaction)
{
    static const char *const wrong[] = {"NULL", "''", "'echo', '1'", "'echo', '[]', '[]'",
                                        "repeat('m', 256)"};
    char sql[300];
    for (unsigned n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        snprintf(sql, sizeof sql,
                 "DO $$ BEGIN PERFORM ergon.submit(%s); RAISE EXCEPTION 'taken'; EXCEPTION "
                 "WHEN invalid_parameter_value THEN NULL; END $$",
                 wrong[n]);
        contract_sql(w, sql);
    }
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.inbox"), "0\n");
}

POSTGRES_TEST(a_task_takes_its_row_with_it)
{
    submit(w, 3);
    contract_push(w, put_taking(101, 1));
    contract_push(w, client_put(102, "echo"));
    contract_push(w, put_taking(103, 3));
    contract_wait(w);
    assert_int_equal(w->good, 3);
    assert_string_equal(contract_sql(w, "SELECT id FROM ergon.inbox"), "2\n");
}

/* Whatever read it twice: one task is there, and all others of the batch. */
POSTGRES_TEST(a_row_becomes_one_task)
{
    submit(w, 2);
    contract_push(w, put_taking(101, 1));
    contract_push(w, put_taking(102, 1));
    contract_push(w, client_put(103, "echo"));
    contract_push(w, put_taking(104, 2));
    contract_push(w, put_taking(105, 7));
    contract_wait(w);
    assert_int_equal(w->good, 3);
    assert_int_equal(w->refused, 2);
    assert_string_equal(contract_sql(w, "SELECT id FROM ergon.submissions ORDER BY id"),
                        "101\n103\n104\n");
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.inbox"), "0\n");
}

POSTGRES_TEST(a_row_that_joined_a_task_is_removed)
{
    struct store_op *op = client_row(STORE_ROW_REMOVE, &store_inbox);
    submit(w, 2);
    ((struct store_inbox_row *)op->row)->id = 1;
    assert_int_equal(contract_do(w, op), STORE_OK);
    assert_string_equal(contract_sql(w, "SELECT id FROM ergon.inbox"), "2\n");
}

POSTGRES_TEST(a_row_is_refused_by_the_owner_alone)
{
    void *from;
    const struct inbox_source *source = source_of(w, &from);
    submit(w, 2);
    assert_int_equal(source->refuse(from, w->epoch - 1, 1, "former", w->error, sizeof w->error),
                     INBOX_DONE);
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.inbox_refused"), "0\n");
    assert_int_equal(source->refuse(from, w->epoch, 1, "NO", w->error, sizeof w->error),
                     INBOX_DONE);
    assert_int_equal(source->refuse(from, w->epoch, 1, "again", w->error, sizeof w->error),
                     INBOX_DONE);
    assert_string_equal(contract_sql(w, "SELECT id, method, error FROM ergon.refused"),
                        "1|echo|NO\n");
    assert_string_equal(contract_sql(w, "SELECT id FROM ergon.inbox"), "2\n");
    contract_push(w, put_taking(101, 1));
    contract_wait(w);
    assert_int_equal(w->refused, 1);
    source->close(from);
}

/* The newest stay. */
POSTGRES_TEST(refused_rows_are_bounded)
{
    void *from;
    const struct inbox_source *source = source_of(w, &from);
    contract_sql(w,
                 "INSERT INTO ergon.inbox_refused SELECT -n, 'r', 'm', '[]', '{}', now(), now(), "
                 "'' FROM generate_series(1, 10000) n");
    submit(w, 1);
    source->refuse(from, w->epoch, 1, "NO", w->error, sizeof w->error);
    assert_string_equal(
        contract_sql(w, "SELECT count(*), min(id), max(id) FROM ergon.inbox_refused"),
        "10000|-9999|1\n");
    source->close(from);
}

/* Its node runs as before, and tells what to do. */
POSTGRES_TEST(a_schema_without_inbox)
{
    void *from;
    char text[CONTRACT_ERROR];
    contract_sql(w, "DROP TABLE ergon.inbox; DROP FUNCTION ergon.submit");
    const struct inbox_source *source = source_of(w, &from);
    assert_int_equal(source->read(from, write_row, w, w->error, sizeof w->error), INBOX_MISSING);
    assert_non_null(strstr(w->error, "run 'ergon cluster upgrade'"));
    assert_int_equal(contract_do(w, client_put(1, "echo")), STORE_OK);
    assert_int_equal(w->admin->upgrade(w->url, UPGRADE_ADD, NULL, text, sizeof text), 0);
    submit(w, 1);
    assert_int_equal(source->read(from, write_row, w, w->error, sizeof w->error), INBOX_DONE);
    source->close(from);
}

/* A role of applications may submit, and nothing else. */
POSTGRES_TEST(what_a_role_of_applications_may_do)
{
    static const char *const tries[] = {
        "SELECT FROM ergon.inbox", "DELETE FROM ergon.inbox_refused",
        "SELECT FROM ergon.submissions", "SELECT FROM ergon.task_list",
        "UPDATE ergon.owner SET epoch = 0"};
    char sql[400];
    contract_sql(w, "INSERT INTO ergon.inbox_refused VALUES (1, 'other', 'm', '[]', '{}', now(), "
                    "now(), '')");
    for (unsigned n = 0; n < sizeof tries / sizeof *tries; n++) {
        snprintf(sql, sizeof sql,
                 "SET ROLE ergon_submit; DO $$ BEGIN EXECUTE '%s'; RAISE EXCEPTION 'done'; "
                 "EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; RESET ROLE",
                 tries[n]);
        contract_sql(w, sql);
    }
    contract_sql(w,
                 "SET ROLE ergon_submit; SELECT ergon.submit('echo'); DELETE FROM ergon.refused; "
                 "RESET ROLE");
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.inbox_refused"), "1\n");
    contract_sql(w, "SET ROLE ergon_read; SELECT FROM ergon.task_list, ergon.queue_list, "
                    "ergon.sem_list; RESET ROLE");
}

/* Names that a session makes are never found by the function. */
POSTGRES_TEST(a_search_path_harms_nothing)
{
    contract_sql(w, "CREATE TEMP TABLE inbox (id int); SET search_path = pg_temp, ergon; "
                    "SELECT submit('echo'); RESET search_path");
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.inbox"), "1\n");
}
