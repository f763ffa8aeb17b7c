/* Jobs to the store, and what comes back.
 *
 * Of one job at most one write is on its way; what changes meanwhile makes the job dirty, and is
 * written when that write has come back.  So a write that failed is simply made again, from what
 * the job is by then, and changes of a busy job are written together.  The counters of the file
 * travel with the row that they count: each row is counted as what it says.
 *
 * Thread: the jobs'.  Nothing here blocks: the store has a thread of its own. */
#ifndef ERGON_JOBS_JOURNAL_H
#define ERGON_JOBS_JOURNAL_H

#include <ergon/ao.h>

#include "base/slab.h"
#include "server/store/store.h"

struct job;
struct jobs;

struct journal {
    struct slab writes;     /* operations of the store */
    enum store_error error; /* of what came back last */
    uint64_t under_way;     /* writes that have not come back */
    uint64_t failures;      /* writes whose error was the whole store's */
    uint64_t unsure;        /* of these: STORE_UNSURE */
    uint64_t unsaved;       /* jobs whose last write failed: it is tried again */
    struct job *unsaved_at; /* where the search for such goes on; NULL: at the first */
    struct ao retry;        /* sleeps until the next try; its step calls journal_resave() */
    uint64_t rows_below; /* id: of rows below, what changes is added to `rows_open`; 0: of none */
    uint64_t rows_open;
    uint64_t last_rate; /* the highest row of a rate */
};

/* Writes what is new of a durable job; of another a no-op.  Without memory the write is tried again
 * later, and the job gets EFFECT_CANCEL_SAVED with STORE_MEMORY. */
void journal_write(struct jobs *jobs, struct job *job);
/* Its first row has come back as failed, and its submission is about to be refused, with that
 * error: its end meanwhile has no row to be in, and is nobody's answer. */
bool journal_takes_back(const struct job *job);
/* --- Jobs whose first rows are members of a turn's group, or go with a row of the inbox --- */

/* It was just submitted, and is durable: nothing of it is pushed by itself from now on. */
void journal_hold(struct jobs *jobs, struct job *job);
/* Adds the rows of such jobs to a group.  False without memory: some may have been added.  If the
 * group comes back with an error, the jobs are held as before. */
bool journal_add_held(struct jobs *jobs, struct store_op *group, struct job *const *held,
                      uint32_t count);
/* Pushes its row by itself; the row `taken` of the inbox goes with it (store.h).  From then on it
 * is as any.  Without memory it is let go. */
void journal_push_held(struct jobs *jobs, struct job *job, uint64_t taken);
/* It will not be written, because of this error: it is taken back. */
void journal_let_go(struct jobs *jobs, struct job *job, enum store_error error);

/* Writes the events that its history got since the last call, as far as they are worth it. */
void journal_events(struct jobs *jobs, struct job *job);
/* Removes the row of a durable job that is about to be freed, and forgets it. */
void journal_remove(struct jobs *jobs, struct job *job);

/* Something could not be written: the retry comes soon, and writes it. */
void journal_try_later(struct jobs *jobs);
/* Is it the error of one write, which says nothing of others? */
static inline bool journal_is_alone(enum store_error error)
{
    return error == STORE_REFUSED || error == STORE_UNREPLICATED || error == STORE_FOLLOWS;
}
/* What the outcome of a write says of the store. */
void journal_notice(struct jobs *jobs, struct store_op *write);

/* Writes once more what could not be written.  Returns after how long it is to be called again;
 * AO_NEVER: all is written, or on its way. */
ao_time journal_resave(struct jobs *jobs);

/* Takes what came back, at most JOURNAL_BATCH writes at once.  Returns how many it took. */
enum { JOURNAL_BATCH = 1024 };
uint32_t journal_take(struct jobs *jobs);
/* Before the store stops: pushes all that waits for a write that is on its way. */
void journal_flush(struct jobs *jobs);

#endif
