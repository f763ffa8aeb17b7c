#include "server/jobs/sched/quarantine.h"

#include "server/jobs/sched/admission.h"

/* If a single crash makes a job dead, no job is left that ran in one: then there are no suspects.
 */
static bool is_suspect(const struct scheduler *s, const struct job *job)
{
    return job->crashes > 0 && job->crashes + 1u >= s->settings->crashes &&
           s->settings->crashes > 0;
}

static void take_place(struct scheduler *s, struct job *job)
{
    s->suspect = job;
    job_mark(job, JOB_QUARANTINED);
}

bool quarantine_take(struct scheduler *s, struct job *job)
{
    if (!is_suspect(s, job))
        return true;
    if (!s->suspect || s->suspect == job) {
        take_place(s, job);
        return true;
    }
    job_list_push(&s->suspects, job);
    job_set_state(s->table, job, JOB_WAITING, JOB_WHY_SUSPECT);
    admission_release(s, job); /* others of its keys go on */
    return false;
}

void quarantine_leave(struct scheduler *s, struct job *job)
{
    job_unmark(job, JOB_QUARANTINED);
    quarantine_returned(s, job);
}

void quarantine_returned(struct scheduler *s, const struct job *job)
{
    if (s->suspect != job || job->orphans > 0 || job_is(job, JOB_QUARANTINED))
        return;
    s->suspect = NULL;
    if (s->suspects.count > 0)
        ao_activate(s->ao);
}

/* The place stays reserved for the job that it was granted to until that has been out, or has gone
 * somewhere else. */
void quarantine_grant(struct scheduler *s)
{
    struct job *job = s->suspect ? NULL : job_list_pop(&s->suspects);
    if (!job)
        return;
    take_place(s, job);
    job_list_push(&s->granted, job);
}
