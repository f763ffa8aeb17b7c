/* How many processors this process may use: the smaller of its affinity and of the quota of its
 * control group, version 1 or 2.  It reads files under /proc and /sys, so it is asked at the
 * start.  Any thread. */
#ifndef ERGON_CPUS_H
#define ERGON_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/* At least 1. */
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

#endif
