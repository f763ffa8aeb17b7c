/* Answers that wait for the disk: each goes out when everything that changed before it is there.
 *
 * The write of a job may have to wait for the job's previous write (journal.h), and is pushed when
 * that one comes back.  So two rounds, each an empty operation of the store, follow one another:
 * when the first round is back, the last writes are under way; when the second is back, they are on
 * disk.
 *
 * Thread: the jobs'.  The jobs own the operations until they are answered. */
#ifndef ERGON_JOBS_SYNC_H
#define ERGON_JOBS_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/errors.h"
#include "server/store/store.h"

struct job;
struct jobs;
struct operation;

/* The part of an operation that waits for the disk. */
struct sync_wait {
    uint8_t rounds;    /* that it still waits for */
    uint64_t failures; /* of the journal, when it began to wait */
    uint64_t unsure;   /* likewise */
    uint64_t job;      /* the id of the job whose row has to be on disk; 0: of any */
};

/* All operations that wait for the disk; begins zeroed. */
struct sync {
    struct operation *riding, *next; /* wait for the round under way; for the one after it */
    bool under_way;
};

struct sync *jobs_sync(struct jobs *jobs);

/* True if the store works, as far as is known.  False: the operation was refused with STORE, and
 * must change nothing. */
bool sync_possible(struct jobs *jobs, struct operation *op);

/* The error that clients get for a write that came back with one: STORE, or UNSURE, where it is
 * open whether it was written. */
enum ergon_error sync_error(enum store_error error);
void sync_refuse(struct operation *op, enum store_error error); /* with its text */

/* Answers with the reply that was filled in, when everything that has changed by the end of this
 * piece of work is on disk; without a store at once.  If it cannot be written, it is in effect,
 * and is written later: then its class says the answer (`unwritten`). */
void sync_answer(struct jobs *jobs, struct operation *op);
/* Likewise, of a change of this job alone, which waits for the disk: its row may fail by itself. */
void sync_answer_job(struct jobs *jobs, struct operation *op, const struct job *job);

/* Such an answer, with this error, and a text that says so. */
void sync_refuse_unwritten(struct operation *op, enum ergon_error as, enum store_error error);

/* Answers all operations that still wait DRAINING, since the store has stopped. */
void sync_stop(struct jobs *jobs);

#endif
