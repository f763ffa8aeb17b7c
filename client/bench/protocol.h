/* What the load generator needs of a protocol: how a connection begins, how a request is asked for,
 * and how its end shows in what comes back.  Functions of a protocol keep nothing, and write only
 * where they are told to; `work` is the protocol's own, made before the load and the same for all
 * of its threads. */
#ifndef ERGON_BENCH_PROTOCOL_H
#define ERGON_BENCH_PROTOCOL_H

#include "client/bench/outgoing.h"
#include "proto/scanner.h"

enum { ANSWER_CODE_SIZE = 33 };

/* One request of one connection.  A slot is taken again as soon as its request has ended. */
struct request {
    const void *work;
    uint32_t connection;
    uint32_t slot;
    uint32_t call;       /* which of the calls of a mix it is; 0 without a mix */
    uint64_t number;     /* no other request has it, of an earlier run neither */
    struct span payload; /* of the size that was drawn; stays where it is while the load exists */
};

enum answer_kind {
    ANSWER_PARTIAL, /* more bytes are needed to tell */
    ANSWER_NONE,    /* a message that ends no request */
    ANSWER_STAGE,   /* the request of that slot was accepted, and goes on */
    ANSWER_GOOD,    /* ends a request */
    ANSWER_ERROR,   /* ends a request with an error */
    ANSWER_WRONG,   /* not what this protocol answers to such a request */
};

struct answer {
    struct outgoing *out; /* the next command may be added to it, at most OUTGOING_COPY_MAX bytes */
    uint32_t connection;  /* whose answer it is */
    size_t size;          /* of the whole message, which may reach beyond the bytes at hand */
    uint32_t slot;        /* of the request that it ends; unused when the protocol is ordered */
    char code[ANSWER_CODE_SIZE]; /* set for ANSWER_ERROR */
};

enum welcome {
    WELCOME_PARTIAL, /* more bytes are needed */
    WELCOME_DONE,    /* requests may follow */
    WELCOME_DENIED,  /* the server refused the credentials: `why` */
    WELCOME_WRONG    /* not this protocol: `why` */
};

struct protocol {
    const char *name; /* for people */
    bool ordered;     /* requests of a connection end in the order in which they were asked for */
    /* Bytes that the server sends when a connection opens, which nobody looks at. */
    size_t greeting;

    /* Adds what a connection begins with; of `r`, slot and number are not set.  NULL: nothing. */
    void (*hello)(const struct request *r, struct outgoing *out);

    /* Looks at all that has come as an answer to that, at first at nothing.  NULL: none is waited
     * for. */
    enum welcome (*welcome)(const void *work, struct span bytes, char *why, size_t why_size);

    void (*request)(const struct request *r, struct outgoing *out);

    /* Looks at the message at the front of `n` > 0 bytes.  After ANSWER_PARTIAL it is called with
     * the same bytes and more.  `scanner` belongs to the connection, and stands at the start of a
     * value; so must it after each other answer. */
    enum answer_kind (*parse)(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a);
};

#endif
