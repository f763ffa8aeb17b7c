/* The rows of durable actors: what changes an actor is on disk before anybody sees it.
 *
 * Of one actor at most one write is under way: of a turn (`turn`), or of an operation (`act`).
 *
 *     turn:  takes ---> waits for `act` ---> under way ---> on disk: the changes are the actor's
 *                            ^                   |
 *                            |                   +--> failed
 *              the row of its message is
 *              tried again (journal.h)
 *
 *     act:   waits in `ops` for the load, `turn` and `act` ---> under way ---> on disk: it is done
 *                                                                  |
 *                                                                  +--> failed: STORE, no change
 *
 * The changes of a turn, the jobs that it sent (outbox.h) and the end of its message are one group
 * of the store, which the journal pushes.  When it is back, the changes become the actor's first
 * (mailbox_apply()), then the end of the message is saved; so callers and the next turn see both
 * (EFFECT_ENDED), and what was sent goes on.  A reminder that comes again does not end: its row
 * says when, and it is QUEUED, reason commit, until then.  Where the message has no row, as of a
 * call, the group is pushed without it, and the job is JOB_ENDING until then.  A step does not end:
 * it is QUEUED, reason commit, until then.
 *
 * A write that fails leaves the actor as it was.  A message with a row stays JOB_ENDING until it is
 * written, and a step QUEUED, reason store: their turns do not run again.  A call without a row
 * ends FAILED with STORE.  What the store refuses for good ends a message FAILED with STORE, and
 * the attempt of a step has failed.  Then what the turn sent is taken back.
 *
 * A message that is JOB_ENDING can be neither cancelled nor timed out.  actor.drop waits for the
 * write of a turn that is under way, and throws away one that waits.  A step can be cancelled
 * meanwhile: then its changes are the actor's all the same.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_COMMITS_H
#define ERGON_JOBS_COMMITS_H

#include "server/jobs/actors/outbox.h"

/* Would these changes, or what was sent, have to be written before they count? */
bool commits_wants(const struct actor *a, const struct turn_changes *c, const struct outbox *sent);
/* The turn of this message ended well, and `commits_wants`: takes the turn over, and holds what was
 * sent.  ENDS: the job is to end, and does so when that is written. */
enum message_verdict commits_begin(struct actor *a, struct job *job, struct attempt_turn *turn,
                                   struct outbox *sent, struct refusal *why);
/* message_hooks: `writes`, `writes_alone`. */
enum message_write commits_group(struct actor *a, struct job *job, struct store_op **group);
void commits_alone(struct actor *a, struct job *job);
/* Are the changes of this job's turn being written? */
bool commits_is_of(const struct actor *a, const struct job *job);
/* The job has ended, or goes: no write refers to it any more. */
void commits_leave(struct actor *a, const struct job *job);
/* The actor is dropped: changes that wait are thrown away, and their message is cancelled. */
void commits_drop(struct actor *a);

/* The row is on disk: the operation changes the actor in memory, and answers. */
typedef void act_done(struct actor *a, struct operation *op);

struct actor_act {
    struct operation *op; /* NULL: nobody's; its row is written as the actor is */
    act_done *done;
    char *stopped; /* malloc'ed, the act's: why it is stopped then; NULL: as it is */
    bool starts;   /* it is not stopped then */
    bool resets;   /* it has no state then */
    bool removes;  /* its row goes */
};

/* Can an act begin?  False: it waits in `ops`, or was refused, since the store cannot write. */
bool commits_may_act(struct actor *a, struct operation *op);
/* Begins it; `commits_may_act`.  Without memory the operation is refused. */
void commits_act(struct actor *a, const struct actor_act *act);
/* Operations that waited at the actor are served again. */
void commits_serve(struct actor *a);
void commits_await(struct actor *a, struct operation *op);
/* Its row is not as it is: it is written soon. */
void commits_save(struct actor *a);
/* It is written, or read, again in a second. */
void commits_again(struct actor *a);
/* A step's turn that could not be written is written again; false: there is none. */
bool commits_try_step(struct actor *a);
/* Nothing comes back any more. */
void commits_fini(struct actor_more *more);

#endif
