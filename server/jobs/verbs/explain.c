/* task.explain: the scheduler recorded the reason when the job's state changed; the words and the
 * figures that belong to it are looked up now. */
#include "server/jobs/actors/actors.h"
#include "server/jobs/verbs/explain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/pool_rest.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/verbs/view.h"
#include "server/tasks/job_source.h"
#include "server/tasks/tasks.h"

enum {
    NAMED_MAX = 16,
    AWAITED_LOOK = 1000, /* jobs visited to find those that wait for one */
    PLACE_MAX = 10000,   /* jobs visited to count a position; where that is too few: "at least" */
    WORKERS_SHOWN = 64,
    JOBS_SHOWN = 16,   /* of each worker */
    RUNNING_MAX = 1000 /* jobs visited to find them */
};

/* --- The executors of a queue: those of this process --- */

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

static bool runs_queue(const struct executor_info *x, const struct job_queue *q)
{
    return queue_is_local(q) && x->kind == q->method->handler->kind;
}

/* Counts those of the first `reach` executors that run the queue's method. */
static uint32_t count_local(struct jobs *jobs, const struct job_queue *q, uint32_t reach)
{
    struct executor_info x;
    uint32_t count = 0;

    for (uint32_t i = 0; i < reach; i++) {
        tasks_executor_info(jobs_tasks(jobs), i, &x);
        count += runs_queue(&x, q);
    }
    return count;
}

