/* The store: tasks that outlive the process, in one SQLite file or in the tables of a PostgreSQL
 * database (driver.h).
 *
 * One writer thread takes what came in during the last commit, applies it in one transaction,
 * commits, and gives each operation back with its outcome (natural group commit: a busy store
 * commits more at once).  Few operations are gathered by the client's thread
 * while the store is busy or the client is, see client.c.  The client, one activator that pushes
 * operations, never waits for a disk.
 *
 * Order: operations are applied, committed and given back in the order in which they were pushed.
 * An operation that failed, but for STORE_UNSURE, has changed nothing.  After a failed commit
 * nothing is taken until a small commit of the store's own has worked, which is tried every
 * `retry`: until then operations come back at once, with the error.  (Should the process end
 * before, it is open whether that one failed commit happened: whole, or not at all.)  While the
 * store's database is away (STORE_AWAY), operations wait instead.
 *
 * The tables are in rows.c, with a version in the store; docs/tasks.md shows how to look
 * into a file with sqlite3.  Times are Unix times in nanoseconds, by the wall clock; 0: none. */
#ifndef ERGON_STORE_H
#define ERGON_STORE_H

#include <ergon/activator.h>

#include <stdalign.h>

#include "base/histogram.h"
#include "base/span.h"
#include "proto/job_policy.h"
#include "server/runtime/threads/lane.h"
#include "server/store/board.h"
#include "server/store/level.h"

struct store;
struct store_chunk;

/* What can go wrong.  All but STORE_OK leave the file as it was.  All but STORE_REFUSED,
 * STORE_UNREPLICATED, STORE_FOLLOWS and STORE_CLOSED are the whole commit's, and say that the store
 * is out of order. */
enum store_error {
    STORE_OK,
    STORE_FULL,      /* no space left on the device, or beyond the quota */
    STORE_READ_ONLY, /* the file, or its file system, became read-only */
    STORE_MOVED,     /* the file is not where it was: what is written would be found no more */
    STORE_CORRUPT,   /* the file is damaged; final until somebody repairs it */
    STORE_IO,        /* any other failure of the device */
    STORE_MEMORY,
    STORE_AWAY,   /* its database cannot be reached: what is pushed waits; it goes on by itself */
    STORE_FENCED, /* another node owns the tasks: nothing that is pushed is ever written */
    /* It is open whether this operation was written: its database did not answer before another
     * node owned the tasks, or the store stopped.  What is behind it is STORE_FENCED or AWAY. */
    STORE_UNSURE,
    STORE_CLOSED, /* pushed after store_stop() */
    /* This operation alone: a PUT of a task that is to be replicated, the CHANGE that makes it so
     * (`rises`), a put of an actor, or a group of these, while the engine does not replicate.  The
     * same may succeed later. */
    STORE_UNREPLICATED,
    /* This operation alone: a group that `follows` one that was not written. */
    STORE_FOLLOWS,
    /* This operation alone: a PUT of an id that is there, a CHANGE of one that is not, or larger
     * than a row may be.  Final: the same again fails again. */
    STORE_REFUSED
};
const char *store_error_text(enum store_error e); /* what is wrong and what to do; constant */

/* A task, in up to three rows: as it was submitted; its options, if it has any; its life, once it
 * has been anything but queued.  Empty spans and zeros are stored as NULL. */
