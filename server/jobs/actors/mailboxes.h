/* The mailbox of an actor: the places of its messages, what its turns change, and its stop.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_MAILBOXES_H
#define ERGON_JOBS_MAILBOXES_H

#include "server/jobs/actors/actors.h"

/* The message gets its place, behind all others; the actor has its extras. */
void mailbox_place(struct actor *a, struct job *job);
/* The message, which has its place and was taken out of it, is put back: before all others that
 * wait, or as the head where there is none. */
void mailbox_take_back(struct actor *a, struct job *job);
/* These messages, which had left their places, wait before all others, the head among them. */
void mailbox_put_first(struct actor *a, struct job_list *jobs);
/* It waits for this reason.  Returns false. */
bool mailbox_wait(struct actor *a, struct job *job, enum job_reason reason);
/* Nobody runs the actor's step now: it waits outside of the mailbox. */
void mailbox_put_aside(struct actor *a, struct job *step);
/* Nobody has its turn: the next message has. */
void mailbox_go_on(struct actor *a);
/* What a turn has changed becomes the actor's; NULL: its job has ended by itself.  GOES_ON: of a
 * step, or a reminder that comes again, which was sent on. */
enum message_verdict mailbox_apply(struct actor *a, struct job *job, struct turn_changes *c);
/* Its state is here: what waited for that goes on. */
void mailbox_loaded(struct actor *a);
/* It could not be read: callers get this error. */
void mailbox_not_loaded(struct actor *a, const char *why);

/* --- Stopped, started, dropped: in memory --- */

/* Writes the text that callers of a stopped actor get: its name, and the reason. */
void actor_stopped_text(const struct actor *a, char *text, size_t size);
/* A call that waits at it ends as STOPPED. */
void mailbox_end_stopped(struct actor *a, struct job *job);

/* Calls that wait are answered STOPPED; other messages wait, and what runs goes on.  A stopped
 * actor gets the new reason.  False without memory. */
bool actor_stop(struct actor *a, struct span why);
/* The same, with a malloc'ed text, which becomes the actor's; it has its extras. */
void actor_stop_as(struct actor *a, char *why, uint64_t at);
/* True: it was stopped, or was not stepped, and is now. */
bool actor_start(struct actor *a);
/* State, mailbox and step are forgotten; what runs is fenced.  No write of it is under way. */
void actor_drop(struct actor *a);

#endif
