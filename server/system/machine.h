/* How much of the machine this process may use: processors, memory and open files, as its affinity,
 * its control groups (version 1 or 2) and its limits say.
 *
 * Any thread.  These functions read files under /proc and /sys: call them at the start. */
#ifndef ERGON_MACHINE_H
#define ERGON_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- processors ---- */

/* The smaller of the affinity and the quota of the control groups; at least 1. */
unsigned cpus_count(void);

/* True: `threads` threads may run all the time, since there is a processor for each, and no quota
 * that they would use up. */
bool cpus_spare(unsigned threads);

/* The quota of the control groups that /proc/self/cgroup below `root` names (`root` is "" for the
 * real one), rounded up to whole processors.  The tightest quota of a group and its parents counts.
 * 0: there is no quota. */
unsigned cpus_quota(const char *root);

/* The quota of one group, in processors; pure functions.  `max` is the content of cpu.max (version
 * 2). 0: there is no quota. */
unsigned cpus_quota_v2(const char *max);
unsigned cpus_quota_v1(int64_t quota_us, int64_t period_us);

/* ---- memory ---- */

/* Bytes, more than 0: the memory of the machine, or less if the control groups limit it.  The files
 * are read below `root` ("" for the real ones). */
uint64_t memory_usable(const char *root);

/* ---- open files: they bound the number of connections ---- */

/* Raises the process's soft limit of open files to the hard one.  Returns the limit in force; 0: it
 * is unknown. */
uint64_t fdlimit_raise(void);

/* How many connections fit into `limit` open files, beside the files that the server itself needs.
 */
uint32_t fdlimit_connections(uint64_t limit);

#endif