struct store_task {
    uint64_t id;
    struct span method, tenant;
    struct span params;   /* raw MessagePack */
    struct span actor;    /* of a message: "type/key" */
    struct span reminder; /* its name, within the actor; empty: it is none */
    uint64_t every;       /* of a reminder: ns; 0: it comes once */
    uint64_t created;     /* Unix ns, as all that ends in _at */
    uint64_t batch;       /* id of the batch that it is a member of; 0: of none */
    uint8_t durable;
    /* --- Options: only if it is said that it has them; else they are neither written nor read. */
    bool has_options;
    uint8_t priority;
    struct span key, coalesce, limit_key, rate_key;
    struct span traceparent, tracestate;
    struct span after, after_any; /* ids, 8 bytes each, big endian */
    uint64_t deadline_at;
    JOB_POLICY_MEMBERS
    uint64_t timeout;  /* ns */
    uint64_t rate_per; /* ns */
    uint32_t retries, limit, rate;
    uint32_t take; /* permits of the limit; 0: one */
    /* --- Life: what changes. */
    uint8_t state;        /* as options.states: stored as its name; 0: queued */
    uint8_t cancel_asked; /* 1: it is to be cancelled when the attempt that runs has returned */
    bool has_life;        /* read: there is a row of it, whatever that says */
    bool settled;         /* CHANGE: what it came after counts no more; both are emptied */
    bool anew;            /* CHANGE: `durable` and the options are written again, too */
    bool rises;           /* somebody waits for this level of `durable` */
    bool first_life;      /* CHANGE: there is no row of its life yet */
    bool bare;            /* REMOVE: it has neither options nor a life nor a history */
    uint32_t attempt;     /* the last that was begun; 0: none */
    uint32_t failures;    /* attempts that failed: what the retries are counted by */
    uint32_t crashes;     /* of the server, while it ran */
    uint32_t losses;      /* of workers that had it, as the jobs count them */
    uint32_t lost;        /* how many workers they were */
    struct span ran_by;   /* the worker of the last attempt, as the jobs name it; empty: none */
    uint64_t due_at;      /* not to be run before */
    uint64_t started_at, ended_at;
    struct span error_code, error_text; /* why the last attempt failed, or how it ended */
    struct span result;
    struct span checkpoint; /* raw; empty: as it was.  Once the task is done it means nothing */
    uint32_t boards;        /* of a cluster: boards that were lost when its last row was written */
    /* PUT: this row of the inbox goes with it, in the same transaction; if that is gone, the put is
     * STORE_REFUSED.  0: there is none. */
    uint64_t taken;
};

/* The number of the last attempt that may have begun, by a row that was read when so many boards
 * had been lost.  Of a task that is fsync or more at most one attempt begins beyond its row, so
 * each board that was lost since then hides one; none where the row says that an attempt runs. */
static inline uint32_t store_attempt(const struct store_task *row, uint32_t boards)
{
    enum { FSYNC = 2, MOST = INT32_MAX };
    uint64_t lost =
        row->state == 0 && row->durable >= FSYNC && boards > row->boards ? boards - row->boards : 0;
    return row->attempt + lost < MOST ? (uint32_t)(row->attempt + lost) : MOST;
}

/* What numbers begin above, beside the rows. */
struct store_marks {
    uint64_t last_id, last_fence; /* the highest that were ever put */
    uint64_t committed_at;        /* Unix ns of the last commit, by the clock of then; 0: none */
    uint64_t id_mark, fence_mark; /* of a cluster: no number up to these was given; 0: none */
    uint32_t boards;              /* of a cluster: boards that were lost */
    uint64_t commits;             /* that there ever were; for exports */
};

/* A queue that is not open, or whose method workers have offered. */
struct store_queue {
    struct span method;
    uint8_t paused, draining, secret; /* 1 or 0 */
    uint64_t offered_at;              /* when workers last began or ceased to offer it */
};

/* The last starts of a rate; or with `per` AO_NEVER the size of a limit. */
struct store_rate {
    uint64_t id;
    struct span tenant, key;
    uint32_t max;
    uint32_t promised;  /* starts that may have been since `noted_at`, and are not among these */
    uint64_t per;       /* ns */
    uint64_t noted_at;  /* Unix ns */
    struct span starts; /* pairs, oldest first: ns before noted_at, how many; 8 bytes each, big
                           endian */
};

/* A semaphore that stays, though nobody needs it. */
struct store_semaphore {
    uint64_t id;
    struct span tenant, name;
    uint32_t permits;
};

enum { STORE_SECRET = 16 /* bytes */ };
/* Of a fence, and of a semaphore's number: room for many more below 2^53. */
#define STORE_FENCE_MAX ((UINT64_C(1) << 53) - (UINT64_C(1) << 40))
/* Of a task's number, and of each other counter: room for many more in 63 bits. */
#define STORE_COUNT_MAX ((UINT64_C(1) << 63) - (UINT64_C(1) << 40))

