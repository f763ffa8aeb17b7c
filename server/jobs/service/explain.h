/* The parts of an explanation that tasks and queues share.  Thread: the jobs'. */
#ifndef ERGON_JOBS_EXPLAIN_H
#define ERGON_JOBS_EXPLAIN_H

#include <ergon/module.h>

#include "proto/pack.h"

struct job_queue;
struct jobs;

enum { EXPLAIN_TEXT_MAX = 400 /* bytes of a sentence */ };

/* One pair of a map: what the executors of this kind do. */
void explain_executors(struct jobs *jobs, enum ergon_kind kind, struct pack *p);
void explain_no_executor(const struct job_queue *q, char *text, size_t size);

#endif
