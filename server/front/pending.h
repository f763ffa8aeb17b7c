/* Requests of one client that were passed to the owner, or wait for one: which of them is answered,
 * and what becomes of them when the owner is lost.
 *
 * Pure; thread: the loop's. */
#ifndef ERGON_FRONT_PENDING_H
#define ERGON_FRONT_PENDING_H

#include "base/hash_table.h"
#include "base/list.h"
#include "proto/envelope.h"
#include "proto/methods.h"

struct act; /* server/rpc/trail.h */

/* Which methods the owner has, and what a client is answered when it is lost. */
enum passing {
    PASS_HERE,   /* this node answers it itself */
    PASS_READ,   /* may be sent twice: it changes nothing, or waits */
    PASS_KEYED,  /* may be sent twice if a key makes it the same task */
    PASS_ONCE,   /* UNSURE */
    PASS_STATE,  /* the same; and once it is answered, its connection has something at the owner */
    PASS_PUSHED, /* the same of a request that may be answered by pushes, while it goes on */
    PASS_CANCEL  /* goes where the request of that id is */
};
enum passing passing_of(enum ergon_method method);
/* Does it wait for as long as its client wants? */
bool passing_is_poll(enum ergon_method method);
/* Do the parameters of task.submit or task.call name a key?  Those of task.watch ask for pushes?
 * False when in doubt. */
bool passing_has_key(struct span params);
bool passing_has_push(struct span params);

enum { PENDING_FOREIGN = METHOD_COUNT /* a method that this node does not know */ };

struct pending {
    struct hash_link link; /* of those with an id */
    TAILQ_ENTRY(pending) next;
    struct act *act;   /* owned; NULL: it is no administrative act */
    uint8_t *bytes;    /* malloc'ed: the message, to be sent, perhaps again; NULL: not kept */
    uint32_t len;      /* of the message */
    uint64_t begin;    /* its place in the session's output; UINT64_MAX: it is not there yet */
    uint64_t number;   /* it was the so manieth message of its session */
    uint64_t since;    /* of the loop's clock: it waits since then, while it was not sent */
    uint16_t method;   /* enum ergon_method, or PENDING_FOREIGN */
    uint8_t passing;   /* enum passing */
    uint8_t msgid_len; /* 0: a notification */
    uint8_t msgid[MSGID_MAX];
    bool polls;    /* conn_call_began(.., false) */
    bool identity; /* our own: cluster.session */
};
TAILQ_HEAD(pending_list, pending);

struct pendings {
    struct hash_table by_id;
    struct pending_list all; /* in their order */
    uint32_t count;
};

void pendings_init(struct pendings *p);
void pendings_fini(struct pendings *p); /* when it is empty */
/* Adds a zeroed one of malloc() at the end. */
void pendings_add(struct pendings *p, struct pending *e, struct span msgid);
struct pending *pendings_find(const struct pendings *p, struct span msgid);
/* By the value of the id. */
struct pending *pendings_of_number(const struct pendings *p, uint64_t id);
/* Takes it out; the caller's. */
void pendings_remove(struct pendings *p, struct pending *e);

/* The outcome of a request, as its response has it: "ok", or the name of the error, which may be in
 * `buf`. */
const char *pending_outcome(const struct envelope *e, char *buf, size_t size);

#endif
