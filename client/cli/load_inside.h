/* The inside of a load run; shared by load.c (the run) and load_traffic.c (bytes of one peer). */
#ifndef ERGON_CLI_LOAD_INSIDE_H
#define ERGON_CLI_LOAD_INSIDE_H

#include "client/cli/load.h"

enum { LOAD_SCRATCH = 256 * 1024 }; /* bytes of one read */

struct load {
    const struct load_plan *plan;
    struct load_result *result;
    struct peer *peers; /* owned; plan->connections of them */
    uint64_t *slots;    /* owned; plan->in_flight for each peer */
    uint32_t *freed;    /* owned; slots of one peer whose answers came in this round */
    uint32_t freed_count;
    struct buffer frame; /* one request; its id is patched */
    struct buffer batch; /* what one peer writes in this round */
    uint8_t *scratch;    /* owned; LOAD_SCRATCH bytes */
    int epoll;
    uint32_t live; /* peers that are open */
    uint64_t in_flight;
    uint64_t start_ns;
    uint64_t progress_ns; /* when progress() was last called */
    bool sending;
};

uint64_t load_now_ns(void);

bool load_make_frame(struct load *l); /* false: out of memory */

/* Asks epoll whether there is room to write, or no longer. */
void load_watch(struct load *l, struct peer *p, bool write);

/* Sends a new request for each slot in l->freed, all in one write, and empties that list. */
void load_send_freed(struct load *l, struct peer *p);
void load_write_peer(struct load *l, struct peer *p); /* what the socket did not take before */
void load_read_peer(struct load *l, struct peer *p);  /* may close it */

#endif
