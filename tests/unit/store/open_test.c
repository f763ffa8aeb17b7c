/* What store_open() takes and what it refuses, each with a word to whoever reads it; and what
 * people see who look into the file with sqlite3. */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/store/sqlite/schema.h"
#include "server/store/sqlite/sqlite_parts.h"
#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/store_world.h"

enum { TEXT = 300 };

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

static int take_number(void *arg, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    *(int *)arg = atoi(values[0]);
    return 0;
}

/* --- */

/* A file there cannot be made by a server that may write beside its store alone. */
STORE_TEST(sqlite_puts_nothing_aside_in_files)
{
    int where = 0;
    struct store *s = opened(w->path);
    const struct sqlite_store *engine = s->engine;
    assert_int_equal(sqlite3_exec(engine->db, "PRAGMA temp_store", take_number, &where, NULL),
                     SQLITE_OK);
    assert_int_equal(where, 2);
    store_close(s);
}

STORE_TEST(no_folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/none/tasks.db", w->folder);
    refused(path, "there is no such folder; make it");
}

STORE_TEST(a_folder_is_no_file)
{
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

STORE_TEST(no_right_to_write)
{
    store_close(opened(w->path));
    assert_int_equal(chmod(w->path, 0400), 0);
    obey_rights(true);
    refused(w->path, "no right to write it; give the server that right");
    obey_rights(false);
}

STORE_TEST(something_else)
{
    FILE *f = fopen(w->path, "w");
    for (int n = 0; n < 100; n++)
        fputs("a shopping list, which is no database\n", f);
    fclose(f);
    refused(w->path, "it is not a store of ergond; name another file, or move this one");
}

STORE_TEST(a_database_of_somebody_else)
{
    char out[TEXT];
    store_sql(w->path, "CREATE TABLE tasks (id)", out, sizeof out);
    refused(w->path, "it is not a store of ergond; name another file, or move this one");
    assert_string_equal(store_sql(w->path, "PRAGMA journal_mode", out, sizeof out), "delete\n");
}

STORE_TEST(a_newer_version)
{
    char out[TEXT], why[TEXT];
    store_close(opened(w->path));
    store_sql(w->path, "PRAGMA user_version = 77", out, sizeof out);
    snprintf(why, sizeof why,
             "it was written by a newer ergond (its version is 77, this one knows %d); run that "
             "one",
             schema_version);
    refused(w->path, why);
}

STORE_TEST(an_older_version)
{
    char out[TEXT], why[TEXT];
    store_close(opened(w->path));
    store_sql(w->path, "PRAGMA user_version = 2", out, sizeof out);
    snprintf(why, sizeof why,
             "it was written by an older ergond (its version is 2, this one needs at least %d), "
             "and cannot be taken over; let that one finish its tasks, then name another file, or "
             "move this one",
             SCHEMA_OLDEST);
    refused(w->path, why);
    assert_string_equal(store_sql(w->path, "PRAGMA user_version", out, sizeof out), "2\n");
}

STORE_TEST(a_second_server)
{
    char why[TEXT];
    struct store *s = opened(w->path);
    snprintf(why, sizeof why, "another server uses it: process %ld; stop that one first",
             (long)getpid());
    refused(w->path, why);
    store_close(s);
    store_close(opened(w->path));
}

STORE_TEST(its_lock_file_deleted)
{
    char lock[TEXT];
    struct store *s = opened(w->path);
    snprintf(lock, sizeof lock, "%s.lock", w->path);
    assert_int_equal(unlink(lock), 0);
    refused(w->path, "another server uses it; stop that one first");
    store_close(s);
    store_close(opened(w->path));
}

static void is_as_it_was(const char *victim)
{
    char text[32] = "";
    FILE *file = fopen(victim, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "7777 precious\n");
}

/* What a link points to is somebody else's. */
STORE_TEST(its_lock_file_is_a_link)
{
    char lock[TEXT], victim[TEXT], why[2 * TEXT];
    struct store *s;

    snprintf(lock, sizeof lock, "%s.lock", w->path);
    snprintf(victim, sizeof victim, "%s/victim", w->folder);
    FILE *file = fopen(victim, "w");
    assert_non_null(file);
    assert_true(fputs("7777 precious\n", file) >= 0);
    fclose(file);

    assert_int_equal(symlink(victim, lock), 0);
    snprintf(why, sizeof why, "cannot lock %s: it is a symbolic link; remove it", lock);
    refused(w->path, why);
    assert_int_equal(unlink(lock), 0);

    assert_int_equal(link(victim, lock), 0);
    s = opened(w->path);
    refused(w->path, "another server uses it; stop that one first");
    is_as_it_was(victim);
    store_close(s);
    is_as_it_was(victim);
    assert_int_equal(unlink(lock), 0);
    store_close(opened(w->path));
}

STORE_TEST(a_second_name)
{
    char other[TEXT];
    struct store *s = opened(w->path);
    snprintf(other, sizeof other, "%s.link", w->path);
    assert_int_equal(link(w->path, other), 0);
    refused(other, "another server uses it; stop that one first");
    store_close(s);
}

STORE_TEST(a_second_server_by_another_name)
{
    char error[TEXT], link[128];
    snprintf(link, sizeof link, "%s/link.db", w->folder);
    struct store *s = opened(w->path);
    assert_int_equal(symlink(w->path, link), 0);
    const struct store_options options = client_options(link);
    assert_null(store_open(&options, error, sizeof error));
    assert_non_null(strstr(error, "another server uses it"));
    store_close(s);
}

STORE_TEST(the_file_is_for_its_owner_alone)
{
    struct stat file;
    store_close(opened(w->path));
    assert_int_equal(stat(w->path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static bool refuse_everything(struct store_world *w)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    store_close(s);
    assert_true(s || strstr(error, "no memory"));
    return !s;
}

STORE_TEST(without_memory_nothing_is_left_behind)
{
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

/* --- While it is in use --- */

STORE_TEST(a_file_that_is_not_where_it_was_takes_nothing)
{
    char aside[128], out[64];
    uint64_t id = 2;
    snprintf(aside, sizeof aside, "%s/aside.db", w->folder);
    store_world_open(w);
    assert_int_equal(client_do(&w->client, client_put(1, "resize")), STORE_OK);
    assert_int_equal(rename(w->path, aside), 0);
    assert_int_equal(client_do(&w->client, client_put(id, "resize")), STORE_MOVED);
    assert_int_equal(rename(aside, w->path), 0);
    while (client_do(&w->client, client_put(id, "resize")) == STORE_MOVED)
        ; /* until it has been tried again */
    assert_int_equal(w->client.last, STORE_OK);
    assert_string_equal(store_sql(w->path, "SELECT count(*) FROM tasks", out, sizeof out), "2\n");
    client_close(&w->client);
}

/* A part that is not what the store left; what the store says, and a start on the same files. */
static void lose_part(struct store_world *w, const char *suffix, enum store_error expected)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", w->path, suffix);
    store_world_open(w);
    assert_int_equal(client_do(&w->client, client_put(1, "resize")), STORE_OK);
    assert_int_equal(expected == STORE_MOVED ? unlink(name) : truncate(name, 0), 0);
    assert_int_equal(client_do(&w->client, client_put(2, "resize")), expected);
    client_close(&w->client);
}

STORE_TEST(a_file_that_was_truncated_takes_nothing_and_keeps_its_log)
{
    lose_part(w, "", STORE_CORRUPT);
    struct stat st;
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_size, 0);
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    assert_null(store_open(&options, error, sizeof error));
    assert_non_null(strstr(error, "it is missing or empty, but its log"));
}

STORE_TEST(a_log_that_was_truncated_takes_nothing)
{
    lose_part(w, "-wal", STORE_CORRUPT);
}

STORE_TEST(a_log_that_was_removed_takes_nothing_and_goes_into_the_file)
{
    char out[64];
    lose_part(w, "-wal", STORE_MOVED);
    assert_string_equal(store_sql(w->path, "SELECT count(*) FROM tasks", out, sizeof out), "1\n");
}

STORE_TEST(an_index_that_was_truncated_loses_nothing)
{
    char out[64];
    lose_part(w, "-shm", STORE_CORRUPT);
    assert_string_equal(store_sql(w->path, "SELECT count(*) FROM tasks", out, sizeof out), "1\n");
}
