/* What a turn sends, as jobs: messages to actors, tasks and reminders of its own actor, all of them
 * or none; and the reminders that it forgets or replaces (reminders.h).  And what an attempt of a
 * task submits, which is the same without reminders (task_sends.h).
 *
 * They are submitted as the turn ends well, in their order, before the actor gets its new state: so
 * a message that is refused fails the turn, with the code and the text of the refusal.  Of the
 * server's own rights: a worker's were checked as it answered (worker_answer.c).  All belong to the
 * tenant of the actor; `durable`, where it is not said, is that of actor.tell and, of a task,
 * of submissions that do not say it, or `none` without a store.
 *
 * Of a durable type their rows are members of the group of the turn (commits.h): what is `async` is
 * made `fsync`, so nothing begins before that is on disk.  What is there already by its key, and is
 * not on disk, has a write of its own, or is in the group of another turn: the turn waits for it.
 * What is in memory alone begins at once; of a type with `pipeline` it is checked, and submitted
 * when the turn is on disk, since the turn may be undone.  Where it is refused then, the log says
 * so.
 *
 * A turn that ends while the server stops counts whole, so what it sends is taken then, too, and
 * begins under the next server, as far as it is durable.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_OUTBOX_H
#define ERGON_JOBS_OUTBOX_H

#include "server/jobs/actors/reminders.h"
#include "server/jobs/life/submit.h"

/* A job that was there already, by `key` or `coalesce`; it may be gone later. */
struct joined_job {
    uint64_t id;
    bool shared;  /* the turn has its part of the run */
    bool awaited; /* it is to be on disk, and is not yet */
};

struct joined {
    struct joined_job *jobs; /* malloc'ed; NULL: none */
    uint32_t count;
};

/* What was submitted, in order. */
struct outbox {
    struct submitted *made; /* malloc'ed; NULL: nothing */
    uint32_t count;
    struct joined joined; /* of these */
    struct withdrawn gone;
};

/* Whose it is. */
struct sender {
    struct jobs *jobs;
    struct actor *actor;   /* NULL: a task submits */
    const struct job *job; /* the message or the task; NULL: the message has ended */
    const struct tenant *tenant;
    bool durable; /* what it sends begins when its own end is on disk */
};
struct sender sender_of_turn(struct actor *a, const struct job *job);
struct sender sender_of_task(struct jobs *jobs, const struct job *job);

/* False, and `why`: nothing was sent, and there is nothing to free. */
bool outbox_send(struct outbox *sent, const struct sender *by, struct turn_changes *changes,
                 struct refusal *why);
/* The turn counts: messages that wait for that are sent. */
void outbox_send_later(const struct sender *by, const struct turn_messages *messages);
/* In the same step: none of it was sent.  It is freed as else. */
void outbox_take_back(struct outbox *sent, const struct sender *by, const char *why);
void outbox_free(struct outbox *sent);

/* A new job, of which nobody knows before it is on disk. */
bool submitted_is_held(const struct submitted *done);

/* Is any of it to be awaited? */
bool joined_awaits(const struct joined *all);
/* Sets which of it is awaited now.  Not STORE_OK: one will never be on disk, for this reason: it is
 * in memory alone again, or gone. */
enum store_error joined_look(struct jobs *jobs, struct joined *all);
/* The turn does not count: of runs that it shares it is one submission less.  It is freed. */
void joined_leave(struct jobs *jobs, struct joined *all);

#endif
