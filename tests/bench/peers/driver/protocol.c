#include "tests/bench/peers/driver/protocol.h"

#include <string.h>

static const struct protocol *const all[] = {
    &protocol_msgpack_rpc,
    &protocol_gearman,
    &protocol_beanstalk,
    &protocol_nats,
    &protocol_redis,
    &protocol_tarantool,
    &protocol_memcached,
    &protocol_packet4,
    &protocol_submit,
    &protocol_submit_fsync,
    &protocol_redis_push,
    &protocol_beanstalk_put,
    &protocol_gearman_background,
    &protocol_nats_stream,
};

const struct protocol *protocol_at(size_t index)
{
    return index < sizeof all / sizeof *all ? all[index] : NULL;
}

const struct protocol *protocol_find(const char *name)
{
    const struct protocol *p;

    for (size_t i = 0; (p = protocol_at(i)); i++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
