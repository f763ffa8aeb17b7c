/* SQLite's log goes into the file in steps, by the writer between two commits: each takes about as
 * long as the pages that it moves, and everybody waits for it.  SQLite's own way, a thousand pages
 * inside a commit, would make the answers of that commit wait too. */
#include "server/store/store_parts.h"

#include "server/runtime/log.h"

enum {
    STEP_PAGES = 250, /* under load: a few milliseconds, where 8000 take 80 */
    IDLE_PAGES = 64   /* when nothing came for a while */
};

static int committed(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct store *s = arg;
    (void)db;
    (void)name;
    if ((uint32_t)pages < s->log_pages)
        s->log_moved = 0; /* SQLite has begun the log anew */
    s->log_pages = (uint32_t)pages;
    return SQLITE_OK;
}

bool checkpoint_due(const struct store *s, bool idle)
{
    return s->log_pages - s->log_moved >= (idle ? IDLE_PAGES : STEP_PAGES);
}

static uint64_t size_of(struct store *s, int which)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    sqlite3_file_control(s->db, "main", which, &file);
    if (file && file->pMethods)
        file->pMethods->xFileSize(file, &size);
    return (uint64_t)size;
}

void store_note_size(struct store *s)
{
    figure_set(&s->figures.bytes,
               size_of(s, SQLITE_FCNTL_FILE_POINTER) + size_of(s, SQLITE_FCNTL_JOURNAL_POINTER));
}

/* Takes the place of SQLite's own checkpoints. */
void checkpoint_watch(struct store *s)
{
    sqlite3_wal_hook(s->db, committed, s);
    store_note_size(s);
}

/* One that fails moves nothing, and is tried again after the next step: the log holds it all. */
void checkpoint_run(struct store *s)
{
    int all = 0, moved = 0;
    int rc = sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_PASSIVE, &all, &moved);
    if (rc != SQLITE_OK && rc != SQLITE_BUSY && s->broken == STORE_OK)
        log_warn("the store's log stays as it is", LOG_STR("sqlite", sqlite3_errmsg(s->db)));
    s->log_moved = s->log_pages;
    store_note_size(s);
}
