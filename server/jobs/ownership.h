/* Which node of a cluster owns the tasks, as its jobs see it.
 *
 *     NONE --- jobs_become_owner() ---> LOADING --- rows, marks ---> OWNER
 *                                          |                           |
 *                                          +---> LOST <----------------+
 *                          the rows cannot be read      STORE_FENCED comes back
 *
 * NONE and LOST: operations that concern tasks are BUSY, and nothing begins.  LOADING: likewise,
 * while chunks of rows come from the store (STORE_LOAD), become tasks in steps of about a
 * millisecond, and go on, also in steps.  The loading is over when STORE_MARKS is committed: so
 * nobody else has taken over meanwhile, and no number is given twice.
 *
 * OWNER, while the cluster says that it may act (server/cluster/view.h): as without a cluster.
 * While it may not, since its last renewal is too old: no attempt is given, and what was given and
 * has not begun is taken back; no permit is granted; submissions are refused with STORE, and all
 * other operations but task.explain are put aside.  A timer of 100 ms, or the next attempt that the
 * manager asks for, notices when it may act again: then they are served in their order.
 *
 * Thread: the jobs', but for what jobs.h says of jobs_become_owner() and its neighbours. */
#ifndef ERGON_JOBS_OWNERSHIP_H
#define ERGON_JOBS_OWNERSHIP_H

#include <ergon/ao.h>

#include "server/jobs/jobs.h"
#include "server/store/store.h"

struct owner_load;

enum ownership_state { OWNERSHIP_NONE, OWNERSHIP_LOADING, OWNERSHIP_OWNER, OWNERSHIP_LOST };

/* Begins zeroed; without a cluster it stays so. */
struct ownership {
    struct jobs *jobs;
    uint8_t state;            /* enum ownership_state */
    bool marking;             /* STORE_MARKS is under way */
    struct ao wish;           /* posted by jobs_become_owner() */
    struct ao_handle *handle; /* of `wish` */
    struct ao watch;          /* looks again and again: at its marks, and as OWNER at more */
    struct jobs_take_over take;
    struct owner_load *load;  /* LOADING; else NULL */
    struct store_marks marks; /* up to these numbers may be given: they are on the disk */
    char failure[200];        /* of the board's file; empty: none */
    struct jobs_begun *begun; /* jobs_old_board() */
    uint32_t begun_count;
    uint64_t begun_epoch;
};

/* Where there is a cluster, before the scheduler runs.  False without memory. */
bool ownership_init(struct jobs *jobs);
void ownership_fini(struct jobs *jobs);
/* jobs_recover(): which attempts of the last process had begun.  0, or -1 and a text. */
int ownership_look_at_board(struct jobs *jobs, char *error, size_t size);

/* --- The jobs' step: parts of it, as long as jobs_have_time() --- */

/* Serves operations as the state, and the cluster, allow it.  True: nothing is left. */
bool ownership_serve(struct jobs *jobs);
/* What came back from the store may say that another node owns the tasks. */
void ownership_notice(struct jobs *jobs);
/* LOADING: the next step.  True: it waits for the store, or there is nothing to do. */
bool ownership_go_on(struct jobs *jobs);

/* The last operation of a stop in order: the next owner need not wait for the end of a lease. */
void ownership_hand_over(struct jobs *jobs);

#endif
