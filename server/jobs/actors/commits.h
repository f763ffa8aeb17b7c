/* The writes of durable actors (writes.h): a change of an actor is on disk before anybody sees it.
 *
 * Of one actor at most one write is under way: of a turn (`turn`), or of an operation (`act`); of a
 * type with `pipeline` the writes of several turns are, see below.
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
 * A turn may join a job that is not on disk: one in memory, or what another turn sent.  Its write
 * is pushed when that has a row.  Where that will have none, the turn runs again: what the message
 * sends is submitted anew.  A call is answered STORE.
 *
 * --- The chain: types with `pipeline` ---
 *
 * Such a turn leaves the mailbox as it ends, and the next begins on what it made.
 *
 *     a->state          committed: what readers, operations and the next load see
 *     more->turn, ...   writes in the order of their turns, each with the state behind it (`after`)
 *     last `after`      what the next turn begins with
 *
 * So a commit takes the first write out of the chain, and a failure takes all: nothing has to be
 * put back.  The next turn begins only when the last write was pushed, and while no operation
 * waits; one that stops the actor is the last of its chain.  Steps, reminders, and turns that
 * change reminders or drop the state, are in no chain: they begin on what is on disk.
 *
 *     a turn ends well       its group is pushed behind the others; with nothing to write it only
 *                            waits for them, since its answer says what is not on disk
 *     a turn ends otherwise  while the chain is not empty that counts for nothing
 *                            (commits_counts()): it runs again when the chain is on disk
 *     a turn calls           the call waits until the state that the turn began with is on disk
 *                            (turn_calls.h); tells and tasks are rows of the group (outbox.h)
 *     a write fails          the chain is `doomed`: the turn that is out is fenced, and no other
 *                            begins.  The store gives back all groups behind that one
 *                            (STORE_FOLLOWS), so none is written without one that it was made
 *                            upon.  When all are back, and the fenced attempt has returned, calls
 *                            get the error, and messages with a row are the first of the mailbox
 *                            again, in their order.  The actor waits a second for the store.
 *     a group is refused     likewise, and its own message ends FAILED; those behind it wait until
 *                            that is on disk, so that a crash cannot let them pass it
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_COMMITS_H
#define ERGON_JOBS_COMMITS_H

#include "server/jobs/actors/outbox.h"
#include "server/jobs/actors/writes.h"

/* Would these changes, or what was sent, have to be written before they count? */
bool commits_wants(const struct actor *a, const struct turn_changes *c, const struct outbox *sent);
/* The turn of this message ended well, and `commits_wants`: takes the turn over, and holds what was
 * sent.  ENDS: the job is to end, and does so when that is written. */
enum message_verdict commits_begin(struct actor *a, struct job *job, struct attempt_turn *turn,
                                   struct outbox *sent, struct refusal *why);
/* message_hooks: `writes`, `writes_alone`. */
enum message_write commits_group(struct actor *a, struct job *job, struct store_op **group);
void commits_alone(struct actor *a, struct job *job);
/* The attempt of this job begins: with the state that it gets.  NULL without memory. */
struct attempt_turn *commits_turn(const struct actor *a, const struct job *job);
/* May the head begin?  False: REASON says what it waits for; commits_resume() schedules it. */
bool commits_may_begin(const struct actor *a, const struct job *job, enum job_reason *reason);
/* Something of the actor has changed: its chain, its head, or that it `resets`. */
void commits_resume(struct actor *a);
/* message_hooks: `counts`. */
bool commits_counts(const struct actor *a, struct job *job, const struct attempt_turn *turn,
                    bool failed);
/* Is all on disk that the turn has seen? */
bool commits_is_on_disk(const struct actor *a, const struct attempt_turn *turn);

/* Looks at what turns wait for that joined a job that was not on disk. */
void commits_look(struct actors *actors);
/* The job has ended, or goes: no write refers to it any more. */
void commits_leave(struct actor *a, const struct job *job);
/* The actor is dropped: changes that wait are thrown away, and their message is cancelled. */
void commits_drop(struct actor *a);

/* --- Operations that change the actor --- */

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
/* A second has passed: turns begin again, and a step's turn that could not be written is.  False:
 * there is no such step. */
bool commits_try_again(struct actor *a);
/* Nothing comes back any more. */
void commits_fini(struct actor_more *more);

#endif
