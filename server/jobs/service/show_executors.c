#include "server/jobs/service/show_executors.h"

#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/service/operation.h"
#include "server/tasks/job_source.h"
#include "server/tasks/tasks.h"

enum {
    WORKERS_SHOWN = 64,
    JOBS_SHOWN = 16, /* of each worker */
    LOOKS_MAX = 1000 /* jobs visited to find them */
};

struct shown {
    char name[24];
    const char *running;
    uint32_t outstanding, bound, parked, turning;
};

static void pack_one(struct pack *p, const struct shown *x, unsigned pairs)
{
    pack_map(p, 6 + pairs);
    pack_key_str(p, "name", x->name);
    pack_key_str(p, "running", x->running);
    pack_key_uint(p, "outstanding", x->outstanding);
    pack_key_uint(p, "bound", x->bound);
    pack_key_uint(p, "parked", x->parked);
    pack_key_uint(p, "turning", x->turning);
}

/* --- Executors of this process --- */

static bool runs(const struct executor_info *x, const struct job_queue *q)
{
    return queue_is_local(q) && x->kind == q->method->handler->kind;
}

/* Counts those of the first `reach` executors that run the queue's method. */
static uint32_t count_local(struct jobs *jobs, const struct job_queue *q, uint32_t reach)
{
    struct executor_info x;
    uint32_t count = 0;

    for (uint32_t i = 0; i < reach; i++) {
        tasks_executor_info(jobs->tasks, i, &x);
        count += runs(&x, q);
    }
    return count;
}

static void show_local(struct jobs *jobs, const struct job_queue *q, struct pack *p, uint32_t reach)
{
    struct executor_info x;

    for (uint32_t i = 0; i < reach; i++) {
        tasks_executor_info(jobs->tasks, i, &x);
        if (!runs(&x, q))
            continue;
        struct shown shown = {.running = x.running,
                              .outstanding = x.outstanding,
                              .bound = x.bound,
                              .parked = x.parked,
                              .turning = x.turning};
        memcpy(shown.name, x.name, sizeof shown.name);
        pack_one(p, &shown, 0);
    }
}

/* --- Workers --- */

struct worker {
    struct source_worker is;
    uint64_t jobs[JOBS_SHOWN]; /* ids */
    uint32_t count;
};

struct workers {
    struct worker at[WORKERS_SHOWN];
    uint32_t count;
};

static void note(struct jobs *jobs, struct workers *all, const struct job *job)
{
    char name[24];
    attempt_executor(jobs->tasks, job->attempt_task, name, sizeof name);
    for (uint32_t i = 0; i < all->count; i++) {
        struct worker *w = &all->at[i];
        if (strcmp(name, w->is.name) != 0)
            continue;
        if (w->count < JOBS_SHOWN)
            w->jobs[w->count++] = job->id;
        return;
    }
}

static bool may_see(const struct beholder *who, const struct job *job)
{
    return (!who->tenant || who->tenant == job->tenant) && operation_may_know(who->op, job);
}

/* Notes running jobs with their workers, beginning with the job that started last. */
static void note_jobs(struct jobs *jobs, const struct job_queue *q, const struct beholder *who,
                      struct workers *all)
{
    uint32_t looks = 0;
    for (const struct job *job = jobs->sched.running.last; job && looks < LOOKS_MAX;
         job = job->prev, looks++)
        if (job->queue == q && job->attempt_task && may_see(who, job))
            note(jobs, all, job);
    jobs_worked(jobs, (size_t)looks * (1 + all->count / 8));
}

static void pack_worker(struct pack *p, const struct job_queue *q, const struct worker *w)
{
    char id[ID_TEXT_SIZE];
    struct shown shown = {.running = w->is.outstanding > 0 ? (const char *)q->name.at : NULL,
                          .outstanding = w->is.outstanding,
                          .bound = w->is.slots};
    memcpy(shown.name, w->is.name, sizeof shown.name);
    pack_one(p, &shown, 1);
    pack_str(p, "tasks");
    pack_array(p, w->count);
    for (uint32_t i = 0; i < w->count; i++)
        pack_str(p, id_text(w->jobs[i], id));
}

static void look_at_workers(struct jobs *jobs, const struct job_queue *q,
                            const struct beholder *who, struct workers *all)
{
    struct source_worker is[WORKERS_SHOWN];
    uint32_t count = job_source_workers(jobs->tasks, q->method, is, WORKERS_SHOWN);

    jobs_worked(jobs, count);
    all->count = count < WORKERS_SHOWN ? count : WORKERS_SHOWN;
    for (uint32_t i = 0; i < all->count; i++)
        all->at[i].is = is[i];
    note_jobs(jobs, q, who, all);
}

void show_executors(struct jobs *jobs, const struct job_queue *q, const struct beholder *who,
                    struct pack *p)
{
    const struct method *m = q->method;
    struct workers workers = {.count = 0};
    struct tasks_info all;

    if (m && (method_of_workers(m) || m->joined) && queue_runs(q))
        look_at_workers(jobs, q, who, &workers);
    tasks_info(jobs->tasks, &all);
    pack_str(p, "executors");
    pack_array(p, count_local(jobs, q, all.executors) + workers.count);
    show_local(jobs, q, p, all.executors);
    for (uint32_t i = 0; i < workers.count; i++)
        pack_worker(p, q, &workers.at[i]);
}
