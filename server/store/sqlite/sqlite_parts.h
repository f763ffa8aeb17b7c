/* The insides of SQLite's driver, for the files of this folder.
 *
 *   sqlite.c       the driver: its table of functions
 *   open.c         the file opened and locked
 *   load.c         it is read back at the start
 *   log_check.c    whether SQLite's log is what was written, before SQLite reads it
 *   sound.c        whether its pages and tables are what they were
 *   commit.c       one batch, one commit
 *   apply.c        one operation, or a group of them
 *   states.c       states of actors, appended and folded
 *   fresh.c        which actors have a state that is not folded
 *   put.c          new tasks, many by one statement; a task removed
 *   statements.c   the statements that are prepared once
 *   row_sqlite.c   structures and rows
 *   row_sql.c      the texts of the statements of these
 *   row_view.c     structures as a table that a statement reads
 *   checkpoint.c   the log goes into the file, in small steps; how full the disk is
 *   parts_look.c   whether the file and its log are what the store left
 *   schema.c       the tables, and the version of the file
 *   log_vfs.c      the log goes to the disk once a commit
 *   backup_mark.c  FILE-backup, which tells when the last backup was made
 *   raise.c        numbers of attempts after a power cut
 *
 * Thread: the writer's, for all functions; before the start and after the stop, the thread that
 * opens and closes.  The connection to the file is one thread's at a time. */
#ifndef ERGON_STORE_SQLITE_PARTS_H
#define ERGON_STORE_SQLITE_PARTS_H

#include <sqlite3.h>

#include "server/store/driver.h"
#include "server/store/lock.h"
#include "server/store/sqlite/log_vfs.h"
#include "server/store/sqlite/row_sqlite.h"
#include "server/store/sqlite/row_view.h"
#include "server/store/sqlite/sound.h"
#include "server/store/sqlite/statements.h"
#include "server/store/sqlite/states.h"
#include "server/store/store_error.h"

enum { STORE_PARTS = 3 /* files: FILE, FILE-wal, FILE-shm */ };
struct store_part {
    uint32_t device_major, device_minor;
    uint64_t inode; /* 0: not known yet */
};

enum { PUT_PARTS = 3 /* tables that a task may have a row in */ };
struct put_source {
    struct row_view view;
    struct sqlite_store *store;
    unsigned part;
};

struct sqlite_store {
    sqlite3 *db;
    char *path;     /* of the file; the store's */
    bool in_memory; /* there is no file of the system's */
    bool has_pages; /* SQLite has, of the file, in memory */
    bool found_log; /* by the open: the process before this one did not end by itself */
    struct statements statements;
    struct states states;
    struct log_vfs vfs; /* of `db` */
    struct row_names names;
    struct lock lock;
    ao_time retry;

    struct store_op **batch;  /* that is committed; the writer's */
    struct store_batch *done; /* committed, or not, and not taken back yet */
    struct put_source sources[PUT_PARTS];
    uint32_t put_at, put_end; /* of the batch: what a statement that puts tasks reads */
    bool guards_groups;       /* each group of the batch has a savepoint, and no turn waits */
    bool lost_group;          /* one of them was not written */
    struct store_counts add;  /* of the batch */
    uint64_t last_id;         /* of the batch; 0: none */
    uint64_t last_fence;      /* likewise */
    uint64_t rows_ahead;      /* of the monotonic clock: the one by which rows have their times */
    enum store_error broken;  /* STORE_OK: it works */
    struct store_fault fault; /* why it does not */
    ao_time retry_at;         /* broken: the next try */
    uint32_t log_pages;       /* of SQLite's log, by the last commit */
    uint32_t log_moved;       /* of these the first so many are in the file itself */
    uint32_t page_size;       /* bytes */
    uint64_t file_size;       /* bytes, without the log: after the last checkpoint */
    uint64_t log_size;        /* bytes: the log only grows */
    uint64_t index_size;      /* bytes of FILE-shm, at the last look */
    uint64_t room, backup;    /* as struct store_state has them */
    struct store_part parts[STORE_PARTS];
};

/* --- open.c --- */
/* As store_driver's open() and close(), which say it all. */
struct sqlite_store *sqlite_open(const struct store_setup *setup, char *error, size_t size);
void sqlite_close(struct sqlite_store *s);
/* How many pages SQLite keeps in memory: few until the store serves. */
void sqlite_cache(struct sqlite_store *s, bool serves);

/* --- load.c --- */
int sqlite_load(struct sqlite_store *s, const struct store_reader *reader, char *error,
                size_t size);

/* --- raise.c: before the start --- */
/* Raises the number of each attempt that may have begun although no row says so.  0, or -1 and a
 * text: the file cannot be written. */
int store_raise_attempts(struct sqlite_store *s, char *error, size_t size);

/* --- apply.c --- */
enum { APPLY_AGAIN = -1 }; /* no SQLite code: a group, or a turn that waited, has failed */
/* Applies the first `count` operations of the batch, inside the transaction.  SQLITE_OK, with the
 * outcome of each in its `error`; else the SQLite code that makes the whole batch fail: the
 * transaction is to be rolled back; or APPLY_AGAIN: likewise, and then the batch is to be applied
 * with `guards_groups`. */
int store_apply(struct sqlite_store *s, uint32_t count);
/* Adds what the whole batch counts to the counters' row.  An SQLite code. */
int store_add_counts(struct sqlite_store *s);
/* Reads the counters' row.  An SQLite code, SQLITE_CORRUPT where that row cannot be; with any but
 * SQLITE_OK both are as they were. */
int store_read_counts(struct sqlite_store *s, struct store_counts *counts, uint64_t *last_id);
/* What numbers begin above; 0 where it cannot be read. */
void sqlite_marks(struct sqlite_store *s, struct store_marks *marks);

/* --- put.c --- */
/* Makes the statements of this file.  An SQLite code; statements_close() ends them either way. */
int put_open(struct sqlite_store *s);
/* The end of the PUTs that follow one another in the batch, from one on. */
uint32_t put_run(const struct sqlite_store *s, uint32_t from, uint32_t count);
/* Puts these.  Returns as store_apply() does. */
int put_all(struct sqlite_store *s, uint32_t from, uint32_t end);
/* Removes a task and its history.  An SQLite code. */
int put_take_out(struct sqlite_store *s, uint64_t id);

/* --- commit.c --- */
/* Commits the first `count` operations of the batch, and a step of what is to be folded; what
 * became of each is in its `error`, if `broken` is STORE_OK then: else none has happened. */
void store_commit(struct sqlite_store *s, uint32_t count);
/* Tries a store that is broken, when it is time to. */
void store_try_again(struct sqlite_store *s);

/* --- checkpoint.c --- */
/* Takes the place of SQLite's own checkpoints. */
void checkpoint_watch(struct sqlite_store *s);
/* Is there enough in the log for a step?  `idle`: nothing else is to be done. */
bool checkpoint_due(const struct sqlite_store *s, bool idle);
/* One step; if it fails, nothing has moved, and it is tried again after the next one. */
void checkpoint_run(struct sqlite_store *s);
/* Fills `room` and `backup`: what its file system has left, and when the last backup was made.
 * Waits for the disk. */
void disk_look(struct sqlite_store *s);
/* After a commit: calculates how large the log is. */
void store_note_log(struct sqlite_store *s);

#endif
