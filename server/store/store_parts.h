/* The insides of the store, for the files of this folder.
 *
 *   open.c         the file opened and locked
 *   load.c         it is read back at the start
 *   log_check.c    whether SQLite's log is what was written, before SQLite reads it
 *   sound.c        whether its pages and tables are what they were
 *   client.c       the client's side of the lanes
 *   writer.c       the thread, and its round
 *   commit.c       one batch, one commit
 *   apply.c        one operation
 *   put.c          new tasks, many by one statement; a task removed
 *   statements.c   the statements that are prepared once
 *   rows.c         structures and rows
 *   row_sql.c      the texts of the statements of these
 *   checkpoint.c   the log goes into the file, in small steps
 *   disk_look.c    what is left of the file system, and the last backup
 *   parts_look.c   whether the file and its log are what the store left
 *   schema.c       the tables, and the version of the file
 *   log_vfs.c      the log goes to the disk once a commit
 *   running.c      FILE-running, which outlives the process
 *   backup_mark.c  FILE-backup, which tells when the last backup was made
 *   raise.c        numbers of attempts after a power cut
 *   store_error.c  what went wrong
 *
 * Thread: the writer's, for all functions but those of client.c; before the start and after the
 * stop, the thread that opens and closes.  The connection to the file is one thread's at a time.
 * Operations are the client's memory, and the store's to read until they are back. */
#ifndef ERGON_STORE_PARTS_H
#define ERGON_STORE_PARTS_H

#include <pthread.h>
#include <sqlite3.h>

#include <ergon/poller.h>

#include "base/counter.h"
#include "base/histogram.h"
#include "server/store/lock.h"
#include "server/store/log_vfs.h"
#include "server/store/rows.h"
#include "server/store/sound.h"
#include "server/store/statements.h"

enum {
    STORE_BATCH_MAX = 4096,       /* operations in a commit */
    STORE_LANE = 65536,           /* slots: what comes in during a slow commit */
    STORE_BATCH_LAST = STORE_LANE /* operations in one commit while the store stops */
};

/* How far the writer is to stop; the client sets it. */
enum store_stop {
    STORE_RUNS,
    STORE_ENDING, /* what comes is the last: nobody waits for some of it, so it needs few commits */
    STORE_ENDED   /* and has come */
};

struct store_counters {
    counter commits, operations, bytes, commit_ns;
    counter error;   /* enum store_error */
    counter level;   /* enum store_level */
    counter trouble; /* the same, of what was reported and is not over */
    struct histogram commit_times;
    counter pushed, taken; /* operations, by the client: their difference is under way */
    counter room;          /* bytes of its file system that are left, and one more; 0: not known */
    counter backup;        /* Unix ms of the last backup; 0: none */
};

enum { STORE_PARTS = 3 /* files: FILE, FILE-wal, FILE-shm */ };
struct store_part {
    uint32_t device_major, device_minor;
    uint64_t inode; /* 0: not known yet */
};

enum { PUT_PARTS = 3 /* tables that a task may have a row in */ };
struct put_source {
    struct store *store;
    unsigned part;
};

struct store {
    sqlite3 *db;
    char *path;                          /* of the file; the store's */
    bool in_memory;                      /* there is no file of the system's: the board is memory */
    int running_fd;                      /* of FILE-running; -1: not opened */
    void *running[STORE_BOARD_SEGMENTS]; /* its segments; NULL: not mapped */
    bool running_full;                   /* there was no room for the last one */
    /* The file was truncated, and the log does not say so yet.  Orders nothing (relaxed). */
    _Atomic bool running_cut;
    struct statements statements;
    struct log_vfs vfs; /* of `db` */
    struct row_names names;
    struct lock lock;
    ao_time retry;

    /* The writer's. */
    struct store_op *batch[STORE_BATCH_LAST];
    struct put_source sources[PUT_PARTS];
    uint32_t put_at, put_end;  /* of the batch: what a statement that puts tasks reads */
    struct store_counts add;   /* of the batch */
    uint64_t last_id;          /* of the batch; 0: none */
    uint64_t last_fence;       /* likewise */
    uint64_t rows_ahead;       /* of the monotonic clock: the one by which rows have their times */
    enum store_error broken;   /* STORE_OK: it works */
    enum store_error reported; /* to the log: the last trouble, until it has worked for a while */
    ao_time retry_at;          /* broken: the next try; then: when the log says that it works */
    uint32_t log_pages;        /* of SQLite's log, by the last commit */
    uint32_t log_moved;        /* of these the first so many are in the file itself */
    uint32_t page_size;        /* bytes */
    uint64_t file_size;        /* bytes, without the log: after the last checkpoint */
    uint64_t log_size;         /* bytes: the log only grows */
    uint64_t index_size;       /* bytes of FILE-shm, at the last look */
    struct store_part parts[STORE_PARTS];

