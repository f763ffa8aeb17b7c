#include "tests/bench/peers/driver/protocol.h"

#include "client/bench/rpc.h"

static const struct driver_protocol all[] = {
    {"msgpack-rpc", "call of a method that gives back its parameter", "echo", &RPC, NULL},
    {"gearman", "SUBMIT_JOB to WORK_COMPLETE, by way of a worker", "echo", &protocol_gearman, NULL},
    {"beanstalk", "put and reserve, then delete, on one connection; no result", "",
     &protocol_beanstalk, NULL},
    {"nats", "request and reply, by way of a responder", "echo", &protocol_nats, NULL},
    {"redis", "ECHO", "", &protocol_redis, NULL},
    {"tarantool", "CALL of a procedure that gives back its argument", "echo", &protocol_tarantool,
     NULL},
    {"memcached", "mg k v: the answer carries the payload, the request does not", "",
     &protocol_memcached, NULL},
    {"packet4", "echo of a packet", "", &protocol_packet4, NULL},
    {"actor-call", "actor.call of a counter", "add", &protocol_actor_call, NULL},
    {"actor-tell", "actor.tell to a counter", "add", &protocol_actor_tell, NULL},
    {"task-call", "task.call with a priority", "echo", &protocol_task_call, NULL},
    {"packet4-add", "call of a gen_server that counts", "", &protocol_packet4_add, NULL},
    {"redis-incr", "INCR", "", &protocol_redis_incr, NULL},
    {"redis-queue", "LPUSH, BRPOP from a list of answers, by way of a worker", "",
     &protocol_redis_queue, NULL},
    {"beanstalk-queue", "put, reserve from a tube of answers, delete, by way of a worker", "",
     &protocol_beanstalk_queue, NULL},
    {"submit", "task.submit", "echo", &RPC, "\x80"},
    {"submit-fsync", "task.submit with durable: fsync", "echo", &RPC,
     "\x81\xa7"
     "durable"
     "\xa5"
     "fsync"},
    {"submit-replicated", "task.submit with durable: replicated", "echo", &RPC,
     "\x81\xa7"
     "durable"
     "\xaa"
     "replicated"},
    {"redis-push", "RPUSH", "", &protocol_redis_push, NULL},
    {"redis-wait", "RPUSH, then WAIT 1", "", &protocol_redis_wait, NULL},
    {"redis-wait-16", "sixteen RPUSH, then WAIT 1", "", &protocol_redis_wait_16, NULL},
    {"beanstalk-put", "put", "", &protocol_beanstalk_put, NULL},
    {"gearman-background", "SUBMIT_JOB_BG", "echo", &protocol_gearman_background, NULL},
    {"nats-stream", "message to a stream, and its acknowledgement", "tasks", &protocol_nats_stream,
     NULL},
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
