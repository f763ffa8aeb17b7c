/* The insides of the store, for the files of this folder.
 *
 *   open.c     the file opened and locked                        load.c     read back at the start
 *   client.c   the client's side of the lanes                    writer.c   the thread, its round
 *   commit.c   one batch, one commit                             apply.c    one operation
 *   put.c      new tasks, many by one statement; a task gone     statements.c   what is prepared
 * once rows.c     structures and rows                               row_sql.c  the statements of
 * these checkpoint.c   the log goes into the file, in small steps    schema.c   the tables, and
 * versions log_vfs.c  the log, once a commit                            store_error.c   what went
 * wrong
 *
 * The connection is one thread's at a time: of who opens, then the writer's, then of who closes. */
#ifndef ERGON_STORE_PARTS_H
#define ERGON_STORE_PARTS_H

#include <pthread.h>
#include <sqlite3.h>

#include <ergon/poller.h>

#include "base/counter.h"
#include "server/store/lock.h"
#include "server/store/log_vfs.h"
#include "server/store/rows.h"
#include "server/store/statements.h"

enum {
    STORE_BATCH_MAX = 4096, /* operations in a commit */
    STORE_LANE = 65536      /* slots: what comes in during a slow commit */
};

struct store_counters {
    counter commits, operations, bytes, commit_ns;
    counter error; /* enum store_error */
};

enum { PUT_PARTS = 3 /* tables that a task may have a row in */ };
struct put_source {
    struct store *store;
    unsigned part;
};

struct store {
    sqlite3 *db;
    struct statements statements;
    struct log_vfs vfs; /* of `db` */
    struct row_names names;
    struct lock lock;
    ao_time retry;

    /* The writer's. */
    struct store_op *batch[STORE_BATCH_MAX];
    struct put_source sources[PUT_PARTS];
    uint32_t put_at, put_end;  /* of the batch: what a statement that puts tasks reads */
    struct store_counts add;   /* of the batch */
    uint64_t last_id;          /* of the batch; 0: none */
    enum store_error broken;   /* STORE_OK: it works */
    enum store_error reported; /* to the log: the last trouble, until it has worked for a while */
    ao_time retry_at;          /* while it is broken; then, when that it works is told */
    uint32_t log_pages;        /* of SQLite's log, by the last commit */
    uint32_t log_moved;        /* of these the first so many are in the file itself */
    uint32_t page_size;        /* bytes */
    uint64_t file_size;        /* bytes, without the log: after the last checkpoint */
    uint64_t log_size;         /* bytes: the log only grows */

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
    /* Release in store_stop(), acquire in the thread's loop. */
    _Atomic bool stop;
    struct store_counters counters;
};

/* --- store_error.c --- */
enum store_error store_error_of(sqlite3 *db, int rc);
int store_fail(char *error, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5))); /* -1, and the text */

/* --- apply.c --- */
/* The first `count` of the batch, inside the transaction.  SQLITE_OK, with the outcome of each in
 * its `error`; or what makes the whole batch fail. */
int store_apply(struct store *s, uint32_t count);
int store_add_counts(struct store *s); /* of the whole batch; an SQLite code */
int store_read_counts(struct store *s, struct store_counts *counts, uint64_t *last_id);

/* --- put.c --- */
int put_open(struct store *s); /* its statements are made; an SQLite code */
/* The end of the PUTs that follow one another in the batch, from one on. */
uint32_t put_run(const struct store *s, uint32_t from, uint32_t count);
int put_all(struct store *s, uint32_t from, uint32_t end); /* these; as store_apply() */
int put_take_out(struct store *s, uint64_t id); /* a task and its history; an SQLite code */

/* --- client.c --- */
void client_start(struct store *s, struct activator *client);
void client_stop(struct store *s); /* what was pushed is handed over; client, after its run */

/* --- commit.c --- */
/* The first `count` of the batch; what became of each stands in it. */
void store_commit(struct store *s, uint32_t count);
void store_try_again(struct store *s); /* of a broken one, when it is time */

/* --- checkpoint.c --- */
void checkpoint_watch(struct store *s);
bool checkpoint_due(const struct store *s, bool idle);
void checkpoint_run(struct store *s);
void store_note_size(struct store *s); /* of the file and its log, as they are now */
void store_note_log(struct store *s);  /* after a commit */

#endif
