/* A claim: what a job, or a client that waits at a semaphore, wants of a limit and of a rate, and
 * its place in their line.  Pure data, part of the job or the hold; sched/lines.h has what happens
 * to it.  Thread: the jobs'. */
#ifndef ERGON_JOBS_CLAIM_H
#define ERGON_JOBS_CLAIM_H

#include <stdint.h>

#include <ergon/ao.h>

#include "base/pairing_heap.h"

struct line;

enum claim_kind {
    CLAIM_OF_JOB, /* part of a struct job_more: called, it goes back into the queue */
    CLAIM_OF_HOLD /* part of a struct hold: called, it has what it wants */
};

/* Where a claim waits. */
enum claim_stands { STANDS_NOWHERE, STANDS_IN_LINE, STANDS_CALLED };

struct claim {
    struct line *line;           /* of its limit and its rate; NULL: it has neither */
    struct pairing_node in_line; /* while it waits there; if it is of a hold and was called: by
                                  * `next` in the list of called claims */
    uint64_t rank;               /* in the line: the least goes first */
    uint64_t id;                 /* of those with the same rank the lower one goes first */
    ao_time arrived;             /* for this turn: how long it waits is counted from then */
    uint32_t want;               /* permits */
    uint8_t kind;                /* enum claim_kind */
    uint8_t stands;              /* enum claim_stands */
    uint8_t priority;            /* that its place in the line was found by */
};

#endif
