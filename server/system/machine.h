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

/* May `threads` of ours run all the time?  There is a processor for each, and no quota that they
 * would use up. */
bool cpus_spare(unsigned threads);

/* The quota of the control groups that /proc/self/cgroup below `root` names ("" for the real one),
 * rounded up to whole processors; the tightest of the group and its parents counts.  0: no quota.
 */
unsigned cpus_quota(const char *root);

/* The same for one text each; pure.  0: no quota.  `max` is the content of cpu.max (version 2). */
unsigned cpus_quota_v2(const char *max);
unsigned cpus_quota_v1(int64_t quota_us, int64_t period_us);

/* ---- memory ---- */

/* Bytes; more than 0: the machine's, or less where the control groups say so.  It reads files below
 * `root` ("" for the real ones). */
uint64_t memory_usable(const char *root);

/* ---- open files: they bound the number of connections ---- */

/* Raises the process's soft limit to the hard one; returns the limit in force, 0 if it is unknown.
 */
uint64_t fdlimit_raise(void);

/* How many connections fit below `limit` open files, after what the server needs for itself. */
uint32_t fdlimit_connections(uint64_t limit);

#endif
