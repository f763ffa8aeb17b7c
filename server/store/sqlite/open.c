/* Opens the store's file under its lock and checks it; closes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/store/lock.h"
#include "server/store/sqlite/log_check.h"
#include "server/store/sqlite/schema.h"
#include "server/store/sqlite/sqlite_parts.h"

enum {
    BUSY_MS = 2000,   /* how long somebody with sqlite3 may keep us from writing */
    READ_KIB = 256,   /* of pages, while each is read once, in order */
    SERVE_KIB = 8192, /* likewise, while any may be needed again */
    FILE_MODE = 0600  /* parameters are nobody else's affair */
};

static int fail_sqlite(struct sqlite_store *s, const char *path, char *error, size_t size)
{
    int rc = sqlite3_errcode(s->db);
    bool ours = rc != SQLITE_NOTADB;
    if (rc == SQLITE_CORRUPT)
        return store_damaged(error, size, path, "%s", sqlite3_errmsg(s->db));
    return store_fail(error, size, path, "%s", ours ? sqlite3_errmsg(s->db) : schema_not_ours);
}

/* --- The file --- */

/* Makes the file before SQLite sees it, with rights of our own, and says clearly why where that
 * fails.  The descriptor, or -1 and a text. */
static int make_file(const char *path, char *error, size_t size)
{
    char text[64];
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENOTDIR)
        return store_fail(error, size, path, "there is no such folder; make it");
    if (errno == EROFS)
        return store_fail(error, size, path, "its file system is read-only");
    if (errno == EACCES || errno == EPERM)
        return store_fail(error, size, path, "no right to write it; give the server that right");
    return store_fail(error, size, path, "%s", strerror_r(errno, text, sizeof text));
}

static int open_file(struct sqlite_store *s, const struct store_setup *o, char *error, size_t size)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = log_vfs_open(&s->vfs, o->where, &s->db, flags, o->vfs);
    if (!s->db)
        return store_fail(error, size, o->where, "%s", store_error_text(STORE_MEMORY));
    if (rc != SQLITE_OK)
        return fail_sqlite(s, o->where, error, size);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* until it serves */
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return store_fail(error, size, o->where,
                          "it is read-only; give the server the right to "
                          "write it");
    return 0;
}

/* SQLite answers which journal there is now: some file systems cannot have a log. */
static int is_wal(void *result, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    *(bool *)result = values[0] && strcmp(values[0], "wal") == 0;
    return 0;
}

void sqlite_cache(struct sqlite_store *s, bool serves)
{
    char pragma[40];
    snprintf(pragma, sizeof pragma, "PRAGMA cache_size = -%d", serves ? SERVE_KIB : READ_KIB);
    sqlite3_exec(s->db, pragma, NULL, NULL, NULL); /* else it stays as it is, which does no harm */
}

/* EXTRA is FULL, and syncs the folder where a rollback journal was removed.  A new file
 * has such a journal before it has its log: if the journal came back after a power cut, it would
 * take back what was committed since.  Debian's SQLite writes zeros over deleted rows unless
 * secure_delete says otherwise.  What statements and savepoints put aside stays in memory, since a
 * server may be allowed to write nowhere else (docker/compose.yaml). */
