/* Copies a store's file, whether or not a server uses it. */
#include "server/store/driver.h"
#include "server/store/offline/offline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/store/sqlite/backup_mark.h"
#include "server/store/offline/new_file.h"
#include "server/store/offline/source.h"
#include "server/store/sqlite/sound.h"

enum { PIECE_PAGES = 256 /* of 4 KiB: 1 MiB */, PIECE_NS = 1000000000 / BACKUP_RATE };

struct backup {
    const struct store_offline *o;
    const char *to;
    FILE *errors;
    struct source source;
    struct new_file file;
    sqlite3 *copy;
    uint64_t findings, tasks;
    uint64_t began; /* Unix ns: what was committed before is in it */
};

static bool say(const struct backup *b, const char *path, const char *text)
{
    fprintf(b->errors, "%s: %s; there is no backup\n", path, text);
    return false;
}

static bool say_copy(const struct backup *b)
{
    return say(b, b->to, sqlite3_errmsg(b->copy));
}

/* From here on the source is as it is at this moment. */
static bool hold_state(struct backup *b)
{
    static const char begin[] = "BEGIN; SELECT 1 FROM sqlite_master";
    b->began = clock_wall();
    if (sqlite3_exec(b->source.db, begin, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return say(b, b->o->path, sqlite3_errmsg(b->source.db));
}

/* The log of the server could not begin anew, and has grown.  What came into it goes into the file
 * by us: a checkpoint holds up nobody but other checkpoints, and the server, which does its own
 * between two commits, would have its clients wait for all of it.  What came during the first try
 * is left to the second, and what is left then is little.  Where no server was the file stays as it
 * is. */
static void release_state(struct backup *b)
{
    sqlite3 *db = b->source.db;
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    for (int tries = 0; b->source.in_use && tries < 2; tries++)
        sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

/* What is not whole is removed, so it needs no journal; it is synced by us.  SQLite keeps no more
 * of it in memory than a piece. */
static bool open_copy(struct backup *b)
{
    static const char pragmas[] =
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
        "PRAGMA cache_size = -1024";
    if (sqlite3_open_v2(b->file.part, &b->copy, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_exec(b->copy, pragmas, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return say_copy(b);
}

/* `fd` is to stay open as long as SQLite has the file: closing any descriptor of the file would
 * drop SQLite's locks. */
static bool sync_copy(struct backup *b, int fd)
{
    return fdatasync(fd) == 0 || say(b, b->to, "it cannot be brought to the disk");
}

static void rest_until(uint64_t moment)
{
    const struct timespec until = {.tv_sec = (time_t)(moment / 1000000000),
                                   .tv_nsec = (long)(moment % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static bool copy_pages(struct backup *b, int fd)
{
    sqlite3_backup *pages = sqlite3_backup_init(b->copy, "main", b->source.db, "main");
    if (!pages)
        return say_copy(b);
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK) {
        uint64_t began = clock_monotonic();
        rc = sqlite3_backup_step(pages, PIECE_PAGES);
        if (rc == SQLITE_OK && !sync_copy(b, fd)) {
            sqlite3_backup_finish(pages);
            return false;
        }
        if (rc == SQLITE_OK)
            rest_until(began + PIECE_NS);
    }
    sqlite3_backup_finish(pages);
    return rc == SQLITE_DONE || say(b, b->to, sqlite3_errstr(rc));
}

static bool on_finding(void *arg, const char *text)
{
    struct backup *b = arg;
    b->findings++;
    fprintf(b->errors, "%s: %s\n", b->o->path, text);
    return true;
}

/* A copy has no log beside it: one file is all of it. */
static bool close_log(struct backup *b)
{
    return sqlite3_exec(b->copy, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) == SQLITE_OK ||
           say_copy(b);
}

static bool is_sound(struct backup *b)
{
    const struct sound_report report = {on_finding, b, 10};
    int rc = sound_tables(b->copy, &report);
    if (rc == SQLITE_OK)
        rc = sound_pages(b->copy, &report);
    if (rc == SOUND_NOT)
        return say(b, b->o->path, "it is damaged; see `ergon store check`");
    return rc == SQLITE_OK || say(b, b->to, sqlite3_errstr(rc));
}

static bool name_it(struct backup *b)
{
    char why[300];
    return new_file_name(&b->file, why, sizeof why) == 0 || say(b, b->to, why);
}

static uint64_t tasks_in(sqlite3 *db)
{
    sqlite3_stmt *st;
    uint64_t tasks = 0;
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM submissions", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        tasks = (uint64_t)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return tasks;
}

static bool fill_copy(struct backup *b)
{
    int fd = open(b->file.part, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return say(b, b->to, "it cannot be opened");
    bool good = open_copy(b) && copy_pages(b, fd);
    release_state(b);
    good = good && close_log(b) && is_sound(b);
    if (good)
        b->tasks = tasks_in(b->copy);
    sqlite3_close(b->copy);
    good = good && sync_copy(b, fd);
    close(fd);
    return good && name_it(b);
}

static bool make_copy(struct backup *b)
{
    char why[800];
    if (source_open_beside(&b->source, b->o->path, why, sizeof why) != 0) {
        fprintf(b->errors, "%s; there is no backup\n", why);
        return false;
    }
    if (new_file_begin(&b->file, b->to, why, sizeof why) != 0)
        return say(b, b->to, why);
    return hold_state(b) && fill_copy(b);
}

/* The copy is good without it. */
static void leave_mark(const struct backup *b)
{
    char text[64];
    if (!backup_mark_set(b->o->path, b->began))
        fprintf(b->errors,
                "%s-backup: %s; the copy is made, and `ergon doctor` will not know of it\n",
                b->o->path, strerror_r(errno, text, sizeof text));
}

enum store_offline_end store_backup(const struct store_offline *o, const char *to, FILE *out,
                                    FILE *errors)
{
    if (driver_is_url(o->path)) {
        fputs("a database is backed up by its own means, e.g. pg_basebackup or its WAL archive; "
              "see docs/cluster.md\n",
              errors);
        return OFFLINE_UNREADABLE;
    }
    struct backup b = {.o = o, .to = to, .errors = errors, .file = {.lock = {-1, -1}}};
    bool made = make_copy(&b);
    if (made) {
        leave_mark(&b);
        fprintf(out, "%s: %" PRIu64 " tasks\n", to, b.tasks);
    }
    new_file_end(&b.file);
    source_close(&b.source);
    if (made)
        return OFFLINE_GOOD;
    return b.findings > 0 || b.source.log.found == LOG_DAMAGED ? OFFLINE_DAMAGED
                                                               : OFFLINE_UNREADABLE;
}
