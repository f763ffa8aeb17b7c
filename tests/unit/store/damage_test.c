/* Files that are not what a store left behind: each is refused with a word that says what was
 * found and what to do, and stays as it is; a log that a power cut has torn is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "server/store/rows.h"
#include "server/store/sqlite/log_check.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_files.h"
#include "tests/support/store_world.h"

enum { TEXT = 600, TASKS = 8, PAGE = 4096, HEAD = 32, FRAME = 24 + PAGE };

static const char do_this[] = "`ergond --check-store FILE`";

static bool yes(void *arg, const struct store_task *task)
{
    *(uint32_t *)arg += 1;
    return true;
}

static bool yes_row(void *arg, const struct store_table *table, const void *row)
{
    return true;
}

static bool yes_event(void *arg, const struct store_event *event)
{
    return true;
}

static void no_counts(void *arg, const struct store_counts *counts)
{
}

/* Opens and reads.  The number of tasks, or -1 and a text. */
static int try_with(const char *path, bool board, char error[static TEXT])
{
    uint32_t tasks = 0;
    enum store_board was;
    const struct store_options options = client_options(path);
    static const struct store_table *const tables[] = {
        &store_queues, &store_rates, &store_semaphores, &store_holds, &store_crons};
    const struct store_reader reader = {.arg = &tasks,
                                        .counts = no_counts,
                                        .task = yes,
                                        .event = yes_event,
                                        .tables = tables,
                                        .table_count = sizeof tables / sizeof *tables,
                                        .row = yes_row};
    error[0] = '\0';
    struct store *s = store_open(&options, error, TEXT);
    if (s && board)
        assert_int_equal(store_board_open(s, &was, error, TEXT), 0);
    int end = s ? store_load(s, &reader, error, TEXT) : -1;
    store_close(s);
    return end == 0 ? (int)tasks : -1;
}

static int try(const char *path, char error[static TEXT])
{
    return try_with(path, false, error);
}

/* Refused with this word, and what was found stays as it was. */
static void refused(const char *path, const char *why)
{
    char error[TEXT];
    struct store_files before, after;
    store_files_read(&before, path);
    assert_int_equal(try(path, error), -1);
    assert_non_null(strstr(error, path));
    if (!strstr(error, why))
        assert_string_equal(error, why);
    store_files_read(&after, path);
    assert_true(store_files_equal(&before, &after));
    store_files_free(&before);
    store_files_free(&after);
}

static void is_damaged(const char *path, const char *why)
{
    char error[TEXT];
    refused(path, why);
    try(path, error);
    assert_non_null(strstr(error, do_this));
}

/* A commit each. */
static void put(struct store_world *w, uint64_t from, uint32_t count)
{
    for (uint64_t id = from; id < from + count; id++)
        assert_int_equal(client_do(&w->client, client_put(id, "resize")), STORE_OK);
}

static void make(struct store_world *w)
{
    store_world_open(w);
    put(w, 1000, TASKS);
    client_close(&w->client);
}

/* The files as kill -9 leaves them: so many tasks in the log, none of them in the file.  A program
 * that reads meanwhile keeps the writer, which may be idle for a moment, from moving them. */
static struct store_files left(struct store_world *w, uint32_t tasks)
{
    struct store_files files;
    sqlite3 *reader;
    store_world_open(w);
    assert_int_equal(sqlite3_open(w->path, &reader), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM submissions", NULL, NULL, NULL),
        SQLITE_OK);
    put(w, 1000, tasks);
    store_files_read(&files, w->path);
    sqlite3_close(reader);
    client_close(&w->client);
    return files;
}

static const char *written(struct store_world *w, const struct store_files *files)
{
    store_files_write(files, w->path);
    return w->path;
}

static void run_sql(struct store_world *w, const char *sql)
{
    char out[TEXT];
    store_sql(w->path, sql, out, sizeof out);
}

/* --- The file --- */

