/* Which methods are the busiest: for figures that have no room for all.
 *
 * Any thread: the counters are read as they are. */
#ifndef ERGON_TASKS_METHOD_RANKS_H
#define ERGON_TASKS_METHOD_RANKS_H

#include <stdbool.h>
#include <stdint.h>

struct tasks;

struct method_rank {
    uint32_t index;
    uint64_t calls;
};

/* The first `methods` methods by their tasks, the busiest first, to `ranks`, which has room for as
 * many; of two that are equal the older one.  Methods without tasks are left out: returns how many
 * it has written.  `ended`: only tasks that have ended count; else those that run or were refused,
 * too. */
uint32_t method_ranks(const struct tasks *tasks, uint32_t methods, bool ended,
                      struct method_rank *ranks);

#endif
