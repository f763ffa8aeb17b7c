#include "tests/support/jobs_world.h"

#include "server/rpc/spec_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/effects.h"
#include "server/tasks/actor_offer.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/sched/out.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_world_lives.h"

/* --- Methods; a registry of the tree would bring the whole task system with it --- */

struct registry {
    struct method methods[WORLD_METHODS];
    uint32_t count;
    struct pool *pools;
    char names[WORLD_METHODS][80];
};

static const struct ergon_handler work = {
    .size = sizeof work, .name = "work", .kind = ERGON_BLOCKING};
static const struct ergon_handler step = {
    .size = sizeof step, .name = "step", .kind = ERGON_STEPPED};
static const struct ergon_handler nobody = {.size = sizeof nobody, .name = ""};

static struct method *add(struct registry *r, struct span name, const struct ergon_handler *handler,
                          uint32_t pool)
{
    struct method *m = &r->methods[r->count];
    assert_true(r->count < WORLD_METHODS && name.len < sizeof r->names[0]);
    memcpy(r->names[r->count], name.at, name.len);
    *m = (struct method){.name = span_of(r->names[r->count], name.len),
                         .handler = handler,
                         .index = r->count,
                         .pool = &r->pools[pool],
                         .attempts_pool = &r->pools[pool]};
    r->count++;
    return m;
}

static struct registry *two_methods(struct pool *pools)
{
    struct registry *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->pools = pools;
    for (uint32_t i = 0; i < WORLD_POOLS; i++)
        pools[i].index = i;
    add(r, span_text("work"), &work, POOL_BLOCKING);
    add(r, span_text("step"), &step, POOL_STEPPED);
    return r;
}

struct method *registry_find(const struct registry *r, struct span name)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (span_equal(r->methods[i].name, name))
            return (struct method *)&r->methods[i];
    return NULL;
}

/* All of workers share a pool. */
enum ergon_error registry_intern(struct registry *r, struct span name, struct method **out)
{
    *out = registry_find(r, name);
    if (*out)
        return ERGON_OK;
    if (!registry_may_name(name) || r->count == WORLD_METHODS)
        return registry_may_name(name) ? ERGON_E_BUSY : ERGON_E_BAD_PARAMS;
    *out = add(r, name, &nobody, POOL_OF_WORKERS);
    return ERGON_OK;
}

bool registry_may_name(struct span name)
{
    return name.len > 0 && name.len <= 64 && memchr(name.at, ' ', name.len) == NULL;
}

uint32_t registry_count(const struct registry *r)
{
    return r->count;
}

struct method *registry_at(const struct registry *r, uint32_t index)
{
    return (struct method *)&r->methods[index];
}

const struct actor_offer *registry_actor(const struct registry *r, uint32_t n)
{
    (void)r;
    (void)n;
    return NULL;
}

void method_set_actor(struct method *m, unsigned of_actor)
{
    atomic_store_explicit(&m->of_actor, (uint8_t)of_actor, memory_order_relaxed);
}

/* The next process knows no more than what it is told. */
static void forget_offers(struct registry *r)
{
    r->count = 2;
}

/* --- The world --- */

static void keep_some(void *arg, const char *line)
{
    struct jobs_world *w = arg;
    const char *who = strchr(line, ']');
    if (!w->quiet && who && strncmp(who + 2, "job ", 4) == 0 && strstr(line, "job timer") == NULL)
        w->record(&w->v, line);
}

static uint64_t wall(void *arg)
{
    struct jobs_world *w = arg;
    if (w->sudden_look > 0 && --w->sudden_look == 0)
        w->leap += w->sudden;
    uint64_t now = AO_S(1600000000) + w->v.now + (uint64_t)w->leap;
    w->v.now += w->takes;
    return now;
}

static uint64_t suspended(void *arg)
{
    const struct jobs_world *w = arg;
    return w->slept;
}

