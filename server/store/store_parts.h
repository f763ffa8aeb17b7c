/* The insides of the store, for the files of this folder: what all engines have in common.
 *
 *   store.c        opened with its driver, read back, closed
 *   client.c       the client's side of the lanes
 *   writer.c       the thread, and its round
 *   driver.c       which driver a store's name means; shared objects
 *   rows.c         tables: which column is which field
 *   chunk.c        rows that were read while the server serves
 *   board_file.c   FILE-running, which outlives the process
 *   lock.c         one process a file
 *   store_error.c  what went wrong
 *   sqlite/        the driver that is part of the server; postgres/: a shared object
 *   offline/       stores that no server uses
 *
 * Thread: the writer's for writer.c; the client's for client.c; before the start and after the
 * stop, the thread that opens and closes.  Operations are the client's memory, and the store's to
 * read until they are back. */
#ifndef ERGON_STORE_PARTS_H
#define ERGON_STORE_PARTS_H

#include <pthread.h>

#include <ergon/poller.h>

#include "base/counter.h"
#include "base/histogram.h"
#include "server/runtime/threads/waker.h"
#include "server/store/driver.h"
#include "server/store/lock.h"
#include "server/store/store_error.h"

enum {
    STORE_BATCH_MAX = 4096,        /* operations in a commit */
    STORE_LANE = 65536,            /* slots: what comes in during a slow commit */
    STORE_BATCH_LAST = STORE_LANE, /* operations in one commit while the store stops */
    STORE_BATCHES = 2              /* under way, at most, of any driver */
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
    counter unfolded;
    counter lag;             /* ns */
    counter actors, batches; /* 1: it keeps them */
};

enum { BOARD_NAME = 64 /* bytes with the NUL, of a cluster and of a node */ };

/* The board (board_file.c).  With a `cluster` it is a node's, and else that of the file `path`. */
struct board {
    char *path; /* what "-running" is added to; NULL: the board is memory alone */
    char cluster[BOARD_NAME], node[BOARD_NAME];
    uint64_t epoch;                       /* of a cluster: under which it is written */
    uint64_t found;                       /* the epoch of the header that was found; 0: none */
    bool clean;                           /* the process before this one stopped in order */
    int fd;                               /* of the file; -1: not opened */
    void *segments[STORE_BOARD_SEGMENTS]; /* NULL: not mapped */
    bool full;                            /* there was no room for the last one */
    struct lock lock;                     /* of a node's */
    /* The file was truncated, and the log does not say so yet.  Orders nothing (relaxed). */
    _Atomic bool cut;
};

struct store {
    const struct store_driver *driver;
    void *engine; /* of the driver */
    char *path;   /* of the file; or the engine's name as people and logs may see it */
    struct board board;
    ao_time retry;

    /* The writer's. */
    struct store_op **ops; /* room for all of `batches` */
    struct store_batch batches[STORE_BATCHES];
    uint32_t first, under_way; /* of `batches`: they were begun, and have not ended */
    bool hands_over;           /* the batch under way does, or has */
    struct store_op *alone;    /* no part of a batch: it waits for those before it */
    struct store_op *next;     /* taken, and before all in `in` */
    bool told;                 /* a load came back to say why the engine is away */
    uint64_t given, failed;    /* operations that went back, and those with the last failure */
    uint64_t group_failed;     /* likewise, of a group */
    struct store_state state;  /* as the driver said last */
    enum store_error reported; /* to the log: the last trouble, until it has worked for a while */
    ao_time steady_at;         /* when the log says that it works; AO_NEVER: it does not */
    ao_time stops_since;       /* monotonic; 0: it does not */
    ao_time away_since;        /* its engine is; 0: it is not */
    ao_time answered_at;       /* monotonic: when a batch ended last; 0: none has */
    ao_time give_up_at;        /* while it stops and its engine is away or silent; else AO_NEVER */
    bool gave_up;              /* the driver is not called any more */
    bool ending;               /* the stop was seen, so this round takes the last of all */
    int wake_fd;               /* for drivers that wait themselves; -1: they do not */
    int stop_fd;               /* an eventfd for those, too: readable once the store stops */

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
    bool expects_gathered;       /* `returned` has those, too, that were gathered meanwhile */
    ao_time wait_began;          /* the client waits for more operations, since; 0: it does not */
    ao_time last_came;           /* while it waits: when the last operation came... */
    uint32_t gathered_then;      /* ...and how many were gathered with that one */
    uint32_t misses;             /* so many waits are not made, after one in vain */
    bool sleeps;                 /* ...and the hook is armed for the end of that wait */
    struct round_hook idle_hook; /* armed while what is gathered may go */
    bool started, stopped;
    bool doubted; /* store_doubt(); constant from the stop on */

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

/* --- writer.c --- */
/* Publishes the driver's state for store_info(), and logs what is new in it. */
void store_note_state(struct store *s);

/* --- board_file.c --- */
/* False: no memory.  board_fini() must follow either way. */
bool board_init(struct board *b, const struct store_options *o, const char *path);
void board_fini(struct board *b); /* nobody uses its segments any more */
void board_tell(struct store *s); /* the log, what the handler of SIGBUS did */

/* --- client.c: on the client's thread --- */
void client_start(struct store *s, struct activator *client);
/* After the client's run: what was pushed is handed over. */
void client_stop(struct store *s);

#endif
