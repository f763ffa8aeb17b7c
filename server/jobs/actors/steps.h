/* Steps: the message of a stepped actor that nobody sends.  It is one job, which joins the mailbox
 * again after each of its turns, or sleeps (DELAYED, reason sleep).  An actor of a stepped type has
 * one from its first message on, until it is stopped.
 *
 * While nobody offers the type's step, it has no place in the mailbox (WAITING, reason
 * no_executor), and messages run without it: hosts may offer the methods of a type in parts, and a
 * type may be offered anew without a step.  Actors get none then; those in memory get theirs when
 * it is offered, and others with their next message.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_STEPS_H
#define ERGON_JOBS_STEPS_H

#include "server/jobs/actors/actors.h"

enum { STEP_ATTEMPTS = JOB_COUNT_MAX - 1 /* then it ends, and a new one follows */ };

/* The actor is to have a step, after `delay` ns, if its type has one and it is not stopped; false:
 * it has one, or gets none.  It is submitted in a later step of the jobs. */
bool steps_want(struct actor *a, ao_time delay);
/* Does anybody run the step of this type now? */
bool steps_are_offered(const struct actor_type *type);
/* Workers began or ceased to offer a step: actors are looked at by steps_submit(). */
void steps_offered(struct actors *actors);
/* Is this its step, or becomes it now?  Else the job, which somebody has tried again, is cancelled.
 */
bool steps_adopt(struct actor *a, struct job *job);
/* The next time of its step gets a number: a stamp, whose 32 bits come again after 71 minutes,
 * while answers of calls are kept for an hour.  Its attempts are no such number: after a start they
 * are counted on from what the file says. */
void steps_next_round(const struct actor *a, struct job *job);
/* Its step took its turn, and left its place: it joins the mailbox, or sleeps. */
void steps_again(struct actor *a, struct job *job, const struct turn_changes *c);
/* A message's turn ends its sleep, or lets it sleep. */
void steps_change(struct actor *a, const struct turn_changes *c);
/* Its step has ended, and another is wanted; false: it was cancelled, which is to stop the actor,
 * unless nobody offers it. */
bool steps_ended(struct actor *a, const struct job *job);
/* Submits the steps that are wanted, and puts those aside that nobody offers any more, as far as
 * there is time.  True: nothing is left. */
bool steps_submit(struct actors *actors);
/* Its step is due now, if it sleeps. */
bool actor_wake(struct actor *a);
/* When its step is due; 0: it has none, or that does not sleep; AO_NEVER: when it is woken. */
ao_time actor_next(const struct actor *a);
/* It has none any more; one that runs ends when that attempt has returned. */
void steps_stop(struct actor *a);

#endif
