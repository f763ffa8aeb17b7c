/* What each tenant keeps: its jobs that have ended, in the order of their end; and the tenant that
 * keeps the most.  Jobs that failed or are dead are kept apart from the others, so that neither
 * kind pushes out the other.
 *
 * A tenant's part is what its kept jobs take, in bytes, each of them counted for `least` at least.
 * So a tenant that fills the number of jobs counts for as much as one that fills their memory.
 *
 * Adding, removing and weighing cost O(1) for the tenant that keeps the most, or more than before,
 * and else O(log n) amortised for n tenants; nothing takes memory.  Thread: the jobs'. */
#ifndef ERGON_JOBS_KEPT_H
#define ERGON_JOBS_KEPT_H

#include "base/counter.h"
#include "server/jobs/core/job.h"

enum kept_kind { KEPT_WELL, KEPT_BADLY, KEPT_KINDS };

/* Of one tenant; zeroed to begin with. */
struct kept {
    struct pairing_node place; /* while it keeps anything and is not set aside */
    struct job_list jobs[KEPT_KINDS];
    uint64_t bytes[KEPT_KINDS];
    uint64_t part; /* by which it is placed; changed by place() in kept.c alone */
};

/* Of all of them. */
struct kept_table {
    struct pairing_heap most;
    uint64_t bytes[KEPT_KINDS];
    uint64_t least; /* bytes that a job counts for at least */
    counter shown;  /* bytes */
};

void kept_init(struct kept_table *all, uint64_t least);

/* The job has ended, and is in no list; it takes so many bytes. */
void kept_add(struct kept_table *all, struct kept *k, enum kept_kind kind, struct job *job,
              size_t bytes);
/* The job is kept, and takes so many bytes. */
void kept_remove(struct kept_table *all, struct kept *k, struct job *job, size_t bytes);
/* The job is kept; a part of it took `was` and takes `is` bytes. */
void kept_weigh(struct kept_table *all, struct kept *k, const struct job *job, size_t was,
                size_t is);
/* The job, which is kept, becomes the youngest of its list. */
void kept_put_off(struct kept *k, struct job *job);

/* Does the tenant keep this job? */
bool kept_has(const struct kept *k, const struct job *job);
/* The tenant that keeps the most; NULL: no job is kept. */
struct kept *kept_most(const struct kept_table *all);
/* Takes a tenant out of the order, so that kept_most() finds the next; and puts it back. */
void kept_set_aside(struct kept_table *all, struct kept *k);
void kept_put_back(struct kept_table *all, struct kept *k);

static inline uint64_t kept_bytes(const uint64_t bytes[KEPT_KINDS])
{
    return bytes[KEPT_WELL] + bytes[KEPT_BADLY];
}

#endif