    struct lane in, out; /* from and to the client */
    struct poller *poller;
    struct waker waker;
    pthread_t thread;

    /* The client's. */
    struct activator *client;
    struct store_op *gathered, *gathered_last; /* pushed, and not handed over */
    uint32_t gathered_count;
    uint32_t returned;           /* operations that came back since the last were handed over */
    ao_time returned_at;         /* when the last of them did */
    ao_time wait_began;          /* the client waits for more operations, since; 0: it does not */
    ao_time last_came;           /* while it waits: when the last operation came... */
    uint32_t gathered_then;      /* ...and how many were gathered with that one */
    uint32_t misses;             /* so many waits are not made, after one in vain */
    struct round_hook idle_hook; /* armed while what is gathered may go */
    bool started, stopped;

    /* Relaxed, by the writer: its batch is taken, and not yet on its way back; cleared before what
     * publishes that in `out`. */
    _Atomic bool committing;
    /* Relaxed, beside the waker's fences: the writer is to look at its file system. */
    _Atomic bool look;
    _Atomic ao_time look_asked; /* relaxed: when that was asked for the last time */
    /* enum store_stop: release in store_stop(), acquire in the thread's loop. */
    _Atomic uint8_t stop;
    struct store_counters counters;
};

/* --- store_error.c --- */
/* What an SQLite code means; any thread that has the connection. */
enum store_error store_error_of(sqlite3 *db, int rc);
/* Writes "store PATH: text" into `error`.  Returns -1. */
int store_fail(char *error, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes "store PATH: it is damaged: text", with advice on what to do.  Returns -1. */
int store_damaged(char *error, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- running.c --- */
void store_board_free(struct store *s); /* nobody uses its segments any more */

/* --- raise.c: before the start --- */
/* Raises the number of each attempt that may have begun although no row says so.  0, or -1 and a
 * text: the file cannot be written. */
int store_raise_attempts(struct store *s, char *error, size_t size);

/* --- apply.c --- */
/* Applies the first `count` operations of the batch, inside the transaction.  SQLITE_OK, with the
 * outcome of each in its `error`; else the SQLite code that makes the whole batch fail: the
 * transaction is to be rolled back. */
int store_apply(struct store *s, uint32_t count);
/* Adds what the whole batch counts to the counters' row.  An SQLite code. */
int store_add_counts(struct store *s);
/* Reads the counters' row.  An SQLite code, SQLITE_CORRUPT where that row cannot be; with any but
 * SQLITE_OK both are as they were. */
int store_read_counts(struct store *s, struct store_counts *counts, uint64_t *last_id);

/* --- put.c --- */
/* Makes the statements of this file.  An SQLite code; statements_close() ends them either way. */
int put_open(struct store *s);
/* The end of the PUTs that follow one another in the batch, from one on. */
uint32_t put_run(const struct store *s, uint32_t from, uint32_t count);
/* Puts these.  Returns as store_apply() does. */
int put_all(struct store *s, uint32_t from, uint32_t end);
/* Removes a task and its history.  An SQLite code. */
int put_take_out(struct store *s, uint64_t id);

/* --- client.c: on the client's thread --- */
void client_start(struct store *s, struct activator *client);
/* After the client's run: what was pushed is handed over. */
void client_stop(struct store *s);

/* --- commit.c --- */
/* Commits the first `count` operations of the batch; what became of each is in its `error`. */
void store_commit(struct store *s, uint32_t count);
/* Tries a store that is broken, when it is time to. */
void store_try_again(struct store *s);

/* --- checkpoint.c --- */
/* Takes the place of SQLite's own checkpoints. */
void checkpoint_watch(struct store *s);
/* Is there enough in the log for a step?  `idle`: nothing else is to be done. */
bool checkpoint_due(const struct store *s, bool idle);
/* One step; if it fails, nothing has moved, and it is tried again after the next one. */
void checkpoint_run(struct store *s);
/* After a commit: calculates how large the log is. */
void store_note_log(struct store *s);

#endif
