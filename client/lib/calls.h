/* The calls of one client that have not ended: each is found by its id, and stands in a list, in
 * order of submission, with those of its place.  Thread: that of the client; a call is owned by the
 * table from calls_add() to calls_remove(), and by whoever holds it before and after. */
#ifndef ERGON_CLIENT_CALLS_H
#define ERGON_CLIENT_CALLS_H

#include <event2/event_struct.h>

#include "base/hash_table.h"
#include "base/list.h"
#include <ergon/client.h>

enum call_place {
    CALL_WAITING,   /* for a connection; `frame` is its message */
    CALL_IN_FLIGHT, /* sent */
    CALL_PAUSED,    /* never sent: its timer is all that it is about */
    CALL_ENDING     /* in no list of the table: it is about to end, or has been removed */
};

TAILQ_HEAD(call_list, call);

struct call {
    TAILQ_ENTRY(call) link;      /* in the list of its place; CALL_ENDING: in `ending` */
    struct call_list *ending;    /* of those that were set aside; NULL: none */
    struct hash_link by_message; /* while it is in the table and id is not 0 */
    ergon_call_id id;            /* its low 32 bits are the message id; 0: a notification */
    enum call_place place;
    ergon_answer_fn *fn; /* NULL for a notification */
    void *arg;
    struct event timer; /* valid when `timed` */
    bool timed;
    void *owner;      /* the client, for the timer */
    uint8_t *frame;   /* owned; the whole message, while CALL_WAITING; else NULL */
    size_t frame_len; /* bytes */
};

struct calls {
    struct hash_table by_message; /* calls with an id */
    size_t set_aside;             /* of these: calls that are about to end */
    ergon_call_id last_id;
    struct call_list lists[CALL_ENDING];
    size_t counts[CALL_ENDING]; /* notifications included */
};

void call_table_init(struct calls *t);
void call_table_fini(struct calls *t); /* the lists must be empty */

/* A new id whose low 32 bits no call of the table has. */
ergon_call_id calls_next_id(struct calls *t);

/* Puts in a call, whose id and place (not CALL_ENDING) are set. */
void calls_add(struct calls *t, struct call *call);
void calls_remove(struct calls *t, struct call *call); /* also one that was set aside */
void calls_sent(struct calls *t, struct call *call);   /* from CALL_WAITING to CALL_IN_FLIGHT */

/* NULL: there is none. */
struct call *calls_by_id(const struct calls *t, ergon_call_id id);
struct call *calls_by_message(const struct calls *t, uint32_t message_id);

/* Appends every call of one place to `to`, in order, with its timer stopped.  Until calls_end()
 * ends them, which is owed, they are found by their ids, so that each can be cancelled. */
void calls_set_aside(struct calls *t, enum call_place place, struct call_list *to);
/* Ends all of them so, in order. */
void calls_end(struct calls *t, struct call_list *ending, enum ergon_end outcome, const char *why);

/* ---- calls that are in no table ---- */

/* NULL: out of memory. */
struct call *call_new(void *owner, ergon_call_id id, ergon_answer_fn *fn, void *arg);
void call_free(struct call *call);

/* Frees it, then calls its one callback, if it has one.  After that its client may be gone. */
void call_end(struct call *call, const struct ergon_answer *answer);
void call_end_as(struct call *call, enum ergon_end outcome, const char *why);

#endif
