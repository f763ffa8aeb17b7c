#include "tests/bench/peers/driver/protocol.h"

#include "client/bench/rpc.h"

static const struct driver_protocol all[] = {
    {"msgpack-rpc", "call of a method that gives back its parameter", "echo", &RPC},
    {"gearman", "SUBMIT_JOB to WORK_COMPLETE, by way of a worker", "echo", &protocol_gearman},
    {"beanstalk", "put and reserve, then delete, on one connection; no result", "",
     &protocol_beanstalk},
    {"nats", "request and reply, by way of a responder", "echo", &protocol_nats},
    {"redis", "ECHO", "", &protocol_redis},
    {"tarantool", "CALL of a procedure that gives back its argument", "echo", &protocol_tarantool},
    {"memcached", "mg k v: the answer carries the payload, the request does not", "",
     &protocol_memcached},
    {"packet4", "echo of a packet", "", &protocol_packet4},
    {"submit", "task.submit", "echo", &protocol_submit},
    {"submit-fsync", "task.submit with durable: fsync", "echo", &protocol_submit_fsync},
    {"redis-push", "RPUSH", "", &protocol_redis_push},
    {"beanstalk-put", "put", "", &protocol_beanstalk_put},
    {"gearman-background", "SUBMIT_JOB_BG", "echo", &protocol_gearman_background},
    {"nats-stream", "message to a stream, and its acknowledgement", "tasks", &protocol_nats_stream},
};

const struct driver_protocol *protocol_at(size_t index)
{
    return index < sizeof all / sizeof *all ? &all[index] : NULL;
}

const struct driver_protocol *protocol_find(const char *name)
{
    const struct driver_protocol *p;

    for (size_t i = 0; (p = protocol_at(i)); i++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
