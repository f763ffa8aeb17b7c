/* The parts of an explanation that tasks and queues share.  Thread: the jobs'. */
#ifndef ERGON_JOBS_EXPLAIN_H
#define ERGON_JOBS_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

struct job_queue;
struct jobs;

enum { EXPLAIN_TEXT_MAX = 400 /* bytes of a sentence */ };

/* Writes that the workers of the queue keep dying.  False: its pool does not rest, and nothing is
 * written. */
bool explain_rest(const struct jobs *jobs, const struct job_queue *q, char *text, size_t size);
void explain_no_executor(const struct jobs *jobs, const struct job_queue *q, char *text,
                         size_t size);

#endif
