/* The protocols that the driver speaks.  For all but MessagePack-RPC, the work of a request is a
 * struct shape. */
#ifndef ERGON_PEERS_PROTOCOL_H
#define ERGON_PEERS_PROTOCOL_H

#include <string.h>

#include "client/bench/protocol.h"

/* What every task of a run looks like. */
struct shape {
    const char *method; /* handler, function or subject to call */
    size_t payload;     /* bytes */
    uint64_t keys;      /* of protocols that name one: so many, see keys.h */
    bool in_order;      /* one key after the other, instead of by chance */
};

struct driver_protocol {
    const char *name;
    const char *task;   /* what one task is, in words */
    const char *method; /* handler, function or subject to call, unless another is given */
    const struct protocol *wire;
    const char
        *submitted; /* RPC alone: the task is submitted with these options, raw; NULL: called */
};

extern const struct protocol protocol_gearman, protocol_beanstalk, protocol_nats, protocol_redis,
    protocol_tarantool, protocol_memcached, protocol_packet4;

/* A number is added to that of a key: an actor, a gen_server, a key of Redis.  And a task.call with
 * a priority, which an actor's call is compared with. */
extern const struct protocol protocol_actor_call, protocol_actor_tell, protocol_task_call,
    protocol_packet4_add, protocol_redis_incr;

/* A task goes through a queue to a worker, and its answer through another to who asked. */
extern const struct protocol protocol_redis_queue, protocol_beanstalk_queue;

/* A task is submitted, and has ended when the server says that it is kept. */
extern const struct protocol protocol_redis_push, protocol_beanstalk_put,
    protocol_gearman_background, protocol_nats_stream, protocol_redis_wait, protocol_redis_wait_16;

/* NULL: there is none of that name. */
const struct driver_protocol *protocol_find(const char *name);
const struct driver_protocol *protocol_at(size_t index);

/* Takes in `head` bytes that stand at outgoing_at(), and adds payload and tail.  Inline, so that
 * the lengths of texts are known when it is compiled. */
static inline __attribute__((always_inline)) void
protocol_add(struct outgoing *out, size_t head, struct span payload, const char *tail)
{
    outgoing_wrote(out, head);
    outgoing_add(out, payload.at, payload.len);
    if (*tail != 0)
        outgoing_add(out, tail, strlen(tail));
}

#endif
