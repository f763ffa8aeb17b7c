/* Calls that a turn makes to actors: one at a time, and never one that would wait for its own end.
 *
 * A turn waits for the job that it calls; that waits behind the head of a mailbox, whose turn may
 * wait for a call in turn.  Before a call is submitted this chain is walked, over at most 64 turns:
 * where it leads to the caller, the call is refused.  So each cycle is refused as it is closed.
 * Where 64 turns wait already, each for the next one's call, a call is refused, too.
 *
 * A call or tell belongs to the trace of its turn; a call ends with the deadline of its message.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_TURN_CALLS_H
#define ERGON_JOBS_TURN_CALLS_H

#include "server/jobs/actors/actors.h"

/* All of these are for an operation with a `caller`. */

/* Before its message is submitted, which is no call.  False: the operation is refused FENCED, since
 * the attempt is not the current one, or counts no more; or it is served again when the state that
 * the turn began with is on disk. */
bool turn_calls_counts(struct jobs *jobs, struct operation *op);
/* Before its call is submitted.  False: likewise, or it is refused BUSY (the last call of the turn
 * has not ended), DEADLOCK or TOO_DEEP.  True: its spec has the trace and the deadline. */
bool turn_calls_may(struct jobs *jobs, struct operation *op);
/* It waits for this job from now on, until that has ended. */
void turn_calls_began(struct jobs *jobs, const struct operation *op, const struct job *called);
/* Its call was dropped before that. */
void turn_calls_dropped(struct jobs *jobs, const struct operation *op);

#endif
