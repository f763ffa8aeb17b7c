/* task.wait: answers when tasks have ended, all of them or any. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

enum {
    RESULTS_MAX = 8 << 20, /* bytes of an answer after which results are left out */
    ID_WORK = 3            /* to find a job and to join it; see jobs_worked() */
};

static bool has_ended(const struct job *job)
{
    return job && !job_state_open((enum job_state)job->state);
}

static void answer(struct jobs *jobs, struct operation *op)
{
    const struct wait_arguments *wait = &op->wait;
    struct pack *p = &op->reply.result;
    char text[ID_TEXT_SIZE];
    uint32_t ended = 0;
    jobs_worked(jobs, wait->count);
    for (uint32_t i = 0; i < wait->count; i++)
        ended += has_ended(table_find(&jobs->table, wait->ids[i]));
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "ended");
    pack_array(p, ended);
    for (uint32_t i = 0; i < wait->count; i++) {
        struct job *job = table_find(&jobs->table, wait->ids[i]);
        bool whole = wait->with_result && pack_size(p) < RESULTS_MAX;
        if (has_ended(job))
            view_job(jobs, op, job, whole ? VIEW_RESULT : 0, p);
    }
    pack_str(p, "open");
    pack_array(p, wait->count - ended);
    for (uint32_t i = 0; i < wait->count; i++)
        if (!has_ended(table_find(&jobs->table, wait->ids[i])))
            pack_str(p, id_text(wait->ids[i], text));
}

static void finish(struct jobs *jobs, struct operation *op)
{
    answer(jobs, op);
    waiters_leave(op);
    operation_finish(op);
}

static uint32_t count_open(const struct operation *op)
{
    uint32_t open = 0;
    for (const struct waiter *w = op->waiting.at; w; w = w->next_of_op)
        open += !has_ended(w->job);
    return open;
}

/* `open` may be too low, since a job that had ended may have been retried: when it reaches 0, the
 * jobs are counted again. */
static void job_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    uint32_t *open = &op->waiting.open;
    (void)job;
    if (*open > 0 && --*open == 0)
        *open = count_open(op);
    if (*open == 0 || op->wait.any)
        waiters_due(jobs, op);
}

static bool knows_all(struct jobs *jobs, struct operation *op)
{
    for (uint32_t i = 0; i < op->wait.count; i++)
        if (!operation_find_job(jobs, op, op->wait.ids[i]))
            return false;
    return true;
}

static void serve(struct jobs *jobs, struct operation *op)
{
    bool memory = true;
    jobs_worked(jobs, ID_WORK * (size_t)op->wait.count);
    if (!knows_all(jobs, op))
        return;
    for (uint32_t i = 0; i < op->wait.count && memory; i++) /* ended jobs, too: so they are kept */
        memory = waiters_join(op, table_find(&jobs->table, op->wait.ids[i]));
    if (!memory) {
        waiters_leave(op);
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    uint32_t all = op->waiting.open, open = count_open(op); /* `all` counts a repeated id once */
    op->waiting.open = open;
    if (open == 0 || (op->wait.any && open < all) || !waiters_poll(jobs, op, op->wait.timeout))
        finish(jobs, op);
}

const struct operation_class operation_task_wait = {.method = method_task_wait,
                                                    .serve = serve,
                                                    .dropped = waiters_drop,
                                                    .due = finish,
                                                    .job_ended = job_ended};
