/* server.audit, under way in small steps.  Thread: the jobs'. */
#ifndef ERGON_JOBS_AUDIT_H
#define ERGON_JOBS_AUDIT_H

#include <stdbool.h>

struct jobs;

/* A small step.  True: there is nothing to do, or the store has it. */
bool audit_go_on(struct jobs *jobs);
/* The operations that wait for the audit are answered DRAINING. */
void audit_stop(struct jobs *jobs);

#endif
