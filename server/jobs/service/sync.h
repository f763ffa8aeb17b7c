/* Answers that wait for the disk: they go out when all that was changed before is there.
 *
 * A write of a job may have to wait for the one before it (journal.h), and is pushed when that
 * comes back.  So two operations of the store are sent one after the other: when the first is back,
 * the last writes are on their way, and when the second is, they are on disk.
 *
 * Thread: the jobs'.  The operations are the jobs' until they are answered. */
#ifndef ERGON_JOBS_SYNC_H
#define ERGON_JOBS_SYNC_H

#include <stdbool.h>
#include <stdint.h>

struct jobs;
struct operation;

/* The part of an operation that waits so. */
struct sync_wait {
    uint8_t rounds;    /* that are left */
    uint64_t failures; /* of the journal, when it began to wait */
};

/* All of them; zeroed. */
struct sync {
    struct operation *riding, *next; /* that wait for the round that is under way, for another */
    bool under_way;
};

/* Can what an operation changes be written, as far as is known?  False: it was refused with STORE,
 * and is to change nothing. */
bool sync_possible(struct jobs *jobs, struct operation *op);

/* Answers with the reply as it stands, when all that has changed by the end of this piece of work
 * is on disk; without a store at once.  If that cannot be written the answer is STORE: it is so
 * now, and is written later. */
void sync_answer(struct jobs *jobs, struct operation *op);

/* Nothing comes back from the store any more: who still waits is answered DRAINING. */
void sync_stop(struct jobs *jobs);

#endif