STORE_TEST(an_id_that_lost_a_bit)
{
    struct store_files files;
    /* 1001, and the size of the row's head: a byte of its own, and one for each column. */
    const uint8_t id_and_head[] = {0x87, 0x69, (uint8_t)(1 + row_submissions.count)};
    make(w);
    store_files_read(&files, w->path);
    uint8_t *at = memmem(files.part[STORE_FILE].at, files.part[STORE_FILE].len, id_and_head,
                         sizeof id_and_head);
    assert_non_null(at);
    at[1] ^= 0x40;
    is_damaged(written(w, &files), "out of order");
    store_files_free(&files);
}

STORE_TEST(a_page_of_zeros)
{
    struct store_files files;
    make(w);
    store_files_read(&files, w->path);
    memset(files.part[STORE_FILE].at + PAGE, 0, PAGE);
    is_damaged(written(w, &files), "it is damaged: ");
    store_files_free(&files);
}

STORE_TEST(a_file_that_was_cut)
{
    struct store_files files;
    make(w);
    store_files_read(&files, w->path);
    files.part[STORE_FILE].len -= 2 * PAGE;
    is_damaged(written(w, &files), "it is damaged: ");
    store_files_free(&files);
}

/* --- States of actors: after a stop in order they are looked at when they are read --- */

/* A process, which has left no log. */
static void live(const struct store_world *w, bool stops)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    enum store_board was;
    struct store *s = store_open(&options, error, TEXT);
    assert_int_equal(store_board_open(s, &was, error, TEXT), 0);
    assert_int_equal(store_board_renew(s, false, error, TEXT), 0);
    if (stops)
        store_board_close(s);
    store_close(s);
}

static void add_actor(struct store_world *w)
{
    run_sql(w, "INSERT INTO actors (type, key, tenant, version, state) VALUES ('cart', '1', '', 1, "
               "x'07')");
}

/* The page of `actors`, of which there is one. */
static void zero_actors(struct store_world *w, struct store_files *files)
{
    char out[TEXT];
    long page =
        strtol(store_sql(w->path, "SELECT rootpage FROM sqlite_schema WHERE name = 'actors'", out,
                         sizeof out),
               NULL, 10);
    memset(files->part[STORE_FILE].at + (page - 1) * PAGE, 0, PAGE);
}

static enum store_error get(struct store_world *w)
{
    struct store_op *op = client_row(STORE_ROW_GET, &store_actors);
    *(struct store_actor *)op->row =
        (struct store_actor){.type = span_text("cart"), .key = span_text("1")};
    return client_do(&w->client, op);
}

STORE_TEST(a_state_that_is_damaged_is_noticed_when_it_is_read)
{
    char error[TEXT];
    struct store_files files;
    make(w);
    add_actor(w);
    live(w, true);
    store_files_read(&files, w->path);
    assert_int_equal(files.part[STORE_LOG].len, 0);
    zero_actors(w, &files);
    written(w, &files);
    assert_int_equal(try_with(w->path, true, error), TASKS);
    assert_int_equal(try_with(w->path, false, error), -1);
    live(w, false); /* it was killed, and somebody has taken its log into the file */
    assert_int_equal(try_with(w->path, true, error), -1);
    store_world_open(w);
    assert_int_equal(get(w), STORE_CORRUPT);
    client_close(&w->client);
    store_files_free(&files);
}

STORE_TEST(behind_a_crash_all_states_are_looked_at)
{
    store_world_open(w);
    client_close(&w->client);
    add_actor(w);
    struct store_files files = left(w, TASKS);
    assert_true(files.part[STORE_LOG].len > 0);
    zero_actors(w, &files);
    is_damaged(written(w, &files), "it is damaged: ");
    store_files_free(&files);
}

static void is_damaged_by(struct store_world *w, const char *sql, const char *why)
{
    make(w);
    run_sql(w, sql);
    is_damaged(w->path, why);
}

STORE_TEST(a_number_that_is_none)
{
    is_damaged_by(w, "UPDATE submissions SET created_at = 1.5 WHERE id = 1003",
                  "row 1003 of `submissions` has an impossible value in the column created_at");
}

STORE_TEST(a_number_that_is_too_large)
{
    is_damaged_by(w, "INSERT INTO lives (id, state, attempt) VALUES (1003, 'done', 4294967296)",
                  "row 1003 of `lives` has an impossible value in the column attempt");
}

