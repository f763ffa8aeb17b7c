/* What task.explain adds to a reason. */
#ifndef ERGON_JOBS_EXPLAIN_H
#define ERGON_JOBS_EXPLAIN_H

#include "server/jobs/jobs_parts.h"

enum { EXPLAIN_PLACE_MAX = 100000 /* jobs counted before "at least" */ };

struct explain_detail {
    unsigned pairs; /* of the answer's map, that `pack` adds */
    void (*pack)(struct jobs *jobs, struct job *job, struct pack *p); /* NULL: none */
    /* One sentence; NULL: the meaning of the reason says it. */
    void (*say)(struct jobs *jobs, struct job *job, char *text, size_t size);
};
extern const struct explain_detail explain_details[JOB_REASON_COUNT];

void explain_place(struct jobs *jobs, const struct job *job, struct pick_place *at);
void explain_executors(struct jobs *jobs, enum ergon_kind kind, struct pack *p); /* one pair */
void explain_no_executor(const struct job_queue *q, char *text, size_t size);

#endif
