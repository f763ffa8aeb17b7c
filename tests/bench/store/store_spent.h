/* What a row of the store's benchmark costs: time, the writer's processor time, bytes and calls
 * written, commits; and what the file system alone would do. */
#ifndef ERGON_BENCH_STORE_SPENT_H
#define ERGON_BENCH_STORE_SPENT_H

#include "server/store/store.h"

/* Only differences between two of them mean anything. */
struct spent {
    double ns;           /* by the monotonic clock */
    double writer_us;    /* processor time of all threads but the one that asks */
    double bytes, calls; /* written by the process; 0 where the system does not tell */
    double commits;
};

/* Thread: the store's client. */
struct spent spent_so_far(const struct store *store);

/* Appends of `batch` records of 128 bytes with an fdatasync after each, until `total` records or
 * two seconds: thousands of records a second.  The file at `path` is made anew, and removed. Blocks
 * on the disk; ends the program when that fails. */
double raw_rate(const char *path, uint32_t batch, uint64_t total);

#endif
