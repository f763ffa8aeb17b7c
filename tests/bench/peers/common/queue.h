/* Tasks by way of a queue that knows no answers: in front of the payload stand the name of the list
 * or tube where whoever asked waits for the answer, and his slot. */
#ifndef ERGON_PEERS_QUEUE_H
#define ERGON_PEERS_QUEUE_H

#include <stdint.h>
#include <string.h>

enum {
    QUEUE_NAME = 6,               /* digits: of the connection */
    QUEUE_STAMP = QUEUE_NAME + 4, /* and the slot */
};

/* Of a key in Redis: its length, and what stands in front of the name. */
#define QUEUE_REDIS_KEY "8\r\nr:"

/* The decimal digits of `v`, below a million. */
static inline void queue_name(char *to, uint32_t v)
{
    for (int i = QUEUE_NAME - 1; i >= 0; i--, v /= 10)
        to[i] = (char)('0' + v % 10);
}

static inline void queue_stamp(char *to, uint32_t connection, uint32_t slot)
{
    queue_name(to, connection);
    memcpy(to + QUEUE_NAME, &slot, sizeof slot);
}

static inline uint32_t queue_slot(const char *stamp)
{
    uint32_t slot;

    memcpy(&slot, stamp + QUEUE_NAME, sizeof slot);
    return slot;
}

#endif