/* Permits of a semaphore that somebody holds. */
struct store_hold {
    uint64_t id; /* its fence: a later one is higher */
    struct span tenant, name;
    struct span secret, principal;
    uint32_t permits, of; /* of: so many has the semaphore */
    uint64_t since_at;
    uint64_t ends_at;    /* by its time to live; 0: it has none */
    uint64_t ttl, grace; /* ns */
};

struct store_cron {
    uint64_t id; /* of its row; 0: one that is free */
    struct span tenant, name, method, schedule, zone;
    struct span made_by; /* the principal that put it; empty: not known */
    struct span params;  /* raw MessagePack */
    struct span options; /* raw MessagePack map: of each task, and jitter, catch_up, overlap */
    uint64_t next_at, last_at;
    uint64_t last_task; /* id */
    uint8_t paused;     /* 1: it submits nothing */
    uint8_t durable;    /* enum job_durable, of its tasks, as `options` say it; no column */
};

/* A batch of tasks; `calls`: raw, [method, parameters, options]. */
enum { STORE_BATCH_ENDS = 5 };
struct store_batch_row {
    uint64_t id;
    uint64_t parent; /* id; 0: none */
    struct span tenant;
    struct span on_success, on_failure, on_end; /* raw: [method, parameters, options]; or empty */
    uint64_t success_task, failure_task, end_task; /* ids of what was submitted of these; or 0 */
    uint64_t created, ended_at;
    uint64_t keep; /* ns */
    /* Of members whose rows are gone; of one that has ended, of all. */
    uint64_t done, failed, cancelled, expired, dead;
    uint8_t durable;
    uint8_t closed, cancel_asked; /* 1 or 0 */
};

/* Of a cluster: a node, and the epoch of its last board whose crashes were counted. */
struct store_node_board {
    struct span node;
    uint64_t board;
};

/* An actor whose state outlives the process. */
struct store_actor {
    struct span tenant, type, key;
    uint64_t version;
    struct span stopped; /* why it is stopped; empty: it is not */
    uint64_t stopped_at, changed_at;
    struct span state; /* raw MessagePack; empty: it has none */
    uint32_t schema;   /* of the state */
};

/* One that is on disk, and not yet in its row (sqlite/states.h). */
struct store_turn {
    struct store_actor actor;
    uint64_t seq; /* the last of an actor counts */
    uint8_t gone; /* 1: the actor was removed */
};

/* A submission of an application: see inbox_source.h.  The client removes such rows only. */
struct store_inbox_row {
    uint64_t id;
};

/* The policy that a type of actors was registered with last. */
struct store_actor_type {
    struct span type;
    struct span policy; /* raw MessagePack map */
};

/* --- Tables of rows: of queues, rates and the subsystems --- */

enum column_kind {
    COLUMN_U64,
    COLUMN_U32,
    COLUMN_U8,
    COLUMN_TEXT, /* a span */
    COLUMN_BLOB, /* a span */
    COLUMN_NAME  /* a U8 that is stored as its name */
};

enum column_key {
    KEY_NONE,
    KEY_PART,
    KEY_PART_OR_NULL,
    KEY_PART_OR_EMPTY /* of a row that lies by its key: an empty one is stored as '' */
};

struct store_column {
    const char *name;
    enum column_kind kind;
    size_t at;         /* offset of the field */
    uint8_t names;     /* COLUMN_NAME: which list */
    bool stays;        /* an empty one leaves what is there */
    bool required;     /* NOT NULL */
    uint8_t since;     /* the version of SQLite's file that brought it; 0: the first that is made */
    uint8_t key;       /* enum column_key */
    const char *about; /* a comment in the file, for people; NULL: none */
};

/* Which column of a table is which field of a struct.  One description serves all statements of
 * the table and makes the table itself, and belongs to the room whose rows these are. */
