/* Heads of Gearman's packets: "\0REQ" or "\0RES", kind, length of what follows. */
#ifndef ERGON_PEERS_GEARMAN_H
#define ERGON_PEERS_GEARMAN_H

#include <stddef.h>

#include "tests/bench/peers/common/socket.h"

#define GEARMAN_REQUEST "\0REQ"

enum {
    GEARMAN_HEAD = 12,

    GEARMAN_CAN_DO = 1,
    GEARMAN_PRE_SLEEP = 4,
    GEARMAN_NOOP = 6,
    GEARMAN_SUBMIT_JOB = 7,
    GEARMAN_JOB_CREATED = 8,
    GEARMAN_GRAB_JOB = 9,
    GEARMAN_NO_JOB = 10,
    GEARMAN_JOB_ASSIGN = 11,
    GEARMAN_WORK_COMPLETE = 13,
    GEARMAN_SUBMIT_JOB_BG = 18,
};

static inline void gearman_head(char *to, const char *magic, uint32_t kind, size_t len)
{
    memcpy(to, magic, 4);
    be32_put(to + 4, kind);
    be32_put(to + 8, (uint32_t)len);
}

static inline uint32_t gearman_kind(const char *head)
{
    return be32_get(head + 4);
}

/* Of the whole packet. */
static inline size_t gearman_size(const char *head)
{
    return GEARMAN_HEAD + (size_t)be32_get(head + 8);
}

#endif
