/* server.audit, done in small steps.  Thread: the jobs'. */
#ifndef ERGON_JOBS_AUDIT_H
#define ERGON_JOBS_AUDIT_H

#include <stdbool.h>

struct audit;
struct jobs;

/* The audit that is under way; NULL: none is. */
struct audit **jobs_audit(struct jobs *jobs);

/* Does a small step.  True: nothing is left to do, or nothing before the store has counted rows. */
bool audit_go_on(struct jobs *jobs);
/* Answers the operations that wait for the audit DRAINING. */
void audit_stop(struct jobs *jobs);

#endif