void jobs_world_init(struct jobs_world *w)
{
    *w = (struct jobs_world){.room = {1, 1, 1}, .lasts = AO_NEVER};
    virtual_init(&w->v);
    virtual_silence();
    w->record = w->v.trace.line;
    w->v.trace.line = keep_some;
    w->v.trace.arg = w;
    w->registry = two_methods(w->pools);
    w->options = (struct jobs_options){.tasks = (struct tasks *)w,
                                       .registry = w->registry,
                                       .wall = wall,
                                       .suspended = suspended,
                                       .wall_arg = w,
                                       .settings.limits.max = 1000000,
                                       .settings.limits.bytes = (uint64_t)1 << 30,
                                       .settings.limits.kept_bytes = (uint64_t)1 << 28,
                                       .settings.limits.actors = {.bytes = (uint64_t)1 << 28,
                                                                  .max = 10000000,
                                                                  .state = 1 << 20,
                                                                  .messages = 100000},
                                       .settings.limits.keep_failed = AO_S(7 * 86400),
                                       .settings.ageing = AO_S(10),
                                       .settings.crashes = 3,
                                       .settings.losses = 9,
                                       .settings.events = 4096,
                                       .settings.history = 100,
                                       .read_turn_options = spec_read_turn_options,
                                       .read_cron_options = spec_reread_cron_options};
    w->params_max = 16 << 20;
    w->manager = virtual_open(&w->v, "manager");
    w->loop = virtual_open(&w->v, "loop");
}

void jobs_world_keep_store(struct jobs_world *w)
{
    w->store = world_store_new(wall, w);
    w->options.store = w->store;
}

static void answered(void *arg, struct operation *op)
{
    struct jobs_world *w = arg;
    if (w->told)
        w->told(w->arg, op);
    assert_true(w->answered < sizeof w->operations / sizeof w->operations[0]);
    w->operations[w->answered++] = op;
}

static void pushed(void *arg, struct operation *op)
{
    struct jobs_world *w = arg;
    struct span rest = blob_bytes(op->push.events);
    struct reader r = {.at = rest.at, .end = rest.at + rest.len};
    struct span event;
    w->pushes++;
    while (r.at < r.end && read_any(&r, &event))
        w->pushed++;
}

void jobs_world_start(struct jobs_world *w)
{
    const struct channel_port port = {.answered = answered, .pushed = pushed, .arg = w};
    w->channel = channel_open(w->jobs, w->loop, &port);
    assert_non_null(w->channel);
    assert_int_equal(jobs_start(w->jobs), 0);
    if (w->born)
        w->born(w->arg);
}

void jobs_world_die(struct jobs_world *w)
{
    if (w->store && w->jobs)
        world_store_crash(w->store, w->jobs);
    jobs_free(w->jobs);
    w->jobs = NULL;
    forget_offers(w->registry);
    world_drop_runs(w);
    ao_deactivate(&w->pump);
    ao_fini(&w->pump);
}

bool jobs_world_recover(struct jobs_world *w, char *error, size_t size)
{
    ao_init(&w->pump, &jobs_pump_class, w->manager);
    w->jobs = jobs_new(&w->options, error, size);
    if (w->jobs && jobs_recover(w->jobs, error, size) == 0)
        return true;
    jobs_world_die(w);
    return false;
}

void jobs_world_open(struct jobs_world *w)
{
    char error[200] = "";
    if (!jobs_world_recover(w, error, sizeof error))
        fail_msg("%s", error);
    w->first_id = w->jobs->table.next_id;
    jobs_world_start(w);
}

bool jobs_world_live(struct jobs_world *w, char *error, size_t size)
{
    if (!jobs_world_recover(w, error, size))
        return false;
    jobs_world_start(w);
    jobs_world_settle(w);
    return true;
}

/* Jobs on the rows that the last one left. */
static void open_again(struct jobs_world *w)
{
    char error[200] = "";
    if (!jobs_world_live(w, error, sizeof error))
        fail_msg("%s", error);
}