struct store_table {
    const char *table;
    const char *order; /* columns; also the primary key, if this is in row_tables */
    const struct store_column *columns;
    uint32_t count;
    uint32_t more;      /* so many columns behind these are of a cluster: SQLite has none of them */
    const char *unique; /* an index over the columns of the key, where that is not `order` */
    bool clustered;     /* rows lie in their order, and have no number beside */
    bool one_row;       /* there is one, without a key */
    /* For errors: what a row is called, and which span names it to people. */
    const char *one;
    size_t named;
    /* Offset of a level (enum job_durable) that rows need as tasks do; 0: they need none.  A cron
     * that moves on without its task loses a time. */
    size_t durable;
    bool updates;   /* a put changes these columns of the row of its key, if there is one */
    bool fences;    /* its first column is a fence: store_last_fence() */
    bool cluster;   /* of a cluster alone: SQLite has no such table */
    bool of_actors; /* only if store_keeps() */
    bool by_key;    /* its rows are read by STORE_ROW_GET, and not at the start */
};

extern const struct store_table store_queues, store_rates, store_crons, store_semaphores,
    store_holds;
extern const struct store_table store_cron_states; /* what changes of a cron */
extern const struct store_table store_batches;
extern const struct store_table store_node_boards; /* of the nodes that joined */
extern const struct store_table store_actors, store_actor_types;
extern const struct store_table store_inbox; /* STORE_ROW_REMOVE alone, of a database */

enum { STORE_ROW_MAX = 192 /* bytes of a struct that is put as a row */ };

/* --- Tasks --- */

/* One event of a task's history.  That of number 1 is its submission: `text` says how many share
 * it, once it was joined. */
struct store_event {
    uint64_t id, at;
    uint32_t seq, attempt;
    uint32_t oldest;  /* with it those from 2 to before this number go; 0: none */
    struct span what; /* "started", "failed", ... */
    struct span text; /* for people; may be empty */
    struct span data; /* raw MessagePack; may be empty */
};

/* How many there ever were, of durable tasks.  The store adds them up in the transaction of the
 * operations that change them. */
struct store_counts {
    int64_t submitted, done, failed, cancelled, expired, dead;
};

enum store_kind {
    STORE_PUT,        /* task: a new one */
    STORE_CHANGE,     /* task: its life, and with `anew` more; the result only if not empty */
    STORE_REMOVE,     /* task.id: its rows and its history, which may not be there */
    STORE_EVENT,      /* event */
    STORE_ROW_PUT,    /* row of `table`: new, or in place of the one of its key */
    STORE_ROW_REMOVE, /* the row of `table` of this key */
    STORE_SYNC,       /* nothing: it comes back when all before it is on disk */
    STORE_SET_BACK,   /* back: all that is due, all deadlines and ends are so much earlier */
    STORE_LOAD,       /* load: fills a chunk (chunk.h) */
    STORE_MARKS,      /* marks: id_mark and fence_mark rise to these; also: the load has worked */
    STORE_HAND_OVER,  /* nobody owns the rows from now on; what is behind it is STORE_FENCED */
    STORE_COUNT,      /* fills `audit` by counting some rows */
    /* Those below, and rows of tables `of_actors`: only if store_keeps(); else they come
     * back STORE_REFUSED. */
    STORE_GROUP,   /* group: all of its members happen, or none */
    STORE_ROW_GET, /* fills `row` with the row of `table` that has this key */
    STORE_ROW_PAGE /* rows of `table` in the order of their keys, from this key on */
};

enum { STORE_COUNT_ROWS = 10000 /* a count: a few ms, since all others wait meanwhile */ };

/* Rows by state, as the file has them, from an id on, and the counters beside: those of all. */
struct store_audit {
    uint64_t from; /* asked: the first id */
    uint64_t next; /* the first that was not counted; 0: there is none */
    struct store_counts counters;
    uint64_t open, done, failed, cancelled, expired, dead; /* rows */
};

/* An operation, in the client's memory; it and everything that its spans point at stays as it is
 * until the operation comes back. */
