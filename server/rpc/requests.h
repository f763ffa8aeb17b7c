/* Requests that we send over one connection: which number belongs to whom who waits for the answer.
 *
 *   requests_open() ---> sent ---> handed over, whole ---> answered: the number is free
 *                          \____ answered: the peer answers what it cannot have read
 *
 * A number is a slot (13 bits) and how often that was used (18 bits), so an answer that comes
 * twice, or to a request of long ago, is known as strange.  It is below 2^31, for peers whose
 * integers have a sign.  Our numbers and those of the peer's own requests have nothing to do with
 * each other.
 *
 * Pure; thread: the loop's that owns the connection. */
#ifndef ERGON_RPC_REQUESTS_H
#define ERGON_RPC_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REQUESTS_MAX = 8192 /* that wait for their answer at a time */ };

struct request {
    void *waiter;        /* borrowed; NULL: the slot is free */
    uint64_t end;        /* its last byte's place in the output of the connection */
    uint32_t generation; /* of its slot */
    uint32_t next;       /* slot: of those that are on their way, or free */
    bool handed;         /* the stream has all of it */
};

/* All zero: none. */
struct requests {
    struct request *slots; /* malloc'ed */
    uint32_t room, used;   /* slots; of these, those that were ever used */
    uint32_t free;         /* slot + 1; 0: none */
    uint32_t first, last;  /* on their way to the stream, in order: slot + 1; 0: none */
    uint32_t out;          /* that are not answered */
};

void requests_fini(struct requests *q);

/* A number for a request whose answer `waiter` waits for, which is not NULL; its bytes are still to
 * be written.  0: REQUESTS_MAX are out, or there is no memory. */
uint32_t requests_open(struct requests *q, void *waiter);

/* Its bytes were committed, and end at this place of the output.  In the order of their places. */
void requests_sent(struct requests *q, uint32_t number, uint64_t end);

/* The stream has taken the output up to this place: who waits for the next request that it has all
 * of, and was not told of yet; NULL: no more. */
void *requests_handed(struct requests *q, uint64_t handed);

/* Who waits for the answer to this request; NULL: it is none of ours, or was answered.  `*early`:
 * requests_handed() has not told of it yet. */
void *requests_find(const struct requests *q, uint64_t number, bool *early);

/* It was answered: its number is free.  It is one that requests_find() knows, and not early. */
void requests_close(struct requests *q, uint32_t number);

#endif
