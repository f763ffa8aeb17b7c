/* The jobs as the manager's source of work (server/tasks/job_source.h).  Thread: the manager's,
 * which is the jobs'. */
#ifndef ERGON_JOBS_SOURCE_H
#define ERGON_JOBS_SOURCE_H

struct jobs;

/* Set-up: makes the jobs the source of their manager. */
void source_connect(struct jobs *jobs);

#endif
