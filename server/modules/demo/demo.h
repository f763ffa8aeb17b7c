/* The parts of the module `demo`: what takes time, fails or lasts, for demonstrations, tests and
 * measurements.  A client that may call these can keep a server busy, so a server has them only on
 * request (--module demo).
 *
 * Constants: any thread. */
#ifndef ERGON_DEMO_H
#define ERGON_DEMO_H

#include <ergon/handler.h>

struct demo_part {
    const struct ergon_handler *handlers;
    size_t count;
};

extern const struct demo_part demo_waiting; /* sleep, burn, block */
extern const struct demo_part demo_lasting; /* flaky, progress, later, fan_out */

/* Registers the types of actors counter and ticker.  0, or -1. */
int demo_actors(struct ergon_module *module);

#endif
