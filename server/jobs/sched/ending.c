#include "server/jobs/sched/ending.h"

#include <stdlib.h>

#include "server/jobs/sched/queueing.h"

struct job_result *job_result_of(struct job *job)
{
    if (!job->end)
        job->end = calloc(1, sizeof *job->end);
    return job->end;
}

/* Code and text lie in one block. */
void job_set_error(struct scheduler *s, struct job *job, const char *code, const char *text)
{
    size_t was = job_bytes(job);
    struct job_result *end = job_result_of(job);
    size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
    char *block = end ? malloc(code_size + text_size) : NULL;
    if (block) {
        free(end->code);
        end->code = memcpy(block, code, code_size);
        end->text = memcpy(block + code_size, text, text_size);
    }
    table_weigh(s->table, job, was);
}

void job_end(struct scheduler *s, struct job *job, enum job_state state, const char *code,
             const char *text)
{
    if (!job_is_open(job))
        return;
    job_dequeue(s, job);
    if (code)
        job_set_error(s, job, code, text);
    if (job->durable == DURABLE_NONE) {
        job_set_state(s->table, job, state, JOB_WHY_ENDED);
        return;
    }
    job->ending = (uint8_t)state;
    job->ended = table_wall(s->table);
    job_mark(job, JOB_ENDING);
    job_set_state(s->table, job, job->state == JOB_NEW ? JOB_QUEUED : (enum job_state)job->state,
                  JOB_WHY_COMMIT);
}

void job_end_saved(struct scheduler *s, struct job *job)
{
    job_set_state(s->table, job, (enum job_state)job->ending, JOB_WHY_ENDED);
    job_unmark(job, JOB_ENDING);
}
