/* The jobs as the manager's source of work (server/tasks/job_source.h).  Thread: the manager's,
 * which is the jobs'. */
#include "base/prefetch.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/module_calls.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/effects.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/attempts.h"
#include "server/jobs/operations/waiters.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/verbs/queues.h"

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    const struct jobs *jobs = arg;
    return attempts_ready(&jobs->sched, pool, room);
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    struct jobs *jobs = arg;
    bool taken = attempts_take(&jobs->sched, pool, run);
    if (!taken) /* else given() follows at once */
        effects_apply(jobs);
    return taken;
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct jobs *jobs = arg;
    attempts_given(&jobs->sched, run->owner, t, run->mark);
    effects_apply(jobs);
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct jobs *jobs = arg;
    struct job *job = r->owner;
    prefetch(job->waits, sizeof *job->waits);
    attempts_returned(&jobs->sched, r);
    waiters_near(job);
}

static void settle(void *arg)
{
    effects_apply(arg);
}

static void noted(void *arg, const struct attempt_note *note)
{
    struct jobs *jobs = arg;
    attempts_noted(&jobs->sched, note);
    if (jobs_have_time(jobs))
        effects_apply(jobs);
    else
        ao_activate(&jobs->ao); /* watchers get all that has come by then */
}

static void full(void *arg, uint32_t pool, bool is_full)
{
    struct jobs *jobs = arg;
    attempts_full(&jobs->sched, pool, is_full);
    effects_apply(jobs);
}

static void offered(void *arg, struct method *method, bool workers, struct span who)
{
    struct jobs *jobs = arg;
    struct job_queue *q = offers_changed(&jobs->sched, method, workers, who);
    if (q)
        queues_remember(jobs, q);
    if (method_actor(method) & ACTOR_STEP)
        steps_offered(jobs->actors);
    effects_apply(jobs);
}

static uint16_t joined(void *arg, const struct source_label *label)
{
    struct jobs *jobs = arg;
    return worker_label_make(&jobs->table.labels,
                             &(struct worker_label_parts){.worker = label->worker,
                                                          .name = label->name,
                                                          .host = label->host,
                                                          .version = label->version});
}

static void left(void *arg, uint16_t label)
{
    struct jobs *jobs = arg;
    worker_label_unref(&jobs->table.labels, label);
}

static void secret(void *arg, struct method *method, bool is_secret)
{
    struct jobs *jobs = arg;
    struct job_queue *q = table_queue(&jobs->table, method->name);
    if (q && (is_secret || !queues_handler_hides(method)))
        queues_set_secret(jobs, q, is_secret);
}

static bool typed(void *arg, const struct actor_offer *offer)
{
    struct jobs *jobs = arg;
    return actor_type_offered(jobs->actors, offer) == ERGON_OK;
}

static void call(void *arg, struct task *t)
{
    const struct jobs *jobs = arg;
    module_calls_take(jobs->actors, t);
}

static bool keeps_actors(void *arg)
{
    const struct jobs *jobs = arg;
    return jobs->store && store_keeps(jobs->store, STORE_KEEPS_ACTORS);
}

static void stop(void *arg, bool cancel)
{
    struct jobs *jobs = arg;
    attempts_stop(&jobs->sched, cancel);
    effects_apply(jobs);
    waiters_server_stops(jobs, cancel);
    subsystems_stop(jobs);
}

static const char *name(uint64_t id, char *buf)
{
    return id_text(id, buf);
}

static const char *batch_name(uint64_t id, char *buf)
{
    return id_batch_text(id, buf);
}

void source_connect(struct jobs *jobs)
{
    const struct job_source source = {.arg = jobs,
                                      .ready = ready,
                                      .take = take,
                                      .given = given,
                                      .returned = returned,
                                      .settle = settle,
                                      .noted = noted,
                                      .full = full,
                                      .offered = offered,
                                      .joined = joined,
                                      .left = left,
                                      .secret = secret,
                                      .typed = typed,
                                      .keeps_actors = keeps_actors,
                                      .call = call,
                                      .stop = stop,
                                      .name = name,
                                      .batch_name = batch_name};
    tasks_set_job_source(jobs->tasks, &source);
}

/* Neither changes while the job is there. */
struct span jobs_owner_tenant(const void *owner)
{
    return ((const struct job *)owner)->tenant->name;
}
