#include "server/store/offline/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/sqlite/schema.h"

enum { BUSY_MS = 2000, WHY = 300, LOG_NAME = 4096, LOG_TEXT = 400 };

static int fail(char *error, size_t size, const char *path, const char *why)
{
    snprintf(error, size, "%s: %s", path, why);
    return -1;
}

/* As lock_take(). */
static int take_lock(struct source *s, const char *path, char *error, size_t size)
{
    char why[WHY];
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 && (errno == EACCES || errno == EROFS || errno == EPERM))
        file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno != ENOENT)
        return fail(error, size, path, strerror_r(errno, why, sizeof why));
    int taken = lock_take(&s->lock, path, file, why, sizeof why);
    if (taken != 0)
        fail(error, size, path, why);
    return taken;
}

/* A number that the file answers; -1: it cannot. */
static int ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st;
    int number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        number = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    return number;
}

static int check_version(struct source *s, const char *path, char *error, size_t size)
{
    char why[WHY];
    int application = ask(s->db, "PRAGMA application_id");
    int version = ask(s->db, "PRAGMA user_version");
    if (application < 0 || version < 0)
        return fail(error, size, path, sqlite3_errmsg(s->db));
    if (application != SCHEMA_APPLICATION)
        return fail(error, size, path, "it is not a store of ergond, or its first page is damaged");
    if (version == schema_version)
        return 0;
    snprintf(why, sizeof why,
             "it is of version %d, and this ergond reads %d; let the one run that wrote it, or "
             "start a server on a copy, which takes an older file over",
             version, schema_version);
    return fail(error, size, path, why);
}

/* The log stays beside the file, as it is: to be looked at again. */
static int open_file(struct source *s, const char *path, char *error, size_t size)
{
    int rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (!s->db)
        return fail(error, size, path, sqlite3_errstr(SQLITE_NOMEM));
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
    return rc == SQLITE_OK ? check_version(s, path, error, size)
                           : fail(error, size, path, sqlite3_errmsg(s->db));
}

static const char *log_name(const char *path, char *name, size_t size)
{
    snprintf(name, size, "%s-wal", path);
    return name;
}

/* SQLite makes an empty one to read a file that has none. */
static void remove_made_log(const struct source *s)
{
    char log[LOG_NAME];
    struct stat st;
    if (s->db && !s->had_log && stat(log_name(s->path, log, sizeof log), &st) == 0 &&
        st.st_size == 0)
        unlink(log);
}

int source_open(struct source *s, const char *path, char *error, size_t size)
{
    char log[LOG_NAME];
    *s = (struct source){.lock = {-1, -1}, .path = path};
    s->had_log = access(log_name(path, log, sizeof log), F_OK) == 0;
    /* Nothing is made where nothing is, not even a lock. */
    if (!s->had_log && access(path, F_OK) != 0)
        return fail(error, size, path, "there is no such file");
    if (take_lock(s, path, error, size) != 0)
        return -1;
    int rc = log_check(path, NULL, &s->log);
    if (rc != SQLITE_OK)
        return fail(error, size, path, sqlite3_errstr(rc));
    if (s->log.found == LOG_ALONE)
        return 0;
    if (s->log.file_size == 0)
        return fail(error, size, path, "it is empty, or missing: there is nothing to read");
    return open_file(s, path, error, size);
}

/* The lock goes before SQLite comes, whose own locks would go with it. */
static int look_at_log(struct source *s, const char *path, char *error, size_t size)
{
    char why[LOG_TEXT];
    int taken = take_lock(s, path, error, size);
    int rc = taken == 0 ? log_check(path, NULL, &s->log) : SQLITE_OK;
    lock_drop(&s->lock);
    s->in_use = taken == LOCK_IN_USE;
    if (s->in_use)
        return 0;
    if (taken != 0)
        return -1;
    if (rc != SQLITE_OK)
        return fail(error, size, path, sqlite3_errstr(rc));
    if (s->log.found != LOG_DAMAGED && s->log.found != LOG_ALONE)
        return 0;
    log_check_text(&s->log, why, sizeof why);
    return fail(error, size, path, why);
}

int source_open_beside(struct source *s, const char *path, char *error, size_t size)
{
    *s = (struct source){.lock = {-1, -1}, .path = path, .beside = true};
    if (access(path, F_OK) != 0)
        return fail(error, size, path, "there is no such file");
    if (look_at_log(s, path, error, size) != 0)
        return -1;
    return open_file(s, path, error, size);
}

void source_close(struct source *s)
{
    if (sqlite3_close(s->db) == SQLITE_OK && !s->beside)
        remove_made_log(s); /* nobody else has the file: the lock is held */
    lock_drop(&s->lock);
}