STORE_TEST(a_state_that_is_none)
{
    is_damaged_by(w, "INSERT INTO lives (id, state) VALUES (1003, 'dane')",
                  "row 1003 of `lives` has an impossible value in the column state");
}

STORE_TEST(a_state_that_is_missing)
{
    is_damaged_by(w, "INSERT INTO lives (id, attempt) VALUES (1003, 1)",
                  "row 1003 of `lives` has an impossible value in the column state");
}

STORE_TEST(a_life_whose_task_is_gone)
{
    is_damaged_by(w, "INSERT INTO lives (id, state) VALUES (17, 'done')",
                  "row 17 of `lives` belongs to no task");
    run_sql(w, "UPDATE lives SET id = 999999");
    is_damaged(w->path, "row 999999 of `lives` belongs to no task");
}

STORE_TEST(options_whose_task_is_gone)
{
    is_damaged_by(w, "INSERT INTO options (id, priority) VALUES (17, 3)",
                  "row 17 of `options` belongs to no task");
}

STORE_TEST(counters_that_count_nothing)
{
    is_damaged_by(w, "UPDATE counters SET done = -1",
                  "`counters` has no row, or one with what is no count");
    run_sql(w, "UPDATE counters SET done = 0, last_fence = -1");
    is_damaged(w->path, "`counters` has no row, or one with what is no count");
    run_sql(w, "UPDATE counters SET last_fence = 'many'");
    is_damaged(w->path, "`counters` has no row, or one with what is no count");
    run_sql(w, "UPDATE counters SET last_fence = 1 << 53"); /* programs would not have it exactly */
    is_damaged(w->path, "`counters` has no row, or one with what is no count");
    run_sql(w, "DELETE FROM counters");
    is_damaged(w->path, "`counters` has no row, or one with what is no count");
}

STORE_TEST(a_turn_with_a_number_that_none_has)
{
    is_damaged_by(w, "INSERT INTO turns (seq, type, key) VALUES (-7, 'cart', '1')",
                  "row -7 of `turns` has a number that no row can have");
    run_sql(w, "UPDATE turns SET seq = 9223372036854775807");
    is_damaged(w->path, "row 9223372036854775807 of `turns` has a number that no row can have");
    run_sql(w, "UPDATE turns SET seq = 7");
    assert_int_equal(try(w->path, (char[TEXT]){0}), TASKS);
}

STORE_TEST(a_table_that_lost_a_column)
{
    make(w);
    run_sql(w, "DROP VIEW task_events");
    run_sql(w, "DROP VIEW task_life");
    run_sql(w, "DROP VIEW open_tasks");
    run_sql(w, "DROP VIEW named_tasks");
    run_sql(w, "DROP VIEW tasks");
    assert_int_equal(try(w->path, (char[TEXT]){0}), TASKS); /* views are for people */
    run_sql(w, "ALTER TABLE options DROP COLUMN jitter");
    is_damaged(w->path, "the table `options` has other columns than it was made with");
    run_sql(w, "DROP TABLE events");
    is_damaged(w->path, "the table `events` is missing");
}

/* --- The file, and a log beside it --- */

STORE_TEST(no_file_beside_a_log)
{
    struct store_files files = left(w, TASKS);
    files.part[STORE_FILE].there = false;
    refused(written(w, &files), "it is missing or empty, but its log (-wal, ");
    store_files_free(&files);
}

STORE_TEST(an_empty_file_beside_a_log)
{
    struct store_files files = left(w, TASKS);
    files.part[STORE_FILE].len = 0;
    refused(written(w, &files), "it is missing or empty, but its log (-wal, ");
    store_files_free(&files);
}

STORE_TEST(an_empty_log_is_no_log)
{
    char error[TEXT];
    struct store_files files = left(w, TASKS);
    files.part[STORE_FILE].there = false;
    files.part[STORE_LOG].len = 0;
    assert_int_equal(try(written(w, &files), error), 0);
    store_files_free(&files);
}

/* --- The log --- */

static size_t frames(const struct store_files *files)
{
    return (files->part[STORE_LOG].len - HEAD) / FRAME;
}

