/* A stretch of load that is measured. */
#ifndef ERGON_PEERS_WINDOW_H
#define ERGON_PEERS_WINDOW_H

#include <sys/types.h>

#include "client/bench/hdr_histogram.h"

enum { WINDOW_PIDS = 16 };

struct window_options {
    double seconds;
    double warm_up;
    pid_t pids[WINDOW_PIDS]; /* of the server, and of its workers */
    int pid_count;
};

struct window {
    double tasks;
    double seconds;
    double p50, p99, p999, max; /* us */
    double lag; /* us, of the driver behind its own arrivals, mean; in an open loop */
    /* Processor seconds.  server: with its workers; others: of whatever else the machine does. */
    double driver, server, alone, others;
};

/* Runs a load until that time of the monotonic clock; the times of the tasks that end go into
 * `times`.  False: it broke. */
typedef bool window_run(void *load, uint64_t end_ns);

/* Empties `times` first.  False: the load broke, or no task ended, which is printed.  The lag is
 * the caller's to fill in. */
bool window_measure(window_run *run, void *load, struct hdr_histogram *times,
                    const struct window_options *o, struct window *w);

void window_print_json(const struct window *w);

/* The median by rate, with the least and the highest rate.  Sorts. */
void window_print(struct window *w, size_t count);

#endif
