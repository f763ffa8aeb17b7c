/* Requests of one client that were passed to the owner, or wait for one: the table of them, and how
 * the front treats each method when the owner is lost.
 *
 * Pure; thread: the loop's. */
#ifndef ERGON_FRONT_PENDING_H
#define ERGON_FRONT_PENDING_H

#include "base/hash_table.h"
#include "base/list.h"
#include "proto/envelope.h"
#include "proto/methods.h"

struct act; /* server/rpc/trail.h */

/* Where a method is served, and what the front does with a request when the owner is lost. */
enum passing {
    PASS_HERE,   /* this node serves it */
    PASS_READ,   /* the front sends it to the next owner: it changes nothing, or waits */
    PASS_KEYED,  /* likewise if a key makes it the same task; else PASS_ONCE */
    PASS_ONCE,   /* the front answers UNSURE */
    PASS_STATE,  /* the same; once it is answered, the owner keeps something for the connection */
    PASS_PUSHED, /* UNSURE, and the connection closes: its pushes have stopped */
    PASS_CANCEL  /* server.cancel: goes where the request of that id is */
};
enum passing passing_of(enum ergon_method method);
/* Does it wait for as long as its client wants? */
bool passing_is_poll(enum ergon_method method);
/* A poll that changes nothing, and leaves nothing at the owner. */
static inline bool passing_only_waits(enum passing passing, bool polls)
{
    return polls && (passing == PASS_READ || passing == PASS_PUSHED);
}
/* Do the parameters of task.submit or task.call name a key?  Do those of task.watch ask for pushes?
 * False when in doubt. */
bool passing_has_key(struct span params);
bool passing_has_push(struct span params);
/* Does only an owner that composes (vouch.h) know what it wants?  True when in doubt. */
bool passing_composes(uint16_t method, struct span params);
/* For how long the parameters say that the client waits (a timeout, a wait, a deadline), ns;
 * UINT64_MAX: they do not say. */
uint64_t passing_time(uint16_t method, struct span params);

enum { PENDING_FOREIGN = METHOD_COUNT /* a method that this node does not know */ };
#define PENDING_UNSENT UINT64_MAX /* `begin` of a request that waits for an owner */

struct front;

struct pending {
    struct hash_link link; /* of those with an id */
    TAILQ_ENTRY(pending) next;
    struct act *act;      /* owned; NULL: it is no administrative act */
    uint8_t *bytes;       /* malloc'ed: the message, to send it, perhaps again; NULL: not kept */
    uint32_t len;         /* of the message */
    uint64_t begin;       /* its place in the session's output, or PENDING_UNSENT */
    uint64_t number;      /* which message of its session it was, from 1 */
    uint64_t counts_from; /* of the loop's clock: from then on the times in `bytes` count */
    uint64_t since;       /* of the loop's clock: since when it waits, while it is not sent */
    uint64_t until;       /* likewise: until when its client waits, as far as it said; AO_NEVER */
    uint16_t method;      /* enum ergon_method, or PENDING_FOREIGN */
    uint8_t passing;      /* enum passing */
    uint8_t msgid_len;    /* 0: a notification */
    uint8_t msgid[MSGID_MAX];
    bool polls;    /* conn_call_began(.., false) */
    bool was_read; /* by an owner that was lost, perhaps: it may have been done */
    bool identity; /* cluster.session: the front's own */
    bool composes; /* an owner of the version before would do something else: passing_composes() */
};
TAILQ_HEAD(pending_list, pending);

struct pendings {
    struct hash_table by_id;
    struct pending_list all; /* in the order in which the client sent them */
    uint32_t count;
};

static inline bool pending_may_be_done(const struct pending *e)
{
    return e->passing == PASS_KEYED && e->was_read;
}

/* A message as it was read, to be written again: its most bytes, and its end behind `at`. */
size_t message_room(const struct envelope *e);
uint8_t *message_put(uint8_t *at, const struct envelope *e);

void pendings_init(struct pendings *p);
void pendings_fini(struct pendings *p); /* when it is empty */
/* Adds a zeroed one of malloc() at the end. */
void pendings_add(struct pendings *p, struct pending *e, struct span msgid);
struct pending *pendings_find(const struct pendings *p, struct span msgid);
/* By the value of the id. */
struct pending *pendings_of_number(const struct pendings *p, uint64_t id);
/* It is sent, or served, at `now`: the time that its client waits becomes what is left of it, in
 * the bytes that are kept.  False without memory. */
bool pending_pass_time(struct pending *e, uint64_t now);
/* Takes it out; the caller's. */
void pendings_remove(struct pendings *p, struct pending *e);

/* The outcome of a request by its response: "ok", or the name of the error, which may be in `buf`.
 */
const char *pending_outcome(const struct envelope *e, char *buf, size_t size);
/* Does the owner refuse it only because it stops?  DRAINING with another text is about one queue,
 * or a handler's own: a next owner does not change that. */
bool pending_hands_over(const struct envelope *e);

/* --- settle.c --- */

/* The owner is of the version before, and would not know what the request wants: it is refused here
 * and ended.  Of a notification the connection is closed, since nobody would learn of it. */
bool front_refuses(struct front *r, struct pending *e);

#endif
