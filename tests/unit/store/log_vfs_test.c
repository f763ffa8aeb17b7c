/* What is gathered on its way to the log is written once a commit, and read as if it had been
 * written at once. */
#include "server/store/sqlite/log_vfs.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "sim/fault_vfs.h"

static const char path[] = "/tasks.db";

struct world {
    sqlite3 *db;
    struct log_vfs vfs;
};

static void run(struct world *w, const char *sql)
{
    char *error = NULL;
    sqlite3_exec(w->db, sql, NULL, NULL, &error);
    assert_null(error);
}

static sqlite3_int64 number(struct world *w, const char *sql)
{
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_prepare_v2(w->db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    sqlite3_int64 n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static void open_file(struct world *w)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    assert_int_equal(log_vfs_open(&w->vfs, path, &w->db, flags, FAULT_VFS), SQLITE_OK);
    run(w, "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fault_open(1);
    open_file(w);
    run(w, "CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    assert_int_equal(sqlite3_close(w->db), SQLITE_OK);
    fault_close();
    free(w);
    return 0;
}

#define VFS_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

/* The write, the sync, and the lock of the log: not a call a page. */
VFS_TEST(a_commit_of_many_pages_is_few_calls)
{
    run(w, "BEGIN IMMEDIATE; INSERT INTO t (bytes) VALUES (zeroblob(100000))");
    uint64_t before = fault_calls();
    run(w, "COMMIT");
    assert_in_range(fault_calls() - before, 2, 6);
}

/* The file's own sync is the checkpoint's only one: the second is that of the next commit. */
VFS_TEST(a_log_that_was_synced_is_not_synced_again)
{
    run(w, "INSERT INTO t (bytes) VALUES (zeroblob(100000))");
    fault_syncs(2);
    run(w, "PRAGMA wal_checkpoint");
    assert_int_equal(number(w, "SELECT count(*) FROM t"), 1);
    assert_int_equal(sqlite3_exec(w->db, "INSERT INTO t (id) VALUES (9)", NULL, NULL, NULL),
                     SQLITE_IOERR);
}

/* Somebody wrote it and was killed before the sync: it is read, and so it must be on disk before
 * the file is. */
VFS_TEST(a_log_that_was_found_is_synced_before_the_file)
{
    run(w, "PRAGMA synchronous = OFF; INSERT INTO t (bytes) VALUES (zeroblob(100000))");
    sqlite3_db_config(w->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_close(w->db), SQLITE_OK);
    open_file(w);
    assert_int_equal(number(w, "SELECT count(*) FROM t"), 1);
    fault_syncs(2); /* the log's, and then the file's */
    assert_int_equal(
        sqlite3_wal_checkpoint_v2(w->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
        SQLITE_IOERR);
}

/* With a cache of ten pages, most go to the log and come back from there before the commit. */
VFS_TEST(pages_come_back_before_the_commit)
{
    run(w, "PRAGMA cache_size = 10; BEGIN IMMEDIATE");
    for (int n = 0; n < 200; n++)
        run(w, "INSERT INTO t (bytes) VALUES (randomblob(3000));"
               "UPDATE t SET bytes = zeroblob(2900) WHERE id = 1 + last_insert_rowid() / 2");
    assert_int_equal(number(w, "SELECT count(*) FROM t WHERE length(bytes) = 2900"), 101);
    run(w, "COMMIT");
    assert_int_equal(number(w, "SELECT sum(length(bytes)) FROM t"), 99 * 3000 + 101 * 2900);
}

VFS_TEST(the_power_takes_nothing_that_was_committed)
{
    for (int n = 0; n < 20; n++)
        run(w, "INSERT INTO t (bytes) VALUES (zeroblob(300000))"); /* more than is gathered */
    run(w, "BEGIN IMMEDIATE; INSERT INTO t (bytes) VALUES (zeroblob(300000))");
    fault_cut_at(1);
    sqlite3_close(w->db);
    fault_power_on();
    open_file(w);
    assert_int_equal(number(w, "SELECT sum(length(bytes)) FROM t"), 20 * 300000);
}

VFS_TEST(what_was_taken_back_is_not_there)
{
    run(w, "PRAGMA cache_size = 10; BEGIN IMMEDIATE");
    run(w, "INSERT INTO t (bytes) VALUES (zeroblob(100000)); ROLLBACK");
    run(w, "INSERT INTO t (bytes) VALUES (zeroblob(10))");
    assert_int_equal(number(w, "SELECT sum(length(bytes)) FROM t"), 10);
    fault_cut_at(1);
    sqlite3_close(w->db);
    fault_power_on();
    open_file(w);
    assert_int_equal(number(w, "SELECT sum(length(bytes)) FROM t"), 10);
}

VFS_TEST(a_write_that_fails_makes_the_commit_fail)
{
    run(w, "BEGIN IMMEDIATE; INSERT INTO t (bytes) VALUES (zeroblob(10000))");
    fault_fail_at(1, FAULT_FOR_EVER);
    assert_int_equal(sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL), SQLITE_IOERR);
    fault_heal();
    assert_int_equal(number(w, "SELECT count(*) FROM t"), 0);
}

TEST(what_is_beneath_must_be_there)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_int_equal(log_vfs_open(&w->vfs, path, &w->db, SQLITE_OPEN_READWRITE, "no such"),
                     SQLITE_ERROR);
    assert_null(w->db);
    free(w);
}
