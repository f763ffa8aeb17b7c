/* What the driver needs of a protocol: how a task is asked for, and how its end shows in what comes
 * back. */
#ifndef ERGON_PEERS_PROTOCOL_H
#define ERGON_PEERS_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROTOCOL_BYTES_MAX =
        1024, /* of hello, head, tail and follow-up each, and of an answer's head */
};

/* What every task of a run looks like. */
struct shape {
    const char *method; /* handler, function or subject to call */
    size_t payload;     /* bytes */
};

/* One task of one connection.  A slot is taken again as soon as its task has ended. */
struct place {
    uint32_t connection;
    uint32_t slot;
    uint64_t number; /* no other task has it, of an earlier run of the driver neither */
};

enum answer_kind {
    ANSWER_PARTIAL, /* more bytes are needed to tell */
    ANSWER_NONE,    /* a message that ends no task */
    ANSWER_TASK,    /* ends a task */
    ANSWER_WRONG,   /* an error of the server's, or not this protocol */
};

struct answer {
    size_t size;     /* of the whole message, which may reach beyond the bytes at hand */
    uint32_t slot;   /* of the task that it ends; unused when the protocol is ordered */
    char *follow;    /* PROTOCOL_BYTES_MAX bytes to write at once what the next command is … */
    size_t followed; /* … and how many it has */
};

struct protocol {
    const char *name;
    const char *task;   /* what one task is, in words */
    const char *method; /* unless another is given */
    bool ordered;       /* tasks of a connection end in the order in which they were asked for */
    bool bare;          /* a request carries no payload */
    uint8_t stamp;      /* the first bytes of the payload, which head() writes itself */
    size_t greeting;    /* bytes that the server sends when a connection opens */

    /* Bytes to send when a connection opens; where they end with the payload, `payload` says so.
     * NULL: none. */
    size_t (*hello)(const struct shape *s, uint32_t connection, char *to);
    bool hello_payload; /* the payload and CRLF follow hello */

    /* What stands before and after the payload of a request. */
    size_t (*head)(const struct shape *s, struct place p, char *to);
    const char *tail;

    /* Looks at the message in front of `n` > 0 bytes. */
    enum answer_kind (*parse)(const struct shape *s, const char *at, size_t n, struct answer *a);
};

extern const struct protocol protocol_msgpack_rpc, protocol_gearman, protocol_beanstalk,
    protocol_nats, protocol_redis, protocol_tarantool, protocol_memcached, protocol_packet4;

/* A task is submitted, and has ended when the server says that it is kept. */
extern const struct protocol protocol_submit, protocol_submit_fsync, protocol_redis_push,
    protocol_beanstalk_put, protocol_gearman_background, protocol_nats_stream;

/* NULL: there is none of that name. */
const struct protocol *protocol_find(const char *name);
const struct protocol *protocol_at(size_t index);

#endif
