/* The transitions of a job.  job_set_state() is the one function that changes a state; it holds the
 * change against the table of legal ones, keeps the counts, writes the history, and records the
 * effects.  It has no other consequence: no answer goes out, no row is written, no other job moves
 * before effects_apply().
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_TRANSITIONS_H
#define ERGON_JOBS_TRANSITIONS_H

#include <assert.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/table.h"

/* The change must be a legal one: that is asserted. */
void job_set_state(struct job_table *table, struct job *job, enum job_state state,
                   enum job_reason reason);

/* Something happened to the job that its state does not tell: one effect at least.  They add up. */
static inline void job_effect(struct job_table *table, struct job *job, unsigned effects)
{
    assert(effects);
    if (!job->effects) {
        job->next_effect = NULL;
        *(table->effects ? &table->effects_last->next_effect : &table->effects) = job;
        table->effects_last = job;
    }
    job->effects = (uint8_t)(job->effects | effects);
}

/* Takes out the first job that has effects; *effects is set to them, and the job has none any more.
 * NULL: no job has effects. */
static inline struct job *job_next_effect(struct job_table *table, unsigned *effects)
{
    struct job *job = table->effects;
    if (job) {
        table->effects = job->next_effect;
        *effects = job->effects;
        job->effects = 0;
    }
    return job;
}

/* An event of its history.  `seq`, `at` and `attempt` of the event are filled in; text NULL: none.
 */
void job_note(struct job_table *table, struct job *job, enum job_event what, const char *text);
void job_note_event(struct job_table *table, struct job *job, struct history_event event);

#endif