void jobs_world_crash(struct jobs_world *w)
{
    jobs_world_die(w);
    open_again(w);
}

void jobs_world_restart(struct jobs_world *w)
{
    w->source.stop(w->source.arg, false);
    jobs_world_settle(w);
    w->source.stop(w->source.arg, true);
    jobs_world_settle(w);
    jobs_stop(w->jobs);
    jobs_world_die(w);
    open_again(w);
}

void jobs_world_fini(struct jobs_world *w)
{
    if (w->jobs) {
        jobs_stop(w->jobs);
        jobs_world_die(w);
    }
    for (uint32_t i = 0; i < w->answered; i++)
        operation_free(w->operations[i]);
    world_store_free(w->store);
    free(w->registry);
    virtual_fini(&w->v);
}

struct job_spec world_spec(const char *method)
{
    struct job_spec spec = WORK();
    spec.method = span_text(method);
    return spec;
}

enum ergon_error world_submit(struct jobs_world *w, const struct job_spec *spec,
                              struct submitted *out, char *text, size_t size)
{
    enum ergon_error error = job_submit(w->jobs, spec, NULL, out, text, size);
    effects_apply(w->jobs);
    return error;
}

bool world_cancel(struct jobs_world *w, struct job *job)
{
    bool cancelled = job_cancel(&w->jobs->sched, job);
    effects_apply(w->jobs);
    return cancelled;
}

bool world_retry(struct jobs_world *w, struct job *job)
{
    bool retried = job_retry(&w->jobs->sched, job);
    effects_apply(w->jobs);
    return retried;
}

uint64_t jobs_world_submit(struct jobs_world *w, const struct job_spec *spec)
{
    struct submitted done;
    char text[JOB_TEXT_MAX] = "";
    enum ergon_error error = world_submit(w, spec, &done, text, sizeof text);
    if (error != ERGON_OK)
        fail_msg("%s: %s", error_name(error), text);
    return done.job->id;
}

struct job *world_job(struct jobs_world *w, uint64_t id)
{
    struct job *job = table_find(&w->jobs->table, id);
    if (job) {
        out_show(&w->jobs->sched, job);
        effects_apply(w->jobs);
    }
    return job;
}

enum job_state world_state(struct jobs_world *w, uint64_t id)
{
    const struct job *e = world_job(w, id);
    assert_non_null(e);
    return (enum job_state)e->state;
}

enum job_reason world_reason(struct jobs_world *w, uint64_t id)
{
    const struct job *e = world_job(w, id);
    assert_non_null(e);
    return limits_reason(e);
}

void jobs_world_settle(struct jobs_world *w)
{
    virtual_run_until(&w->v, w->v.now);
}

void jobs_world_pass(struct jobs_world *w, ao_time duration)
{
    virtual_run_until(&w->v, w->v.now + duration);
    jobs_world_settle(w); /* a round, so that the activators know what time it is */
}

struct world_run *world_run_of(struct jobs_world *w, uint64_t id)
{
    for (struct world_run *r = w->runs_last; r; r = r->prev)
        if (r->run.id == id)
            return r;
    return NULL;
}

struct operation *world_operation(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = operation_new(NULL, cls);
    assert_non_null(op);
    if (cls == &operation_task_watch)
        op->watch.max = 100;
    return op;
}

struct operation *world_about(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    struct operation *op = world_operation(w, cls);
    if (cls == &operation_task_watch)
        op->watch.id = id;
    else
        op->job.id = id;
    return op;
}

void world_give(struct jobs_world *w, struct operation *op)
{
    channel_give(w->channel, op);
    jobs_world_settle(w);
}

bool world_answered(const struct jobs_world *w, const struct operation *op)
{
    for (uint32_t i = 0; i < w->answered; i++)
        if (w->operations[i] == op)
            return true;
    return false;
}
