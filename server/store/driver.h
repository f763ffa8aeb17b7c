/* A driver of the store: what keeps the rows.  SQLite (store/sqlite/) is part of the server;
 * PostgreSQL (store/postgres/) is a shared object of its own, which driver_find() loads.
 *
 * Common to all, and in store/: the client's side and its gathering (client.c), the writer's thread
 * and its lanes (writer.c), the tables (rows.c), and what is read back in chunks (chunk.c).  A
 * driver does not log: it reports what went wrong in a struct store_fault, which the writer logs
 * once.
 *
 * Thread: open() and close() by the one that builds; load_all() there, too, before the writer runs;
 * all others by the writer's.  A driver may block in them as long as its engine takes. */
#ifndef ERGON_STORE_DRIVER_H
#define ERGON_STORE_DRIVER_H

#include "server/store/rows.h"
#include "server/store/store.h"

enum { STORE_DRIVER_VERSION = 5 };
#define STORE_DRIVER_SYMBOL "ergon_store_driver" /* a struct store_driver, of a shared object */

struct store_fault {
    enum store_error error;
    char text[480]; /* for people: what is wrong, and what to do */
};

/* Operations that are committed together.  The driver's until it has ended it: then each operation
 * has its outcome.  None of them is a STORE_LOAD. */
struct store_batch {
    struct store_batch *next; /* the driver's, meanwhile */
    struct store_op **ops;    /* each with the error STORE_OK when the batch begins */
    uint32_t count;
    enum store_error error; /* not STORE_OK: none of it has happened, whatever the operations say */
    ao_time began;          /* monotonic */
};

struct store_setup {
    const char *where; /* a path, or postgresql://… */
    const char *vfs;   /* SQLite's, for tests; NULL */
    ao_time retry;
    struct row_names names;
    const struct store_table *const *tables; /* all there are (row_tables of rows.h) */
    uint32_t table_count;
    const char *node; /* of a cluster: this node's name; NULL: there is none */
    uint64_t incarnation;
    uint8_t require; /* as in struct store_options */
    bool by_storage;
    int stop; /* readable once the store stops: the driver waits for an engine that does not answer
                 for one more second; 0: there is none */
};

/* What the driver publishes of itself; the writer copies it into the counters of store_info(). */
struct store_state {
    enum store_error error; /* STORE_OK: it takes batches.  STORE_AWAY: batches wait. */
    enum store_level level; /* of the last commit */
    uint64_t bytes, room;   /* room: UINT64_MAX: not known */
    uint64_t backup;        /* Unix ms; 0: none */
    uint64_t unfolded;      /* as of store_info() */
    uint64_t lag;           /* ns that the synchronous standby is behind; 0: none, or not known */
    bool keeps_actors;      /* else the writer refuses what store.h says needs it */
    bool keeps_batches;     /* else none may be put, nor a task that is a member of one */
};

struct store_driver {
    uint32_t version; /* STORE_DRIVER_VERSION */
    const char *name; /* "sqlite", "postgresql" */
    uint32_t batches; /* under way at most, 1 or 2 */
    /* The rows are read by load(), while the server serves; else by load_all() before it starts. */
    bool loads_in_chunks;
    enum store_level most; /* that its commits can have */

    /* NULL, and the fault says why.  Blocks. */
    void *(*open)(const struct store_setup *setup, struct store_fault *fault);
    /* NULL is fine.  Batches that have not ended are the writer's again. */
    void (*close)(void *driver);
    /* NULL, or: the writer is about to begin (true), or has ended (false).  The writer does not
     * run. */
    void (*serve)(void *driver, bool on);

