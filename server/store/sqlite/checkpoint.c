/* SQLite's log goes into the file in steps, by the writer between two commits: each takes about as
 * long as the pages that it moves, and everybody waits for it.  SQLite's own way, a thousand pages
 * inside a commit, would make the answers of that commit wait too. */

#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "server/store/sqlite/backup_mark.h"
#include "server/store/sqlite/parts_look.h"
#include "server/store/sqlite/sqlite_parts.h"

enum {
    LOG_HEAD = 32, /* bytes, of the log and of each page in it */
    FRAME_HEAD = 24,
    STEP_PAGES = 250, /* under load: a few milliseconds, where 8000 take 80 */
    IDLE_PAGES = 64   /* when nothing came for a while */
};

static int committed(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_store *s = arg;
    (void)db;
    (void)name;
    if ((uint32_t)pages < s->log_pages)
        s->log_moved = 0; /* SQLite has begun the log anew */
    s->log_pages = (uint32_t)pages;
    return SQLITE_OK;
}

bool checkpoint_due(const struct sqlite_store *s, bool idle)
{
    return s->log_pages - s->log_moved >= (idle ? IDLE_PAGES : STEP_PAGES);
}

static uint64_t size_of(struct sqlite_store *s, int which)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    sqlite3_file_control(s->db, "main", which, &file);
    if (file && file->pMethods)
        file->pMethods->xFileSize(file, &size);
    return (uint64_t)size;
}

void disk_look(struct sqlite_store *s)
{
    struct statvfs disk;
    bool has_file = !s->in_memory && s->path;
    bool known = has_file && statvfs(s->path, &disk) == 0;
    s->room = known ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
    s->backup = has_file ? backup_mark_read(s->path) : 0;
}

/* Asks the system how large the file and its log are. */
static void note_size(struct sqlite_store *s)
{
    s->file_size = size_of(s, SQLITE_FCNTL_FILE_POINTER);
    s->log_size = size_of(s, SQLITE_FCNTL_JOURNAL_POINTER);
    disk_look(s);
}

/* Calculates the size of the log.  To ask the system each time costs more than the call: a file
 * that was looked at gets a new time with its next write, which the sync then has to write, too. */
void store_note_log(struct sqlite_store *s)
{
    uint64_t end = LOG_HEAD + (uint64_t)s->log_pages * (FRAME_HEAD + s->page_size);
    if (end > s->log_size)
        s->log_size = end;
}

static int read_page_size(void *arg, int columns, char **values, char **names)
{
    struct sqlite_store *s = arg;
    (void)columns;
    (void)names;
    s->page_size = (uint32_t)strtoul(values[0], NULL, 10);
    return SQLITE_OK;
}

void checkpoint_watch(struct sqlite_store *s)
{
    sqlite3_wal_hook(s->db, committed, s);
    sqlite3_exec(s->db, "PRAGMA page_size", read_page_size, s, NULL);
    note_size(s);
}

/* A checkpoint that fails moves nothing, and is tried again after the next step: the log has it
 * all.  A truncated file takes nothing: the log is worth more by itself. */
void checkpoint_run(struct sqlite_store *s)
{
    s->log_moved = s->log_pages;
    if (parts_look(s) == SQLITE_CORRUPT)
        return;
    int all = 0, moved = 0;
    int rc = sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_PASSIVE, &all, &moved);
    if (rc != SQLITE_OK && rc != SQLITE_BUSY && s->broken == STORE_OK)
        log_warn("the store's log stays as it is", LOG_STR("sqlite", sqlite3_errmsg(s->db)));
    note_size(s);
}
