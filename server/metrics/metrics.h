/* What Prometheus and its like read of a running server, in either format of text.h.
 *
 * All figures are counters that their threads publish; none is asked for, and no serving loop
 * notices.  So each is true by itself, and sums may be off by what happened meanwhile.  The
 * families are listed in docs/metrics.md.
 *
 * Thread: any, one at a time, while the topology runs. */
#ifndef ERGON_METRICS_METRICS_H
#define ERGON_METRICS_METRICS_H

#include "server/metrics/text.h"
#include "server/rpc/rpc.h"

struct metrics;

enum {
    METRICS_METHODS = 200, /* that have series of their own; the others are "_other" */
    METRICS_ACCOUNTS = 100 /* the same of principals */
};

/* `shared` is borrowed, and stays as long.  NULL without memory. */
struct metrics *metrics_new(const struct rpc_shared *shared);
void metrics_free(struct metrics *m); /* NULL is fine */

/* Clears `out` and writes everything into it, in its format.  False without memory: then `out` is
 * not to be used. Blocks for as long as a file of /proc takes to be read. */
bool metrics_write(struct metrics *m, struct metrics_text *out);

#endif