struct store_op {
    struct lane_item item; /* first */
    struct store_op *next; /* private: of those that are gathered; of a group: its next member */
    enum store_kind kind;
    enum store_error error;  /* when it comes back */
    void *owner;             /* the client's */
    uint64_t tag;            /* the client's */
    struct store_counts add; /* to the counters, in the same transaction */
    union {
        struct store_task task;
        struct store_event event;
        struct {
            const struct store_table *table;
            alignas(8) uint8_t row[STORE_ROW_MAX]; /* the struct that `table` describes */
            /* STORE_ROW_GET and STORE_ROW_PAGE, of a table with `by_key`: they see what was pushed
             * before them.  STORE_REFUSED: a row holds what it cannot hold.  STORE_AWAY: the answer
             * was lost with its connection, which says nothing of writes.  A GET leaves the key as
             * it was pushed. */
            bool found;     /* GET: else the row is as it was pushed */
            void *bytes;    /* GET: what its other spans point into; the client frees it; or NULL */
            uint32_t limit; /* PAGE: asked: rows at most */
            struct store_chunk *chunk; /* PAGE: rows without their blobs; the client frees it */
        };
        /* Operations of the kinds PUT, CHANGE, REMOVE, EVENT, ROW_PUT and ROW_REMOVE, linked by
         * `next`; they are applied in this order.  Only the group is pushed, and comes back; each
         * member has its error then. */
        struct {
            struct store_op *first;
            uint32_t count; /* at least 1 */
            /* The client pushed it upon others that have not come back.  It comes back
             * STORE_FOLLOWS if a group before it was not written, and the client had not taken that
             * when it pushed this one. */
            bool follows;
            uint64_t seen; /* private: operations that the client had taken by then */
        } group;
        struct store_audit audit;
        uint64_t back; /* ns */
        struct store_marks marks;
        struct {
            uint64_t epoch;            /* the first load of an owner says under which it writes */
            struct store_chunk *chunk; /* comes back with rows; the client frees it */
            bool more;                 /* there are more: push another */
            char *text; /* what is wrong; or, of a good one, what it waits for; malloc'ed */
        } load;
    };
};

struct store_options {
    /* Of the file, whose folder exists; or a URL, which has no password. */
    const char *path;
    /* State names by enum job_state, so that people can read the file.  The first is what a task
     * without a life is in. */
    const char *const *states;
    uint32_t state_count;
    const char *vfs; /* of SQLite; NULL: the default; tests bring theirs */
    ao_time retry;   /* ns between two tries to write a file that failed; 0: 1 s */
    /* Of a database.  require: enum job_durable; with REPLICATED, tasks of FSYNC, too, come back
     * STORE_UNREPLICATED.  by_storage: it is taken to replicate, whatever it says of itself. */
    uint8_t require;
    bool by_storage;
    /* Of a cluster, else NULL; at most 63 bytes each. */
    const char *cluster, *node;
    uint64_t incarnation;
    const char *folder; /* for the board of this node; NULL: the board is memory alone */
};

/* Opens or creates the file, and takes it for this process alone; a database that is away is waited
 * for later.  NULL and a text: no folder, no driver for that URL, no right, not a database of ours,
 * an older or a newer schema, in use by another server (then which process), a file system without
 * shared memory, no memory.  What a process that was killed had written and not synced is on the
 * disk before the return.  Blocks. */
struct store *store_open(const struct store_options *options, char *error, size_t size);
/* After store_stop(), or if it was never started.  NULL is fine. */
void store_close(struct store *s);

/* For people and logs: the file, or the URL without its user and parameters. */
const char *store_name(const struct store *s);

/* True: these can be pushed.  Any thread.  It may become true of a database whose schema is older:
 * once its upgrade is finished. */
enum store_kept {
    STORE_KEEPS_ACTORS, /* groups, states of actors and messages to them */
    STORE_KEEPS_BATCHES /* batches and their members */
};
bool store_keeps(const struct store *s, enum store_kept what);

/* True: rows are read by STORE_LOAD after the start; store_load() and what reads marks before the
 * start answer nothing. */
bool store_loads_in_chunks(const struct store *s);

/* What reads all rows, in this order: marks (of a STORE_LOAD alone), counters, rows of `tables`,
 * tasks by id, events by id and seq.  Spans are valid during the call.  A callback that returns
 * false ends the reading. */
