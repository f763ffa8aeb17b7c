/* A closed loop: each connection keeps `depth` tasks in flight, and asks for a new one where one
 * has ended.  One thread; what a read brought is answered by one write. */
#ifndef ERGON_PEERS_LOAD_H
#define ERGON_PEERS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/peers/driver/histogram.h"
#include "tests/bench/peers/driver/protocol.h"

enum { LOAD_DEPTH_MAX = 256 };

struct load_options {
    const struct protocol *protocol;
    struct shape shape;
    uint16_t port; /* of this machine */
    uint32_t connections;
    uint32_t depth; /* at most LOAD_DEPTH_MAX; in an open loop what is due waits when all are in
                       flight */
    bool tls;
    double rate; /* tasks a second; 0: a closed loop */
};

struct load;

/* Connects all, blocking.  NULL after it has said on stderr what went wrong, as all of these do. */
struct load *load_open(const struct load_options *options);
void load_close(struct load *l);

/* Runs for so long; times go into `record` unless it is NULL.  Tasks stay in flight at the end.
 * False: it broke. */
bool load_run(struct load *l, uint64_t ns, struct histogram *record);

/* Asks for no more and takes what is in flight.  False: it broke, or the answers do not come. */
bool load_drain(struct load *l);

/* How long after it was due a task was asked for, mean in ns since the last call. */
double load_lag(struct load *l);

#endif
