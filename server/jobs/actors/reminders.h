/* Reminders: messages with a time, and a name that is unique within their actor.  One that is put
 * takes the place of the one that had its name.
 *
 *     put ---> DELAYED ---> due: it joins the mailbox at its end ---> its turn ---> it ends
 *                 ^                                                     |
 *                 +-------------- `every`: at its next time ------------+
 *
 * One with `every` is one job for all of its times: its turn moves it on, in the same write of the
 * store; times that it missed come as one.  A turn of it that has failed for good is noted, and it
 * comes again.
 *
 * Reminders are found by their actor, in a table.  Two may have one name for a moment: the new one
 * counts, and the old one is cancelled as soon as the new one is on disk.  A start that finds both
 * cancels the old one.
 *
 * What a turn forgets is withdrawn until that is on disk: it keeps its place and does not run.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_REMINDERS_H
#define ERGON_JOBS_REMINDERS_H

#include "server/jobs/actors/actors.h"

enum { REMINDERS_MAX = 100 /* of an actor */ };

/* The next reminder of the actor; `before` NULL: the first; NULL: there is none. */
struct job *reminders_next(const struct actor *a, const struct job *before);
/* The latest one of this name; NULL: there is none. */
struct job *reminders_find(const struct actor *a, struct span name);
/* Would it have one reminder too many with one of this name? */
bool reminders_full(const struct actor *a, struct span name);
/* When the first that waits for its time is due; 0: none does. */
ao_time reminders_due(const struct actor *a);

/* It has its name from now on; the job is a reminder of the actor. */
void reminders_name(struct actor *a, struct job *job);
/* Likewise of one that was tried again by hand, unless another has its name. */
void reminders_name_again(struct actor *a, struct job *job);
void reminders_unname(struct actor *a, struct job *job); /* also of one that has none */
/* Of one that is read back: an older one of its name is to be cancelled as it goes on. */
void reminders_recovered(struct actor *a, struct job *job);

/* This one is on disk: older ones of its name are forgotten. */
void reminders_replaced(struct actor *a, const struct job *by);
/* It is cancelled, unless it comes once and its turn runs: then that is its last.  False: that was
 * so. */
bool reminders_forget(struct actor *a, struct job *job);
/* The turn of one that runs does not count, either.  What is withdrawn stays so until it is
 * confirmed. */
void reminders_forget_all(struct actor *a);

/* Does its turn move it on? */
bool reminders_moves(const struct job *job);
/* Sets its next time. */
void reminders_plan(struct actor *a, struct job *job);
/* It has left its place, and waits for its time. */
void reminders_again(struct actor *a, struct job *job);

/* The ids of reminders that a turn or a drop forgets: meanwhile the jobs may be gone. */
struct withdrawn {
    uint64_t *ids; /* malloc'ed; NULL: none */
    uint32_t count;
};
/* Adds those of this name; an empty name: all that the actor has.  False without memory. */
bool reminders_withdraw(struct actor *a, struct span name, struct withdrawn *all);
/* They are forgotten, but for the one whose turn did it, which ends by itself; rows of them that
 * were held back are written; and the list is freed. */
void reminders_confirm(struct actor *a, struct withdrawn *all, const struct job *own);
/* They are as before; such rows are written; and the list is freed. */
void reminders_restore(struct actor *a, struct withdrawn *all);
/* Adds rows that say so to the group: `count` of them, since what has no row needs none.  From then
 * on no other row of these reminders is written, which would follow the group and undo that
 * (`row_held`): reminders_confirm() or reminders_restore() has to come, also after false, which is
 * without memory, and after any number of tries. */
bool reminders_write(struct actor *a, const struct withdrawn *all, const struct job *own,
                     struct store_op *group, uint32_t *count);

#endif