    /* Starts the commit of a batch; at most `batches` have not ended.  The driver settles an
     * unknown outcome itself: a batch is ended when its outcome is certain, in the order of their
     * begins.  One that another owner leaves open for ever is STORE_UNSURE.  A group that `follows`
     * is STORE_FOLLOWS behind one that was not written in this batch, or in one that had not ended
     * when this one began. */
    void (*begin)(void *driver, struct store_batch *batch);
    struct store_batch *(*ended)(void *driver); /* the oldest, once it has ended; else NULL */
    /* Does the driver's own work: connects again, settles, takes what came, checkpoints.  `idle`:
     * the writer has nothing else to do.  Returns after how many ns it has to be called again at
     * the latest; AO_NEVER: when there is something. */
    ao_time (*work)(void *driver, bool idle);
    /* Waits for at most `timeout` until its engine has something for work(), or `wake` (an eventfd)
     * is readable.  NULL: it never waits for an engine. */
    void (*wait)(void *driver, int wake, ao_time timeout);
    void (*state)(const void *driver, struct store_state *state);
    /* Why `error` of state() is not STORE_OK; valid until the next call. */
    const struct store_fault *(*fault)(const void *driver);
    void (*look)(void *driver); /* at room and backup; NULL: it has none */

    /* --- Of a driver that does not load in chunks, else NULL: before the writer runs. --- */
    /* What numbers begin above; 0 what cannot be read. */
    void (*marks)(void *driver, struct store_marks *marks);
    /* Raises the numbers of attempts as store_board_renew() says.  0, or -1 and a fault. */
    int (*raise)(void *driver, struct store_fault *fault);
    /* 0, or -1 and a fault. */
    int (*load_all)(void *driver, const struct store_reader *reader, struct store_fault *fault);
    /* --- Of one that does, else NULL. --- */
    /* Adds the next rows to the chunk (chunk.h), STORE_CHUNK_ROWS of them, or fewer where they come
     * slowly, so that a stop need not wait for them; the first call
     * begins at the first row, as one snapshot, and its epoch is the one under which batches are
     * written from then on (0: the reader owns nothing, and writes nothing, and gets rows of tables
     * `by_key`, too).  No batch is under
     * way, but there are some between two calls.  1: there are more, and a text in the fault says
     * what it waits for, if it waits long; 0: that was all; -1 and a fault: the next call begins
     * anew. */
    int (*load)(void *driver, uint64_t epoch, struct store_chunk *chunk, struct store_fault *fault);
};

/* Gives an operation, and all members of a group, this outcome. */
static inline void store_op_end(struct store_op *op, enum store_error error)
{
    op->error = error;
    for (struct store_op *o = op->kind == STORE_GROUP ? op->group.first : NULL; o; o = o->next)
        o->error = error;
}

extern const struct store_driver store_sqlite;

/* The driver of a store's name: PostgreSQL's for postgresql:// and postgres:// (and "service=…"),
 * else SQLite's.  NULL and a text: the package with the shared object is not installed, or is of
 * another version.  The thread that builds. */
const struct store_driver *driver_find(const char *where, char *error, size_t size);
/* Fills a database that has no rows and that nobody owns, all or none: in one transaction.  Any one
 * thread; each blocks. */
struct store_fill {
    uint32_t version; /* STORE_DRIVER_VERSION */
    /* NULL, and the fault says why: it has rows, or a node owns it, besides what open() may say. */
    void *(*begin)(const struct store_setup *setup, struct store_fault *fault);
    /* A row of one of row_database_tables but the counters'; each table's in the order of its key.
     * 0, or -1 and a fault. */
    int (*row)(void *fill, const struct store_table *table, const void *row,
               struct store_fault *fault);
    /* Commits with these counters; NULL: takes all back.  The fill is gone.  0, or -1 and a fault:
     * nothing has happened. */
    int (*end)(void *fill, const struct row_counters *counters, struct store_fault *fault);
};
#define STORE_FILL_SYMBOL "ergon_store_fill" /* a struct store_fill, of a shared object */

/* Another symbol of the shared object of that store, e.g. CLUSTER_ENGINE_SYMBOL.  NULL and a text:
 * as driver_find(), or the store is a file. */
const void *driver_symbol(const char *where, const char *symbol, char *error, size_t size);
/* Is that the name of a database, not of a file? */
bool driver_is_url(const char *where);
/* A store's name for people and logs: without user, password and parameters. */
void driver_name(const char *where, char *name, size_t size);

#endif