static void show_local(struct jobs *jobs, const struct job_queue *q, struct pack *p, uint32_t reach)
{
    struct executor_info x;

    for (uint32_t i = 0; i < reach; i++) {
        tasks_executor_info(jobs_tasks(jobs), i, &x);
        if (!runs_queue(&x, q))
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

/* --- The executors of a queue: workers --- */

struct worker {
    struct source_worker is;
    uint64_t jobs[JOBS_SHOWN]; /* ids */
    uint32_t count;
};

struct workers {
    struct worker at[WORKERS_SHOWN];
    uint32_t count;
};

static void note_job(struct jobs *jobs, struct workers *all, const struct job *job)
{
    char name[24];
    attempt_executor(jobs_tasks(jobs), job->attempt_task, name, sizeof name);
    for (uint32_t i = 0; i < all->count; i++) {
        struct worker *w = &all->at[i];
        if (strcmp(name, w->is.name) != 0)
            continue;
        if (w->count < JOBS_SHOWN)
            w->jobs[w->count++] = job->id;
        return;
    }
}

static bool may_see(const struct viewer *viewer, const struct job *job)
{
    return (!viewer->tenant || viewer->tenant == job->tenant) &&
           operation_may_know(viewer->op, job);
}

/* Notes running jobs with their workers, beginning with the job that started last. */
static void note_jobs(struct jobs *jobs, const struct job_queue *q, const struct viewer *viewer,
                      struct workers *all)
{
    uint32_t looks = 0;
    for (const struct job *job = jobs_scheduler(jobs)->running.last; job && looks < RUNNING_MAX;
         job = job->prev, looks++)
        if (job->queue == q && job->attempt_task && may_see(viewer, job))
            note_job(jobs, all, job);
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
                            const struct viewer *viewer, struct workers *all)
{
    struct source_worker is[WORKERS_SHOWN];
    uint32_t count = job_source_workers(jobs_tasks(jobs), q->method, is, WORKERS_SHOWN);

    jobs_worked(jobs, count);
    all->count = count < WORKERS_SHOWN ? count : WORKERS_SHOWN;
    for (uint32_t i = 0; i < all->count; i++)
        all->at[i].is = is[i];
    note_jobs(jobs, q, viewer, all);
}

void explain_executors(struct jobs *jobs, const struct job_queue *q, const struct viewer *viewer,
                       struct pack *p)
{
    const struct method *m = q->method;
    struct workers workers = {.count = 0};
    struct tasks_info all;

    if (m && (method_of_workers(m) || m->joined || m->spread) && queue_runs(q))
        look_at_workers(jobs, q, viewer, &workers);
    tasks_info(jobs_tasks(jobs), &all);
    pack_str(p, "executors");
    pack_array(p, count_local(jobs, q, all.executors) + workers.count);
    show_local(jobs, q, p, all.executors);
    for (uint32_t i = 0; i < workers.count; i++)
        pack_worker(p, q, &workers.at[i]);
}

/* --- Times --- */

static uint64_t ms_of(struct jobs *jobs, ao_time when)
{
    return table_wall_of(jobs_table(jobs), when) / AO_MS(1);
}

struct until {
    char text[24];
};

/* "1.5 s", "20 m", "47 h", "30 d" */
static struct until span_of_time(ao_time left)
{
    double s = (double)left / (double)AO_S(1);
    struct until u;

    if (left < AO_S(120))
        snprintf(u.text, sizeof u.text, "%.1f s", s);
    else if (left < AO_S(120 * 60))
        snprintf(u.text, sizeof u.text, "%.0f m", s / 60);
    else if (left < AO_S(48 * 3600))
        snprintf(u.text, sizeof u.text, "%.0f h", s / 3600);
    else
        snprintf(u.text, sizeof u.text, "%.0f d", s / 86400);
    return u;
}

static struct until until(const struct jobs *jobs, ao_time when)
{
    ao_time now = table_now(jobs_table(jobs));
    return span_of_time(when > now ? when - now : 0);
}

/* --- The job is queued --- */

/* A request for an explanation, and the job's position, which is counted once, since it takes time.
 */
struct question {
    struct jobs *jobs;
    const struct operation *op; /* jobs that its caller may not know of are not named */
    struct fair_place place;    /* of a job that is queued and waits for its turn */
    uint32_t before;            /* jobs before one that waits for a limit or a rate */
    bool before_is_least;       /* not all of these jobs were counted */
};

static void count_before(struct question *q, const struct job *job)
{
    if (job->reason == JOB_WHY_TURN)
        fair_place(&pool_table_of(&jobs_scheduler(q->jobs)->pools, job)->queue, job, PLACE_MAX,
                   &q->place);
    uint32_t looks = PLACE_MAX;
    q->before = limits_before(job, &looks);
    q->before_is_least = looks == 0;
    jobs_worked(q->jobs, (size_t)q->place.own + (PLACE_MAX - looks));
}

static const char *at_least(bool least)
{
    return least ? "at least " : "";
}

static void pack_ahead(const struct question *q, struct job *job, struct pack *p)
{
    pack_str(p, "ahead");
    pack_map(p, 5);
    pack_key_uint(p, "higher", q->place.higher);
    pack_key_uint(p, "own", q->place.own);
    pack_key_uint(p, "others", q->place.others);
    pack_key_uint(p, "tenants", q->place.tenants);
    pack_key_uint(p, "level", job->level);
}

static void say_turn(const struct question *q, struct job *job, char *text, size_t size)
{
    const struct fair_place *at = &q->place;

    (void)job;
    snprintf(text, size,
             "%" PRIu32 " of higher priority and %s%" PRIu32
             " of its own tenant go before it; with %" PRIu32 " of other tenants it takes turns",
             at->higher, at_least(at->own_is_least), at->own, at->others);
}

static void pack_executors(const struct question *q, struct job *job, struct pack *p)
{
    const struct viewer viewer = {.op = q->op, .tenant = job->tenant};
    explain_executors(q->jobs, job->queue, &viewer, p);
}

bool explain_rest(const struct jobs *jobs, const struct job_queue *q, char *text, size_t size)
{
    const struct pool_jobs *pool = pool_table_find(&jobs_scheduler(jobs)->pools, queue_pool(q));
    if (!pool || !pool_rests(pool))
        return false;
    if (pool->rest->trial)
        snprintf(text, size,
                 "its workers die; one task at a time is tried, until one of them is answered");
    else
        snprintf(text, size, "its workers die; next try in %s", until(jobs, pool->rest->next).text);
    return true;
}

static void say_executors(const struct question *q, struct job *job, char *text, size_t size)
{
    if (explain_rest(q->jobs, job->queue, text, size))
        return;
    if (queue_is_local(job->queue))
        snprintf(text, size, "it is the next of its tenant, and every %s executor is full",
                 method_kind(job->queue->method));
    else
        snprintf(text, size,
                 "it is the next of its tenant, and every worker has as many tasks as it takes");
}

static void say_left(const struct jobs *jobs, const struct job_queue *q, char *text, size_t size)
{
    const struct job_offer *offer = &q->offer;
    uint64_t wall = table_wall(jobs_table(jobs));

    if (offer->left == 0)
        snprintf(text, size, "workers offered \"%.*s\" once, and none has since the server started",
                 (int)q->name.len, (const char *)q->name.at);
    else
        snprintf(text, size, "no worker offers \"%.*s\" now; the last one left %s ago%s%s",
                 (int)q->name.len, (const char *)q->name.at,
                 span_of_time(wall > offer->left ? wall - offer->left : 0).text,
                 offer->who ? ": " : "", offer->who ? offer->who : "");
}

void explain_no_executor(const struct jobs *jobs, const struct job_queue *q, char *text,
                         size_t size)
{
    if (queue_was_offered(q))
        say_left(jobs, q, text, size);
    else if (queue_is_local(q))
        snprintf(text, size,
                 "\"%.*s\" needs a %s executor, and the server has none; start it with one",
                 (int)q->name.len, (const char *)q->name.at, method_kind(q->method));
    else
        snprintf(text, size,
                 "no module offers \"%.*s\", and no worker has; load one and start the server "
                 "again, or let a worker register it",
                 (int)q->name.len, (const char *)q->name.at);
}

static void pack_no_executor(const struct question *q, struct job *job, struct pack *p)
{
    const struct job_offer *offer = &job->queue->offer;
    (void)q;
    view_ms(p, "left", offer->left);
    pack_key_str(p, "worker", offer->who);
}

static void say_no_executor(const struct question *q, struct job *job, char *text, size_t size)
{
    explain_no_executor(q->jobs, job->queue, text, size);
}

static void say_paused(const struct question *q, struct job *job, char *text, size_t size)
{
    (void)q;
    snprintf(text, size, "the queue \"%.*s\" is paused; queue.resume lets it go on",
             (int)job->queue->name.len, (const char *)job->queue->name.at);
}

/* --- The job waits for a limit, a rate, or other jobs --- */

static bool may_name(const struct question *q, const struct job *job, const struct job *other)
{
    return operation_may_name(q->op, job, other);
}

static uint32_t place_in(const struct job_list *list, const struct job *job)
{
    uint32_t before = 0;
    for (const struct job *at = list->first; at && at != job && before < PLACE_MAX; at = at->next)
        before++;
    return before;
}

/* A job that waits for a limit or a rate is in a line, which names both that it asks for. */
static const struct limit *limit_of(const struct job *job)
{
    assert(job->more && job->more->claim.line && job->more->claim.line->limit);
    return job->more->claim.line->limit;
}

static const struct rate *rate_of(const struct job *job)
{
    assert(job->more && job->more->claim.line && job->more->claim.line->rate);
    return job->more->claim.line->rate;
}

/* Packs the jobs that have permits of its limit. */
static void pack_running(const struct question *q, const struct job *of, struct pack *p)
{
    const struct job *found[NAMED_MAX];
    uint32_t looks = PLACE_MAX, named = 0;
    uint32_t count = limit_jobs(jobs_scheduler(q->jobs), limit_of(of), found, NAMED_MAX, &looks);
    char id[ID_TEXT_SIZE];

    jobs_worked(q->jobs, PLACE_MAX - looks);
    for (uint32_t i = 0; i < count; i++)
        named += may_name(q, of, found[i]);
    pack_str(p, "running");
    pack_array(p, named);
    for (uint32_t i = 0; i < count; i++)
        if (may_name(q, of, found[i]))
            pack_str(p, id_text(found[i]->id, id));
}

/* Packs the clients that hold permits of the limit. */
static void pack_held(const struct limit *limit, struct pack *p)
{
    const struct semaphore *s = limit->semaphore;
    uint32_t count = s ? s->held_count : 0;

    count = count < NAMED_MAX ? count : NAMED_MAX;
    pack_str(p, "held");
    pack_array(p, count);
    for (const struct hold *h = count > 0 ? s->first : NULL; count > 0; h = h->next, count--) {
        pack_map(p, 3);
        pack_key_span(p, "principal", h->who);
        pack_key_uint(p, "permits", h->claim.want);
        pack_key_uint(p, "fence", h->fence);
    }
}

static void pack_limit(const struct question *q, struct job *job, struct pack *p)
{
    const struct limit *limit = limit_of(job);

    pack_key_span(p, "key", limit->key.name);
    pack_key_uint(p, "limit", limit->max);
    pack_key_uint(p, "taken", limit->taken);
    pack_key_uint(p, "before", q->before);
    pack_key_uint(p, "take", job->more->claim.want);
    pack_running(q, job, p);
    pack_held(limit, p);
}

static void say_limit(const struct question *q, struct job *job, char *text, size_t size)
{
    const struct limit *limit = limit_of(job);
    bool counts_tasks = !limit->semaphore && job->more->claim.want == 1;

    if (!counts_tasks)
        snprintf(text, size,
                 "%" PRIu32 " of %" PRIu32 " permits of \"%.*s\" are taken, it wants %" PRIu32
                 ", and %s%" PRIu32 " wait before it",
                 limit->taken, limit->max, (int)limit->key.name.len,
                 (const char *)limit->key.name.at, job->more->claim.want,
                 at_least(q->before_is_least), q->before);
    else
        snprintf(text, size,
                 "%" PRIu32 " of at most %" PRIu32 " tasks of limit \"%.*s\" run, and %s%" PRIu32
                 " wait before it",
                 limit->taken, limit->max, (int)limit->key.name.len,
                 (const char *)limit->key.name.at, at_least(q->before_is_least), q->before);
}

static ao_time refill_of(const struct question *q, const struct job *job)
{
    return limits_token_at(job, q->before, table_now(jobs_table(q->jobs)));
}

static void pack_rate(const struct question *q, struct job *job, struct pack *p)
{
    struct jobs *jobs = q->jobs;
    const struct rate *r = rate_of(job);

    pack_key_span(p, "key", r->key.name);
    pack_key_uint(p, "rate", r->of.max);
    pack_key_uint(p, "per", (r->of.per + AO_MS(1) / 2) / AO_MS(1));
    pack_key_uint(p, "before", q->before);
    pack_key_uint(p, "refill", ms_of(jobs, refill_of(q, job)));
}

static void say_rate(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    const struct rate *r = rate_of(job);

    snprintf(text, size,
             "%" PRIu64 " of at most %" PRIu32
             " starts of rate \"%.*s\" lie within its time; this task may start in %s%s",
             r->starts.count + r->held, r->of.max, (int)r->key.name.len,
             (const char *)r->key.name.at, until(jobs, refill_of(q, job)).text,
             q->before_is_least ? ", or later" : "");
}

static uint32_t count_after(const struct job *job, bool any)
{
    uint32_t count = 0;
    for (const struct dependency *edge = NULL; (edge = dependency_behind(job, edge));)
        count += edge->any == any;
    return count;
}

static uint32_t count_named(const struct question *q, const struct job *job, bool any)
{
    uint32_t count = 0;
    for (const struct dependency *edge = NULL; (edge = dependency_behind(job, edge));)
        count += edge->any == any && may_name(q, job, edge->on);
    return count;
}

static void pack_edges(const struct question *q, const struct job *job, bool any, struct pack *p)
{
    char id[ID_TEXT_SIZE];
    pack_str(p, any ? "after_any" : "after");
    pack_array(p, count_named(q, job, any));
    for (const struct dependency *edge = NULL; (edge = dependency_behind(job, edge));)
        if (edge->any == any && may_name(q, job, edge->on))
            pack_str(p, id_text(edge->on->id, id));
}

static void pack_after(const struct question *q, struct job *job, struct pack *p)
{
    (void)q;
    pack_edges(q, job, false, p);
    pack_edges(q, job, true, p);
}

static void say_after(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    const struct dependency *edge = dependency_behind(job, NULL);
    uint32_t any = count_after(job, true), all = any + count_after(job, false);
    char id[ID_TEXT_SIZE];

    if (!edge) {
        snprintf(text, size, "all that had to be done first has ended; it goes on at once");
        return;
    }
    while (edge && !may_name(q, job, edge->on))
        edge = dependency_behind(job, edge);
    if (!edge) {
        snprintf(text, size, "%" PRIu32 " tasks that you may not see must end first", all);
        return;
    }
    view_stage(jobs, edge->on);
    id_text(edge->on->id, id);
    const char *is = job_state_names[edge->on->state];
    const char *must = any == 0 ? "be done" : any == all ? "have ended" : "be done, or have ended,";
    if (all == 1)
        snprintf(text, size, "task %s must %s first, and is %s", id, must, is);
    else
        snprintf(text, size, "%" PRIu32 " tasks must %s first, among them %s, which is %s", all,
                 must, id, is);
}

static void pack_suspect(const struct question *q, struct job *job, struct pack *p)
{
    struct jobs *jobs = q->jobs;
    char id[ID_TEXT_SIZE];

    pack_key_uint(p, "before", place_in(&jobs_scheduler(jobs)->suspects, job));
    const struct job *out = jobs_scheduler(jobs)->suspect;
    pack_key_str(p, "running", out && may_name(q, job, out) ? id_text(out->id, id) : NULL);
}

static void say_suspect(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    char id[ID_TEXT_SIZE];
    int len =
        snprintf(text, size,
                 "it was running in %u crashes of the server, and is dead after the next; such "
                 "tasks run one at a time, and %" PRIu32 " wait before it",
                 job->crashes, place_in(&jobs_scheduler(jobs)->suspects, job));

    const struct job *out = jobs_scheduler(jobs)->suspect;
    if (out && len > 0 && (size_t)len < size)
        snprintf(text + len, size - (size_t)len, "; %s is running",
                 may_name(q, job, out) ? id_text(out->id, id) : "one that you may not see");
}

/* --- The job waits for a time --- */

static void pack_next(const struct question *q, struct job *job, struct pack *p)
{
    struct jobs *jobs = q->jobs;
    pack_key_uint(p, "next", ms_of(jobs, job->due));
}

static void say_delay(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    snprintf(text, size, "it is due in %s", until(jobs, job->due).text);
}

static const char *last_error(const struct job *job, char *text, size_t size)
{
    if (!job->end || !job->end->code)
        return NULL;
    snprintf(text, size, "%s: %s", job->end->code, job->end->text ? job->end->text : "");
    return text;
}

static void pack_retry(const struct question *q, struct job *job, struct pack *p)
{
    char text[EXPLAIN_TEXT_MAX];

    pack_next(q, job, p);
    pack_key_str(p, "last_error", last_error(job, text, sizeof text));
}

static void say_retry(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    char why[JOB_TEXT_MAX];
    const char *error = last_error(job, why, sizeof why);

    snprintf(text, size,
             "attempt %" PRIu32 " failed (%s); the next comes in %s, %" PRIu32 " of %" PRIu32
             " retries are left",
             job->attempt, error ? error : "it was lost", until(jobs, job->due).text,
             job->retries >= job->failures ? job->retries - job->failures + 1 : 0, job->retries);
}

static void say_again(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    snprintf(text, size, "its handler asked to be run again; that is in %s",
             until(jobs, job->due).text);
}

static void pack_lost(const struct question *q, struct job *job, struct pack *p)
{
    pack_retry(q, job, p);
    pack_key_uint(p, "losses", job_losses(job));
}

static void say_lost(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    char why[JOB_TEXT_MAX], most[32] = "";
    const char *error = last_error(job, why, sizeof why);

    if (jobs_options(jobs)->settings.losses > 0)
        snprintf(most, sizeof most, " of %" PRIu32, jobs_options(jobs)->settings.losses);
    snprintf(text, size,
             "attempt %" PRIu32 " was lost with its worker (%s); the next comes in %s; losses: "
             "%" PRIu32 "%s",
             job->attempt, error ? error : "it left", until(jobs, job->due).text, job_losses(job),
             most);
}

/* --- The job waits for the store --- */

static void pack_store(const struct question *q, struct job *job, struct pack *p)
{
    struct jobs *jobs = q->jobs;
    (void)job;
    pack_key_str(p, "store", jobs_store_trouble(jobs));
}

static void say_commit(const struct question *q, struct job *job, char *text, size_t size)
{
    const char *what = job_is(job, JOB_SUBMITTING) ? "its submission"
                       : job_is(job, JOB_ENDING)   ? "its end"
                                                   : "how its last attempt ended";
    (void)q;
    snprintf(text, size, "%s is being written to disk", what);
}

static void say_store(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    (void)job;
    snprintf(text, size, "%s", jobs_store_trouble(jobs));
}

/* --- An attempt is in flight, or the job has ended --- */

/* The number of the attempt that is in flight. */
static uint32_t number_of(const struct jobs *jobs, const struct job *job)
{
    return job->attempt + out_is_assigned(jobs_scheduler(jobs), job);
}

/* The timeout runs only from the begin of the attempt. */
static void pack_out(const struct question *q, struct job *job, struct pack *p)
{
    struct jobs *jobs = q->jobs;
    char name[24] = "";

    if (job->attempt_task)
        attempt_executor(jobs_tasks(jobs), job->attempt_task, name, sizeof name);
    pack_key_str(p, "executor", name[0] ? name : NULL);
    pack_key_uint(p, "attempt", number_of(jobs, job));
    pack_str(p, "timeout");
    if (job->until != AO_NEVER && !out_is_assigned(jobs_scheduler(jobs), job))
        pack_uint(p, ms_of(jobs, job->until));
    else
        pack_nil(p);
}

static void say_out(const struct question *q, struct job *job, char *text, size_t size)
{
    struct jobs *jobs = q->jobs;
    char name[24] = "an executor";

    if (job->attempt_task)
        attempt_executor(jobs_tasks(jobs), job->attempt_task, name, sizeof name);
    snprintf(text, size, "attempt %" PRIu32 " is at %s: %s", number_of(jobs, job), name,
             job_reason_meaning((enum job_reason)job->reason));
}

static void pack_end(const struct question *q, struct job *job, struct pack *p)
{
    char text[EXPLAIN_TEXT_MAX], id[ID_TEXT_SIZE];

    pack_key_str(p, "last_error", last_error(job, text, sizeof text));
    const struct job *failed = view_after_failed(q->jobs, q->op, job);
    pack_key_str(p, "after_failed", failed ? id_text(failed->id, id) : NULL);
}

static void say_end(const struct question *q, struct job *job, char *text, size_t size)
{
    char why[EXPLAIN_TEXT_MAX / 2];
    const char *error = last_error(job, why, sizeof why);

    (void)q;
    snprintf(text, size, "it is %s after attempt %" PRIu32 "%s%s", job_state_names[job->state],
             job->attempt, error ? ": " : "", error ? error : "");
}

/* --- Messages --- */

static void pack_actor(const struct question *q, struct job *job, struct pack *p)
{
    (void)q;
    pack_key_span(p, "actor", message_actor(job));
}

static void pack_sleep(const struct question *q, struct job *job, struct pack *p)
{
    pack_actor(q, job, p);
    pack_str(p, "next");
    if (job->due == AO_NEVER)
        pack_nil(p);
    else
        pack_uint(p, ms_of(q->jobs, job->due));
}

static void say_sleep(const struct question *q, struct job *job, char *text, size_t size)
{
    struct span name = message_actor(job);
    if (job->due == AO_NEVER)
        snprintf(text, size, "\"%.*s\" sleeps until it is woken", (int)name.len,
                 (const char *)name.at);
    else
        snprintf(text, size, "the next step of \"%.*s\" is due in %s", (int)name.len,
                 (const char *)name.at, until(q->jobs, job->due).text);
}

/* The message that has its turn before it, and how many wait between the two. */
static void pack_mailbox(const struct question *q, struct job *job, struct pack *p)
{
    const struct actor *a = job_message(job)->actor;
    const struct job *head = a->more->head;
    bool named = head && may_name(q, job, head);
    char id[ID_TEXT_SIZE];

    pack_actor(q, job, p);
    pack_key_str(p, "turn", named ? id_text(head->id, id) : NULL);
    pack_key_uint(p, "before", place_in(&a->more->waiting, job));
}

static void say_mailbox(const struct question *q, struct job *job, char *text, size_t size)
{
    const struct actor *a = job_message(job)->actor;
    const struct job *head = a->more->head;
    bool named = head && may_name(q, job, head);
    char id[ID_TEXT_SIZE];

    snprintf(text, size, "\"%.*s\" has its turn of %s, and %" PRIu32 " messages come before it",
             (int)a->name_len, (const char *)a->name,
             named ? id_text(head->id, id) : "another message", place_in(&a->more->waiting, job));
}

static void say_loading(const struct question *q, struct job *job, char *text, size_t size)
{
    const struct actor *a = job_message(job)->actor;
    (void)q;
    snprintf(text, size,
             a->residence == ACTOR_UNREAD
                 ? "the state of \"%.*s\" could not be read; it is tried again every second"
                 : "the state of \"%.*s\" is being read",
             (int)a->name_len, (const char *)a->name);
}

static void say_stopped(const struct question *q, struct job *job, char *text, size_t size)
{
    const struct actor *a = job_message(job)->actor;
    (void)q;
    snprintf(text, size, "\"%.*s\" is stopped: %s; actor.start lets it go on", (int)a->name_len,
             (const char *)a->name, a->more->stopped);
}

struct detail {
    unsigned pairs; /* that `pack` adds to the answer's map */
    void (*pack)(const struct question *q, struct job *job, struct pack *p); /* NULL: none */
    /* Writes one sentence; NULL: the sentence is the meaning of the reason. */
    void (*say)(const struct question *q, struct job *job, char *text, size_t size);
};

static const struct detail details[JOB_REASON_COUNT] = {
    [JOB_WHY_TURN] = {1, pack_ahead, say_turn},
    [JOB_WHY_EXECUTORS] = {1, pack_executors, say_executors},
    [JOB_WHY_NO_EXECUTOR] = {2, pack_no_executor, say_no_executor},
    [JOB_WHY_PAUSED] = {0, NULL, say_paused},
    [JOB_WHY_STOPPING] = {0, NULL, NULL},
    [JOB_WHY_LIMIT] = {7, pack_limit, say_limit},
    [JOB_WHY_RATE] = {5, pack_rate, say_rate},
    [JOB_WHY_AFTER] = {2, pack_after, say_after},
    [JOB_WHY_ACTOR] = {3, pack_mailbox, say_mailbox},
    [JOB_WHY_LOADING] = {1, pack_actor, say_loading},
    [JOB_WHY_STOPPED] = {1, pack_actor, say_stopped},
    [JOB_WHY_OVERRUN] = {1, pack_actor, NULL},
    [JOB_WHY_SLEEP] = {2, pack_sleep, say_sleep},
    [JOB_WHY_SUSPECT] = {2, pack_suspect, say_suspect},
    [JOB_WHY_DELAY] = {1, pack_next, say_delay},
    [JOB_WHY_RETRY] = {2, pack_retry, say_retry},
    [JOB_WHY_AGAIN] = {1, pack_next, say_again},
    [JOB_WHY_LOST] = {3, pack_lost, say_lost},
    [JOB_WHY_COMMIT] = {1, pack_store, say_commit},
    [JOB_WHY_STORE] = {1, pack_store, say_store},
    [JOB_WHY_ASSIGNED] = {3, pack_out, say_out},
    [JOB_WHY_RUNNING] = {3, pack_out, say_out},
    [JOB_WHY_PARKED] = {3, pack_out, say_out},
    [JOB_WHY_ENDED] = {2, pack_end, say_end},
};

/* --- The jobs that wait for it --- */

/* The first of those that the caller may know of; a hundred thousand may wait. */
static unsigned awaited_by(const struct question *q, const struct job *job,
                           const struct job *found[NAMED_MAX])
{
    const struct dependency *edge = job->more ? job->more->dependents : NULL;
    unsigned count = 0, looks = 0;
    for (; edge && count < NAMED_MAX && looks < AWAITED_LOOK; edge = edge->next_on, looks++)
        if (may_name(q, job, edge->waits))
            found[count++] = edge->waits;
    jobs_worked(q->jobs, looks);
    return count;
}

static void pack_awaited(const struct job *const *by, unsigned count, struct pack *p)
{
    char id[ID_TEXT_SIZE];
    pack_str(p, "awaited_by");
    pack_array(p, count);
    for (unsigned i = 0; i < count; i++)
        pack_str(p, id_text(by[i]->id, id));
}

/* --- The answer --- */

/* The reason that is shown of the job; for a queued job, a reason that applies to its whole
 * queue takes precedence. */
static enum job_reason reason_of(const struct question *q, const struct job *job)
{
    const struct scheduler *s = jobs_scheduler(q->jobs);

    bool away = jobs_journal(q->jobs)->error == STORE_AWAY || !jobs_may_act(q->jobs);
    if (job->reason == JOB_WHY_COMMIT && away)
        return JOB_WHY_STORE; /* the database of a cluster is away: nothing comes back */
    if (job->reason != JOB_WHY_TURN)
        return view_reason(job);
    if (s->stopping)
        return JOB_WHY_STOPPING;
    if (!jobs_may_act(q->jobs))
        return JOB_WHY_STORE;
    if (!queue_is_served(job->queue))
        return JOB_WHY_NO_EXECUTOR;
    const struct pool_jobs *pool = pool_table_of(&s->pools, job);
    bool next = q->place.higher == 0 && q->place.own == 0;
    return pool_rests(pool) || (next && pool->full) ? JOB_WHY_EXECUTORS : JOB_WHY_TURN;
}

static enum job_reason explain(struct question *q, struct job *job, char *text, size_t size)
{
    view_stage(q->jobs, job);
    count_before(q, job);
    jobs_worked(q->jobs, dependencies_open(job));
    enum job_reason reason = reason_of(q, job);
    assert((reason == JOB_WHY_ENDED) == !job_state_open((enum job_state)job->state));
    if (details[reason].say && operation_may_know(q->op, job))
        details[reason].say(q, job, text, size);
    else
        snprintf(text, size, "%s", job_reason_meaning(reason));
    return reason;
}

enum job_reason explain_job(struct jobs *jobs, const struct operation *op, struct job *job,
                            char *text, size_t size)
{
    struct question q = {.jobs = jobs, .op = op};
    return explain(&q, job, text, size);
}

static void serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    char id[ID_TEXT_SIZE], text[EXPLAIN_TEXT_MAX];
    struct pack *p = &op->reply.result;
    struct question q = {.jobs = jobs, .op = op};
    if (!job)
        return;
    enum job_reason reason = explain(&q, job, text, sizeof text);
    const struct detail *d = &details[reason];
    const struct job *by[NAMED_MAX];
    unsigned awaited = awaited_by(&q, job, by);
    pack_init(p);
    pack_map(p, 5u + job->in_batch + (awaited > 0) + contents_pairs(VIEW_PARAMS_TEXT) + d->pairs);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_span(p, "method", job->queue->name);
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_str(p, "reason", job_reason_name(reason));
    pack_key_str(p, "text", text);
    if (job->in_batch)
        pack_key_str(p, "batch", id_batch_text(job_batch(job), id));
    if (awaited > 0)
        pack_awaited(by, awaited, p);
    contents_pack(jobs, op, job, VIEW_PARAMS_TEXT, p);
    if (d->pack)
        d->pack(&q, job, p);
    operation_finish(op);
}

const struct operation_class operation_task_explain = {
    .method = method_task_explain, .shows_contents = true, .serve = serve};