/* Where the last frame begins that ends a commit, of those before the frame `before`. */
static size_t last_commit(const struct store_files *files, size_t before)
{
    while (before-- > 0) {
        const uint8_t *frame = files->part[STORE_LOG].at + HEAD + before * FRAME;
        if (frame[4] || frame[5] || frame[6] || frame[7])
            return before;
    }
    return 0;
}

STORE_TEST(a_log_that_is_whole)
{
    struct log_look look;
    char error[TEXT];
    struct store_files files = left(w, TASKS);
    written(w, &files);
    assert_int_equal(log_check(w->path, NULL, &look), 0);
    assert_int_equal(look.found, LOG_WHOLE);
    assert_int_equal(look.commits, TASKS);
    assert_int_equal(try(w->path, error), TASKS);
    store_files_free(&files);
}

/* Each bit of a few bytes of each frame but those of the last two commits. */
STORE_TEST(one_bit_of_a_log)
{
    static const size_t places[] = {0, 2, 4, 7, 8, 15, 16, 23, 24, 1000, FRAME - 1};
    struct store_files files = left(w, TASKS);
    struct log_look look;
    uint8_t *log = files.part[STORE_LOG].at;
    size_t most = last_commit(&files, last_commit(&files, frames(&files)));
    assert_in_range(most, TASKS, 1000);
    for (size_t frame = 0; frame < most; frame++)
        for (size_t n = 0; n < sizeof places / sizeof *places; n++) {
            uint8_t *byte = log + HEAD + frame * FRAME + places[n];
            *byte ^= (uint8_t)(1 << (frame + n) % 8);
            written(w, &files);
            assert_int_equal(log_check(w->path, NULL, &look), 0);
            assert_int_equal(look.found, LOG_DAMAGED);
            assert_int_equal(look.bad, HEAD + frame * FRAME);
            assert_in_range(look.lost, 1, TASKS);
            assert_in_range(look.commits, 0, TASKS - look.lost);
            *byte ^= (uint8_t)(1 << (frame + n) % 8);
        }
    log[HEAD + FRAME] ^= 1;
    is_damaged(written(w, &files), "its log (-wal) is not as it was written from byte");
    store_files_free(&files);
}

/* Its only commit, without the frame that it began with: something was there, and is told. */
STORE_TEST(a_log_without_its_first_frame)
{
    struct store_files files = left(w, TASKS);
    struct store_part *log = &files.part[STORE_LOG];
    struct log_look look;
    size_t first = 0;

    while (last_commit(&files, first + 1) != first)
        first++;
    if (first == 0)
        first = 1; /* the next one, which has begun at least */
    log->len = HEAD + (first + 1) * FRAME;
    memset(log->at + HEAD, 0, FRAME);
    written(w, &files);
    assert_int_equal(log_check(w->path, NULL, &look), 0);
    assert_int_equal(look.found, LOG_TORN);
    assert_int_equal(look.commits, 0);
    assert_int_equal(look.end, HEAD);
    store_files_free(&files);
}

STORE_TEST(what_is_no_log_is_not_taken_for_an_empty_one)
{
    struct store_files files = left(w, TASKS);
    struct store_part *log = &files.part[STORE_LOG];
    char error[TEXT];
    for (size_t at = 0; at < log->len; at++)
        log->at[at] = (uint8_t) "what is this? "[at % 14];
    is_damaged(written(w, &files), "is damaged: something was written over it");
    memset(log->at, 0, log->len); /* a power cut leaves this of a log that was just made */
    assert_true(try(written(w, &files), error) >= 0);
    store_files_free(&files);
}

