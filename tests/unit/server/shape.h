/* A topology chosen by a seed, as a configuration says it. */
#ifndef ERGON_TESTS_UNIT_SERVER_SHAPE_H
#define ERGON_TESTS_UNIT_SERVER_SHAPE_H

#include "server/tasks/tasks.h"

enum { SHAPE_LISTED_MAX = 5, SHAPE_YAML_MAX = 4096 };

struct shape {
    uint32_t loops;
    bool unix_too; /* a second listener, at a Unix socket */
    bool own_manager;
    bool short_cut;
    enum placement_policy policy;
    const char *idle;    /* name of the mode */
    uint32_t queue;      /* of each executor */
    uint32_t parked;     /* of each stepped executor */
    uint32_t blocking;   /* unless executors are listed */
    uint32_t listed;     /* executors listed; 0: the default ones */
    uint32_t kinds;      /* of those: bit i set, the i-th is blocking */
    uint32_t placements; /* of those: bit i set, the i-th says its loop or core */
    uint32_t executors;  /* that there must be */
    bool store;          /* what is submitted is durable */
};

struct shape shape_of(uint64_t seed);

/* As YAML.  `directory` is where a Unix socket and a store may stand. */
void shape_yaml(const struct shape *s, const char *directory, char *buf, size_t size);

#endif
