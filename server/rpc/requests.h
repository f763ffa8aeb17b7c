/* Requests that we send over one connection: each number maps to the receiver of the answer.
 *
 *   requests_open() ---> sent ---> begun: the stream has its first byte ---> whole ---> answered
 *                                     \____ answered: the peer answers what it cannot have read
 *
 * A request has begun with its first byte: a peer may end over a message that it has in part.
 *
 * A number is a slot (13 bits) and how often that was used (18 bits), under a mask that is random
 * for each connection.  So an answer that comes twice, or to a request of long ago or of another
 * connection, is known as strange; the latter but for a chance of (requests out) / 2^30.  It is
 * below 2^31, for peers whose integers have a sign.  Our numbers and those of the peer's own
 * requests have nothing to do with each other.
 *
 * Pure; thread: the loop's that owns the connection. */
#ifndef ERGON_RPC_REQUESTS_H
#define ERGON_RPC_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REQUESTS_MAX = 8192 /* that wait for their answer at a time */ };

struct request {
    void *waiter;        /* borrowed; NULL: the slot is free */
    uint64_t begin, end; /* places of its first byte, and behind its last, in the output */
    uint32_t generation; /* of its slot */
    uint32_t next;       /* slot: of those that are on their way, or free */
};

/* All zero: none, and no mask. */
struct requests {
    struct request *slots; /* malloc'ed */
    uint32_t room, used;   /* slots; of these, those that were ever used */
    uint32_t free;         /* slot + 1; 0: none */
    uint32_t first, last;  /* on their way to the stream, in order: slot + 1; 0: none */
    uint32_t out;          /* that are not answered */
    uint32_t mask;         /* of their numbers */
};

/* `random`: 30 bits of it become the mask. */
void requests_init(struct requests *q, uint64_t random);
void requests_fini(struct requests *q);

/* A number for a request whose answer `waiter` waits for, which is not NULL; its bytes are still to
 * be written.  0: REQUESTS_MAX are out, or there is no memory. */
uint32_t requests_open(struct requests *q, void *waiter);

/* Its bytes were committed, at [begin, end) of the output.  Called in the order of their places. */
void requests_sent(struct requests *q, uint32_t number, uint64_t begin, uint64_t end);

/* The stream has taken the output up to this place: the waiter of the next request that it has a
 * byte of, and that was not returned here yet; NULL: no more. */
void *requests_begun(struct requests *q, uint64_t handed);

/* The waiter for the answer to this request; NULL: it is none of ours, or was answered.  `*early`:
 * the stream, which has taken the output up to `handed`, does not have all of it. */
void *requests_find(const struct requests *q, uint64_t number, uint64_t handed, bool *early);

/* It was answered: its number is free.  It is one that requests_find() knows, and not early;
 * requests_begun() has returned it. */
void requests_close(struct requests *q, uint32_t number);

#endif