STORE_TEST(one_bit_of_the_head_of_a_log)
{
    struct store_files files = left(w, TASKS);
    struct log_look look;
    for (size_t bit = 0; bit < 8 * HEAD; bit++) {
        files.part[STORE_LOG].at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        written(w, &files);
        assert_int_equal(log_check(w->path, NULL, &look), 0);
        assert_int_equal(look.found, LOG_DAMAGED);
        assert_in_range(look.lost, 1, TASKS);
        files.part[STORE_LOG].at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    files.part[STORE_LOG].at[20] ^= 1;
    is_damaged(written(w, &files), "its log (-wal) is not as it was written from byte 0 on");
    store_files_free(&files);
}

/* A file that has all of its log, whose head lost a bit. */
static void write_torn_head(struct store_world *w, size_t byte)
{
    struct store_files files = left(w, TASKS), merged;
    store_files_read(&merged, w->path); /* closed: the file has it all */
    merged.part[STORE_LOG] = files.part[STORE_LOG];
    merged.part[STORE_LOG].at[byte] ^= 1;
    store_files_write(&merged, w->path);
    merged.part[STORE_LOG] = (struct store_part){0};
    store_files_free(&merged);
    store_files_free(&files);
}

/* The same head, torn when the file has all of the log: nothing is lost. */
STORE_TEST(the_head_of_a_log_that_is_not_needed)
{
    char error[TEXT];
    write_torn_head(w, 20);
    assert_int_equal(try(w->path, error), TASKS);
}

/* The number in which a new head differs first is torn, and its salt is still the old one.  SQLite
 * takes it for its new log: the rest of the old one must not look like commits of that. */
STORE_TEST(a_log_after_one_whose_head_was_torn)
{
    char error[TEXT];
    struct store_files killed;
    write_torn_head(w, 15);
    store_world_open(w);
    put(w, 2000, 1);
    store_files_read(&killed, w->path);
    client_close(&w->client);
    assert_int_equal(try(written(w, &killed), error), TASKS + 1);
    assert_string_equal(error, "");
    store_files_free(&killed);
}

/* Whatever of the last commit is on disk: all others are read. */
STORE_TEST(a_last_commit_that_a_power_cut_has_torn)
{
    char error[TEXT];
    struct store_files files = left(w, TASKS);
    uint8_t *log = files.part[STORE_LOG].at;
    size_t first = last_commit(&files, frames(&files) - 1) + 1, len = files.part[STORE_LOG].len;
    for (size_t frame = first; frame < frames(&files); frame++) {
        uint8_t kept = log[HEAD + frame * FRAME + 500];
        log[HEAD + frame * FRAME + 500] ^= 4;
        assert_int_equal(try(written(w, &files), error), TASKS - 1);
        log[HEAD + frame * FRAME + 500] = kept;
        files.part[STORE_LOG].len = HEAD + frame * FRAME + 77;
        assert_int_equal(try(written(w, &files), error), TASKS - 1);
        files.part[STORE_LOG].len = len;
    }
    store_files_free(&files);
}

/* A sector ends between the mark of a frame and its salt: of a commit that a power cut has torn,
 * the mark may be that of an older log. */
STORE_TEST(an_old_mark_before_a_new_salt_is_no_commit)
{
    enum { MANY = 200 /* tasks: some hundred frames */ };
    struct store_files files = left(w, MANY);
    struct store_part *log = &files.part[STORE_LOG];
    struct log_look look;
    size_t n = 0;
    while ((HEAD + n * FRAME + 8) % 512 != 0 || last_commit(&files, n + 1) == n)
        assert_in_range(++n, 1, frames(&files) - 2);
    size_t end = n + 1;
    while (last_commit(&files, end + 1) != end)
        end++;
    log->len = HEAD + (end + 1) * FRAME;
    memset(log->at + HEAD + n * FRAME, 1, 8);
    written(w, &files);
    assert_int_equal(log_check(w->path, NULL, &look), 0);
    assert_int_equal(look.found, LOG_TORN);
    assert_in_range(look.commits, 1, MANY - 1);
    store_files_free(&files);
}

/* --- While it serves --- */

/* What a batch has begun is taken back: others who look into the file are not kept waiting. */
STORE_TEST(a_store_that_finds_damage_lets_go_of_the_file)
{
    struct store_files files;
    sqlite3 *db;
    char root[TEXT];
    make(w);
    store_sql(w->path, "SELECT rootpage FROM sqlite_schema WHERE name = 'options'", root, TEXT);
    store_files_read(&files, w->path);
    memset(files.part[STORE_FILE].at + (strtoul(root, NULL, 10) - 1) * PAGE, 0x5a, PAGE);
    written(w, &files);
    store_world_open(w);
    struct store_op *op = client_put(5000, "m");
    op->task.has_options = true;
    assert_int_equal(client_do(&w->client, op), STORE_CORRUPT);
    assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    client_close(&w->client);
    store_files_free(&files);
}
