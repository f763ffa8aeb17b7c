/* One write of an actor: the changes of a turn, or of an operation, and the rows of the store that
 * say so.  commits.h decides when each is written, and what follows from it.
 *
 * Writes of turns are in a list of the actor, in the order of their turns; each has the actor as
 * its turn leaves it.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_WRITES_H
#define ERGON_JOBS_WRITES_H

#include "server/jobs/actors/outbox.h"
#include "server/jobs/persist/codec.h"

/* What an actor is behind a write. */
struct actor_image {
    struct actor_state state;
    uint64_t version;
    uint32_t schema;
};

/* The row is on disk: the operation changes the actor in memory, and answers. */
typedef void act_done(struct actor *a, struct operation *op);

/* What an operation changes. */
struct actor_act {
    struct operation *op; /* NULL: nobody's; its row is written as the actor is */
    act_done *done;
    char *stopped; /* malloc'ed, the act's: why it is stopped then; NULL: as it is */
    bool starts;   /* it is not stopped then */
    bool resets;   /* it has no state then */
    bool removes;  /* its row goes */
};

struct actor_write {
    struct actor *actor;
    struct actor_write *next;  /* of a turn: the turn that began behind it */
    struct job *job;           /* of a turn; NULL: it has ended by itself */
    struct attempt_turn *turn; /* of a turn */
    struct actor_image after;  /* of a turn; with a reference, if the state is shared */
    bool in_chain;             /* the next turn may begin before it is on disk */
    bool has_group;            /* else it only waits for those before it */
    bool is_alone;             /* of a turn: its group was pushed without the row of its message */
    bool refused;              /* by the store: the end of its message is written without it */
    bool changes_row;          /* of a turn: the actor's */
    bool removes_row;          /* likewise, and of an act: since it would say nothing */
    uint64_t number;           /* of a turn; no two have the same */
    struct job **sent;         /* by a turn: jobs that are held (journal.h); malloc'ed */
    uint32_t sent_count;
    struct joined joined;              /* by a turn: jobs that were there */
    bool awaits;                       /* these, before it is pushed */
    LIST_ENTRY(actor_write) by_awaits; /* meanwhile */
    struct withdrawn gone;             /* reminders that a turn forgets */
    uint32_t gone_rows;                /* of these in the group that is under way */
    struct actor_act act;              /* of an act; of a turn `stopped` */
    struct blob *state;                /* a reference: what the row under way points into; NULL */
    enum store_error failed;           /* how its last row came back; STORE_OK: none did */
    bool under_way;
    bool unsaved; /* the actor was, when the row was made */
};

/* It is in no list, and not under way.  NULL: a no-op. */
void writes_free(struct actor_write *w);

/* Sets whether it awaits what its turn joined. */
void writes_await(struct actor_write *w, bool awaits);

/* --- The list of turns --- */

/* As the actor is on disk. */
static inline struct actor_image writes_committed(const struct actor *a)
{
    return (struct actor_image){actor_state(a), a->version, a->schema};
}

/* NULL: there is none. */
static inline struct actor_write *writes_last(const struct actor *a)
{
    return a->more ? a->more->last_turn : NULL;
}

/* As the turn that begins now sees the actor. */
static inline struct actor_image writes_front(const struct actor *a)
{
    const struct actor_write *last = writes_last(a);
    return last ? last->after : writes_committed(a);
}

void writes_add(struct actor *a, struct actor_write *w);
/* Its message does not wait for it any more. */
void writes_remove(struct actor *a, struct actor_write *w);
/* The write of this message's turn; NULL: nothing of it is being written. */
struct actor_write *writes_of(const struct actor *a, const struct job *job);

/* --- Rows.  The write is under way from then on, and DONE gets what comes back.  NULL without
 * memory: nothing has changed, but rows of reminders that a turn forgets may be held back. --- */

/* The group of a turn, whose owner is the write: what it sent, the reminders that it forgets, and
 * the actor. */
struct store_op *writes_turn(struct actor *a, struct actor_write *w, write_done *done);
/* The row of an act, whose owner is the actor.  With that of an actor that goes its reminders go:
 * none comes behind a crash. */
struct store_op *writes_act(struct actor *a, struct actor_write *w, write_done *done);
/* The row or the group of the write came back with this error. */
void writes_back(struct actor *a, struct actor_write *w, enum store_error error);
/* And the members of the group of a turn.  Returns the next one, which is that of its message, for
 * the end; NULL: there is none. */
struct store_op *writes_members_back(struct jobs *jobs, const struct actor_write *w,
                                     struct store_op *group);

#endif