static int prepare_file(struct sqlite_store *s)
{
    static const char pragmas[] = "PRAGMA synchronous = EXTRA; PRAGMA secure_delete = OFF; "
                                  "PRAGMA temp_store = MEMORY";
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite_cache(s, false);
    return sqlite3_exec(s->db, pragmas, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static int start_log(struct sqlite_store *s, const char *path, char *error, size_t size)
{
    bool wal = false;
    if (sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", is_wal, &wal, NULL) != SQLITE_OK)
        return fail_sqlite(s, path, error, size);
    if (!wal)
        return store_fail(error, size, path,
                          "its file system has no shared memory, which a store needs; take a "
                          "local one");
    checkpoint_watch(s);
    /* A read opens the log, and holds the file from then on: else a sqlite3 that opens and closes
     * the file before the first commit would remove the log. */
    return sqlite3_exec(s->db, "PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : fail_sqlite(s, path, error, size);
}

/* A process that was killed may have written a commit and not synced it.  This one reads it, tells
 * of it and builds on it, so it is on the disk before anybody is answered.  The first sync of the
 * log by a process syncs its folder, too. */
static int sync_log(struct sqlite_store *s, const char *path, char *error, size_t size)
{
    sqlite3_file *log = NULL;
    int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (rc == SQLITE_OK && log && log->pMethods)
        rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    return rc == SQLITE_OK ? 0
                           : store_fail(error, size, path, "its log (-wal) cannot be synced: %s",
                                        sqlite3_errstr(rc));
}

struct complaint {
    const char *path;
    char *error;
    size_t size;
};

static bool first_finding(void *arg, const char *text)
{
    const struct complaint *c = arg;
    store_damaged(c->error, c->size, c->path, "%s", text);
    return false;
}

static int check_tables(struct sqlite_store *s, const char *path, char *error, size_t size)
{
    struct complaint complaint = {path, error, size};
    const struct sound_report report = {first_finding, &complaint, 1};
    int rc = sound_tables(s->db, &report);
    if (rc == SQLITE_OK || rc == SOUND_NOT)
        return rc == SQLITE_OK ? 0 : -1;
    return store_fail(error, size, path, "its tables cannot be read: %s", sqlite3_errstr(rc));
}

static int open_database(struct sqlite_store *s, const struct store_setup *o, char *error,
                         size_t size)
{
    char why[200];
    if (open_file(s, o, error, size) != 0)
        return -1;
    if (prepare_file(s) != 0)
        return fail_sqlite(s, o->where, error, size);
    if (schema_prepare(s->db, why, sizeof why) != 0)
        return sqlite3_errcode(s->db) == SQLITE_CORRUPT
                   ? store_damaged(error, size, o->where, "%s", why)
                   : store_fail(error, size, o->where, "%s", why);
    if (check_tables(s, o->where, error, size) != 0)
        return -1;
    if (start_log(s, o->where, error, size) != 0)
        return -1;
    if (statements_open(&s->statements, s->db) != SQLITE_OK || put_open(s) != SQLITE_OK ||
        states_open(&s->states, s->db, &s->names) != SQLITE_OK)
        return fail_sqlite(s, o->where, error, size);
    struct store_marks marks;
    sqlite_marks(s, &marks);
    s->rows_ahead = marks.committed_at - clock_monotonic(); /* rows are by the clock of then */
    return sync_log(s, o->where, error, size);
}

/* --- The log --- */

static int refuse_log(const struct log_look *look, const char *path, char *error, size_t size)
{
    char text[400];
    log_check_text(look, text, sizeof text);
    return look->found == LOG_ALONE ? store_fail(error, size, path, "%s", text)
                                    : store_damaged(error, size, path, "%s", text);
}

/* SQLite would begin a new file beside a log that is alone, and go on without a word where one is
 * damaged. */
static int check_log(struct sqlite_store *s, const struct store_setup *o, char *error, size_t size)
{
    struct log_look look;
    int rc = log_check(o->where, o->vfs, &look);
    s->found_log = look.log_size > 0;
    if (rc == SQLITE_OK && look.found == LOG_REST)
        rc = log_empty(o->where, o->vfs);
    if (rc == SQLITE_NOMEM)
        return store_fail(error, size, o->where, "%s", store_error_text(STORE_MEMORY));
    if (rc != SQLITE_OK)
        return store_fail(error, size, o->where, "it cannot be read, or its log (-wal) cannot: %s",
                          sqlite3_errstr(rc));
    if (look.found == LOG_ALONE || look.found == LOG_DAMAGED)
        return refuse_log(&look, o->where, error, size);
    if (look.found == LOG_TORN)
        log_warn("the last commit in the store's log is not whole, and is left out, as after a "
                 "power cut",
                 LOG_STR("store", o->where), LOG_UINT("bytes", look.log_size - look.end));
    return 0;
}

static int take_file(struct sqlite_store *s, const struct store_setup *o, char *error, size_t size)
{
    char why[200];
    bool there = o->vfs || access(o->where, F_OK) == 0;
    if (!there && check_log(s, o, error, size) != 0)
        return -1; /* before the file is made */
    int file = o->vfs ? -1 : make_file(o->where, error, size);
    if (!o->vfs && file < 0)
        return -1;
    if (lock_take(&s->lock, o->where, file, why, sizeof why) == 0)
        return 0;
    return store_fail(error, size, o->where, "%s", why);
}

struct sqlite_store *sqlite_open(const struct store_setup *setup, char *error, size_t size)
{
    struct sqlite_store *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(setup->where))) {
        store_fail(error, size, setup->where, "%s", store_error_text(STORE_MEMORY));
        free(s);
        return NULL;
    }
    s->lock = (struct lock){-1, -1};
    s->in_memory = setup->vfs != NULL;
    s->retry = setup->retry;
    s->names = setup->names;
    if (take_file(s, setup, error, size) == 0 && check_log(s, setup, error, size) == 0 &&
        open_database(s, setup, error, size) == 0)
        return s;
    sqlite_close(s);
    return NULL;
}

void sqlite_close(struct sqlite_store *s)
{
    if (!s)
        return;
    states_close(&s->states);
    statements_close(&s->statements);
    sqlite3_close(s->db);
    lock_drop(&s->lock);
    free(s->path);
    free(s);
}