struct store_reader {
    void *arg;
    void (*marks)(void *arg, const struct store_marks *marks); /* NULL: not wanted */
    void (*counts)(void *arg, const struct store_counts *counts);
    bool (*task)(void *arg, const struct store_task *task);
    bool (*event)(void *arg, const struct store_event *event);
    const struct store_table *const *tables; /* `table_count`, one after the other */
    uint32_t table_count;
    bool (*row)(void *arg, const struct store_table *table, const void *row); /* of one of them */
    /* NULL, or where a callback that returns false may say, as a constant text, in which way the
     * row is damaged: it goes into the text of the error. */
    const char *const *fault;
    bool clean; /* private: the process before this one stopped in order */
};

/* Before store_start(), on the thread that opened; looks at every page of the file first, but not
 * at those of tables with `by_key` where the board says that the last process stopped in order, and
 * there is no log.  0, or -1 and a text: the file cannot be read, or is damaged (a page, a table,
 * rows out of order or without their task, a column that holds what it cannot hold), or a callback
 * ended the reading. */
int store_load(struct store *s, const struct store_reader *reader, char *error, size_t size);

/* The highest id that was ever put.  Before store_start(). */
uint64_t store_last_id(struct store *s);

/* The highest fence of a hold that was ever put.  Before store_start(); store_load() looks whether
 * it can be one. */
uint64_t store_last_fence(struct store *s);

/* Before store_start(), on the thread that opened.  The Unix time in ns of the last commit, by the
 * clock of then; 0: there was none, or it cannot be read. */
uint64_t store_committed_at(struct store *s);
/* As STORE_SET_BACK, committed when it returns.  Returns its outcome. */
enum store_error store_set_back(struct store *s, uint64_t by);

/* Starts the writer.  `client` is the activator that pushes; `receiver`, an object of it, is
 * activated when operations have come back; both are borrowed until store_close().  0, or -1 and
 * errno: ENOMEM, or no descriptor or thread is to be had. */
int store_start(struct store *s, struct activator *client, struct ao *receiver);

/* The client's thread.  Pushing is giving; what is pushed after the stop comes back STORE_CLOSED.
 */
void store_push(struct store *s, struct store_op *op);
struct store_op *store_take(struct store *s); /* one that came back, or NULL */
void store_release(struct store *s);          /* after a batch of takes */

/* The client's thread, before the stop: something else of this process has no answer of the same
 * engine, so the stop waits for it as for one that is away. */
void store_doubt(struct store *s);
/* After the client's run has ended: what was pushed is committed, then the thread ends.  What comes
 * back can still be taken.  Blocks; for about a second where its engine is away, and for two where
 * it does not answer. */
void store_stop(struct store *s);

/* Any thread; each number by itself. */
struct store_info {
    const char *kind; /* of the driver: "sqlite", "postgresql"; constant */
    uint64_t lag;     /* ns that the standby is behind; 0: there is none, or that is not known */
    bool replicated;  /* the last commit was on the disk of a second machine, too */
    uint64_t commits, operations, bytes; /* bytes: of the file and its log */
    uint64_t commit_ns;                  /* of the last commit */
    uint64_t under_way;                  /* operations that have not come back */
    struct histogram_sum commit_times;
    bool room_known;
    uint64_t room;          /* bytes that its file system had left at the last look */
    uint64_t backup;        /* Unix ms of the last backup, as known then; 0: there is none */
    uint64_t unfolded;      /* about: turns of actors that are not in `actors` yet */
    enum store_error error; /* of the last try; STORE_OK: it works */
    /* What the log has last: a full disk has room for a small commit again and again, and so
     * `error` comes and goes.  STORE_OK once nothing has failed for a while. */
    enum store_error trouble;
};
void store_info(const struct store *s, struct store_info *out);
/* Lets the writer look at `room` and `backup`, soon, and at most once a second: store_info() has
 * them afterwards.  Any thread, until store_close(); waits for no disk. */
void store_look(struct store *s);

#endif
