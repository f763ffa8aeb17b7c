/* Suspects: tasks that the next crash of the server would make dead.
 *
 * Whatever ran at a crash may have caused it.  So that the one that did dies alone, and takes no
 * neighbours along, at most one suspect of the whole server is out at a time; what is no suspect
 * runs beside it.  The place is held from the pick until the attempt has really returned, also when
 * it outlived its timeout, and goes on in order of arrival. */
#include "server/jobs/jobs_parts.h"

enum { GO_ON_BUDGET = 256 /* jobs queued again, a step */ };

/* With a single crash allowed nobody ran in one and may still run: then all are alike. */
static bool is_suspect(const struct jobs *jobs, const struct job *job)
{
    return job->crashes > 0 && job->crashes + 1u >= jobs->options.crashes_max &&
           jobs->options.crashes_max > 0;
}

bool quarantine_take(struct jobs *jobs, struct job *job)
{
    if (!is_suspect(jobs, job))
        return true;
    if (!jobs->suspect || jobs->suspect == job) {
        jobs->suspect = job;
        job_mark(job, JOB_SUSPECT);
        return true;
    }
    job_list_push(&jobs->suspects, job);
    job_set_state(jobs, job, JOB_WAITING, JOB_WHY_SUSPECT);
    admission_release(jobs, job); /* others of its keys go on */
    return false;
}

/* A stray keeps the place of its job. */
void quarantine_leave(struct jobs *jobs, struct job *job)
{
    job_unmark(job, JOB_SUSPECT);
    quarantine_returned(jobs, job);
}

void quarantine_returned(struct jobs *jobs, const struct job *job)
{
    if (jobs->suspect != job || job->strays > 0 || job_is(job, JOB_SUSPECT))
        return;
    jobs->suspect = NULL;
    if (jobs->suspects.count > 0)
        ao_activate(&jobs->ao);
}

/* The place stands reserved for whom it was granted to until that one has been out, or has gone
 * somewhere else. */
bool quarantine_go_on(struct jobs *jobs)
{
    struct job *job;
    for (int budget = GO_ON_BUDGET; budget > 0; budget--) {
        if (jobs->suspect || !(job = job_list_pop(&jobs->suspects)))
            return true;
        jobs->suspect = job;
        job_mark(job, JOB_SUSPECT);
        job_enqueue(jobs, job, true);
    }
    return false;
}
