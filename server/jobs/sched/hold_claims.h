/* What holds of clients (semaphores/holds.h) do in the lines of limits.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_HOLD_CLAIMS_H
#define ERGON_JOBS_HOLD_CLAIMS_H

#include "server/jobs/sched/scheduler.h"

/* Puts the claim into its line; it may be called at once. */
void hold_claim_wait(struct scheduler *s, struct claim *c);
/* The next that was called: it has what it wants.  NULL: none. */
struct claim *hold_claim_next_called(struct scheduler *s);
/* It wants nothing any more, whether it waits or was called; of one that has its permits a no-op.
 */
void hold_claim_withdraw(struct scheduler *s, struct claim *c);
/* So many permits come back. */
void hold_claim_put_back(struct scheduler *s, struct limit *limit, uint32_t permits);
/* The limit has so many from now on. */
void hold_claim_set_max(struct scheduler *s, struct limit *limit, uint32_t max);

#endif
