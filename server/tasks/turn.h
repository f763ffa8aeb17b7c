/* A turn: an attempt of a message to an actor.  It has the actor's state beside its parameters, and
 * answers changes beside its result.
 *
 * The jobs make it as the attempt begins, and free it when that attempt has returned or was
 * withdrawn.  In between it belongs to the owner of the attempt's struct task, as the parameters
 * do: so nothing here is shared, but for the bytes of states, which do not change.
 *
 * An attempt of a task has one without an actor, from when it first submits something: made by
 * attempt_sends() (attempt.h), it is the struct task's, and goes with it.  Of its changes only
 * `messages` count.  Where an attempt before it kept a checkpoint, the jobs make it with that as
 * its state, and give it away with the attempt.
 *
 * Thread: the owner's.  Nothing here blocks. */
#ifndef ERGON_TASKS_TURN_H
#define ERGON_TASKS_TURN_H

#include <ergon/ao.h>

#include "base/blob.h"
#include "server/tasks/turn_messages.h"

enum {
    ACTOR_STATE_MAX = 64 << 10,
    TURN_TEXT_MAX = 160 /* bytes with the terminator: why an actor stops */
};

#define TURN_STATE_TOO_LARGE                                                                       \
    "the state is larger than its type (`state`) or the server (actors.state) allows"

enum turn_sleep { TURN_SLEEP_UNSAID, TURN_SLEEP_TIME, TURN_SLEEP_UNTIL_WOKEN };

struct turn_changes {
    struct blob *state; /* a reference: the new state; NULL: as it was, or `drops` */
    uint32_t schema;    /* of the new state */
    bool drops;         /* the actor has no state any more */
    bool wakes;         /* its sleep ends */
    bool stops;         /* it is stopped; `stop` says why */
    uint8_t sleep;      /* enum turn_sleep: when its next step is due */
    ao_time sleep_for;  /* ns */
    struct turn_messages messages;
    char stop[TURN_TEXT_MAX]; /* why */
};

struct attempt_turn {
    struct attempt_turn *next; /* the jobs': of the same message, the older one */
    uint64_t waits_for;        /* the jobs': the job that its last call was about; 0: none */
    uint32_t attempt;          /* its number; no two that begin have the same */
    uint32_t calls;            /* that a handler of this process has made */
    uint64_t behind;           /* the jobs': the last change that its state has and the disk may
                                  not have; 0: none */
    bool fenced;               /* the jobs': that could not be written */
    uint32_t round;            /* struct message has it */
    struct span actor;         /* "cart/42", behind the struct */
    struct span state;         /* empty: it has none */
    struct blob *shared;       /* a reference to that; NULL: it is behind the struct, too */
    uint64_t version;
    uint32_t schema;    /* of the state */
    uint32_t writes;    /* the schema of a new state, if nothing else is said */
    uint32_t state_max; /* bytes of a new one */
    bool reads;         /* it may change nothing */
    struct turn_changes changes;
};

/* With a copy of the name, and a reference to the blob that has the state; of a state without one,
 * with a copy.  NULL without memory. */
struct attempt_turn *turn_new(struct span actor, struct span state, struct blob *shared);
void turn_free(struct attempt_turn *turn); /* NULL is fine */

/* Is it that of an actor?  NULL: no. */
static inline bool turn_is_of_actor(const struct attempt_turn *turn)
{
    return turn && turn->actor.len > 0;
}

/* The changes that were gathered are given up: the turn has failed. */
void turn_drop_changes(struct attempt_turn *turn);

/* Each of these adds a change.  NULL; or a constant text that says why there is none: the turn only
 * reads, the state is too large, there is no memory. */
const char *turn_set_state(struct attempt_turn *turn, struct span raw, uint32_t schema);
const char *turn_drop_state(struct attempt_turn *turn);
const char *turn_sleep(struct attempt_turn *turn, ao_time ns); /* AO_NEVER: until it is woken */
const char *turn_wake(struct attempt_turn *turn);
/* Bytes of `why` behind TURN_TEXT_MAX are cut off. */
const char *turn_stop(struct attempt_turn *turn, struct span why);
const char *turn_send(struct attempt_turn *turn, const struct turn_message_parts *parts);
/* A reminder of the turn's actor; without a method: it is forgotten.  The parts' `type` is set. */
const char *turn_remind(struct attempt_turn *turn, struct turn_message_parts *parts);

/* The changes as a worker answers them: a nil, or a map of {state, schema, drop, sleep, wake,
 * stop, tell, task, remind, forget}.  False, and a text: they are none, or may not be; the turn has
 * no changes then. */
bool turn_read_changes(struct attempt_turn *turn, struct span raw, char *error, size_t size);
/* Adds what an attempt of a task submits, as worker.submit says it: a map of {task, tell}.  False,
 * and a text; some may have been added. */
bool turn_read_sends(struct attempt_turn *turn, struct span raw, char *error, size_t size);

#endif
