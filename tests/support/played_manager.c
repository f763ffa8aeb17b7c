/* The manager that a test of the jobs plays: the functions of server/tasks/job_source.h, and
 * attempts that last as long as the test says. */
#include "tests/support/jobs_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/manager/pool.h"
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"

static struct jobs_world *world_of(struct tasks *t)
{
    return (struct jobs_world *)t;
}

void tasks_set_job_source(struct tasks *t, const struct job_source *source)
{
    struct jobs_world *w = world_of(t);
    w->source = *source;
    w->worker_label = 0;
}

struct activator *tasks_manager_activator(struct tasks *t)
{
    return world_of(t)->manager;
}

uint64_t job_source_params_max(const struct tasks *t)
{
    return ((const struct jobs_world *)t)->params_max;
}

uint32_t job_source_pool(const struct method *m)
{
    return m->attempts_pool->index;
}

/* No handler runs here that could call. */
void job_source_called(struct tasks *t, struct task *call)
{
    (void)t;
    (void)call;
    abort();
}

void job_source_wake(struct tasks *t, uint32_t pool)
{
    assert_true(pool < WORLD_POOLS);
    ao_activate(&world_of(t)->pump);
}

/* As many executors of each kind as there is room, one after the other. */
void tasks_info(const struct tasks *t, struct tasks_info *out)
{
    const struct jobs_world *w = (const struct jobs_world *)t;
    *out = (struct tasks_info){.executors = w->room[0] + w->room[1]};
}

void tasks_executor_info(const struct tasks *t, uint32_t index, struct executor_info *out)
{
    const struct jobs_world *w = (const struct jobs_world *)t;
    bool stepped = index < w->room[0];
    uint32_t of_kind = stepped ? index : index - w->room[0];
    *out = (struct executor_info){.kind = stepped ? ERGON_STEPPED : ERGON_BLOCKING,
                                  .queue = 1,
                                  .bound = 1,
                                  .outstanding = of_kind < w->out[stepped ? 0 : 1]};
    snprintf(out->name, sizeof out->name, "%s %u", stepped ? "stepped" : "blocking", of_kind + 1);
}

static struct world_run *run_of(const struct task *attempt)
{
    return (struct world_run *)attempt;
}

enum attempt_stage attempt_stage(const struct task *attempt)
{
    return run_of(attempt)->stage;
}

static uint32_t pool_of(const struct world_run *r)
{
    return r->run.method->pool->index;
}

void attempt_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size)
{
    bool worker = pool_of(run_of(attempt)) == POOL_OF_WORKERS;
    snprintf(buf, size, "%s", worker ? "worker 1" : "blocking 1");
}

/* Of the worker of the test, which joins when its first attempt begins. */
uint16_t attempt_label(const struct task *attempt)
{
    struct jobs_world *w = run_of(attempt)->world;
    if (w->worker.worker.len > 0 && w->worker_label == 0)
        w->worker_label = w->source.joined(w->source.arg, &w->worker);
    return w->worker_label;
}

void world_worker_leaves(struct jobs_world *w)
{
    w->source.left(w->source.arg, w->worker_label);
    w->worker_label = 0;
}

/* One, that takes all. */
uint32_t job_source_workers(struct tasks *t, const struct method *m, struct source_worker *out,
                            uint32_t most)
{
    const struct jobs_world *w = (const struct jobs_world *)t;
    if (w->workers && most > 0)
        out[0] = (struct source_worker){.name = "worker 1",
                                        .outstanding = w->out[POOL_OF_WORKERS],
                                        .slots = w->room[POOL_OF_WORKERS]};
    return w->workers;
}

static void leave(struct world_run *r)
{
    struct jobs_world *w = r->world;
    *(r->prev ? &r->prev->next : &w->runs) = r->next;
    *(r->next ? &r->next->prev : &w->runs_last) = r->prev;
    w->out[pool_of(r)]--;
}

/* One without an actor goes with its task; that of an actor is the jobs'. */
static void drop_turn(struct world_run *r)
{
    if (r->run.turn && !turn_is_of_actor(r->run.turn))
        turn_free(r->run.turn);
}

static void drop(struct world_run *r)
{
    struct jobs_world *w = r->world;
    if (!r->actor)
        drop_turn(r);
    if (ao_current() == &r->timer) {
        ao_retire(&r->timer);
    } else {
        ao_deactivate(&r->timer);
        ao_fini(&r->timer);
        free(r);
    }
    ao_activate(&w->pump);
}

void world_return(struct world_run *r, struct attempt_end *end)
{
    struct jobs_world *w = r->world;
    struct job_source *source = &w->source;
    end->owner = r->run.owner;
    end->mark = r->run.mark;
    if (!end->turn) /* else its handler submits something */
        end->turn = r->run.turn;
    end->began = r->began;
    assert_true(r->stage != ATTEMPT_ASSIGNED || end->loss == LOSS_UNSENT);
    if (r->run.mark && end->loss == LOSS_NONE)
        atomic_store_explicit(&r->run.mark->stage, MARK_OVER, memory_order_relaxed);
    end->attempt = r->run.attempt;
    leave(r);
    source->returned(source->arg, end);
    drop(r);
    source->settle(source->arg);
}

/* As the task system does: its place is free when the executor comes to it, here at once. */
bool attempt_withdraw(struct tasks *t, struct task *attempt, const struct attempt_mark **mark)
{
    struct world_run *r = run_of(attempt);
    if (r->stage != ATTEMPT_ASSIGNED)
        return false;
    *mark = r->run.mark;
    leave(r);
    drop(r);
    return true;
}

ao_time attempt_began(const struct task *attempt)
{
    return run_of(attempt)->began;
}

static void end_as(struct world_run *r, enum ergon_error error, const char *code, const char *text)
{
    struct outcome outcome = {.error = error, .code = code, .text = span_text(text)};
    struct attempt_end end = {.outcome = &outcome};
    world_return(r, &end);
}

void world_finish(struct world_run *r, const char *result)
{
    struct outcome outcome = {.error = ERGON_OK, .result = span_text(result)};
    struct attempt_end end = {.outcome = &outcome};
    world_return(r, &end);
}

void world_fail(struct world_run *r, const char *code, const char *text)
{
    end_as(r, ERGON_E_FAILED, code, text);
}

void world_fail_traced(struct world_run *r, const char *code, const char *text,
                       struct span traceback)
{
    struct outcome outcome = {
        .error = ERGON_E_FAILED, .code = code, .text = span_text(text), .result = traceback};
    struct attempt_end end = {.outcome = &outcome};
    world_return(r, &end);
}

void world_again(struct world_run *r, ao_time after)
{
    struct outcome outcome = {.error = ERGON_OK};
    struct attempt_end end = {.again = true, .after = after, .outcome = &outcome};
    world_return(r, &end);
}

void world_lose(struct world_run *r, enum attempt_loss loss, const char *why)
{
    struct outcome outcome = {.error = ERGON_E_WORKER_LOST, .text = span_text(why)};
    struct attempt_end end = {.loss = loss, .why = span_text(why), .outcome = &outcome};
    world_return(r, &end);
}

static enum ao_verdict run_due(struct ao *self)
{
    struct world_run *r = ao_of(self, struct world_run, timer);
    struct jobs_world *w = r->world;
    if (r->flagged && !w->stubborn)
        end_as(r, ERGON_E_CANCELLED, "CANCELLED", "it was told to stop");
    else if (w->over)
        w->over(w->arg, r);
    else
        world_finish(r, "\xc0");
    return AO_DONE;
}

static void run_retired(struct ao *self)
{
    ao_fini(self);
    free(ao_of(self, struct world_run, timer));
}

static const struct ao_class run_class = {
    .name = "attempt", .step = run_due, .retired = run_retired};

void attempt_flag(struct tasks *t, struct task *attempt, enum attempt_flag flag)
{
    struct world_run *r = run_of(attempt);
    r->flagged = true;
    if (world_of(t)->stubborn)
        return;
    ao_deactivate(&r->timer);
    ao_activate(&r->timer);
}

void world_begin(struct world_run *r)
{
    struct jobs_world *w = r->world;
    ao_time lasts = w->lasts;
    assert_int_equal(r->stage, ATTEMPT_ASSIGNED);
    r->stage = ATTEMPT_RUNNING;
    r->began = w->v.now;
    if (r->run.mark) {
        atomic_store_explicit(&r->run.mark->began, r->began, memory_order_relaxed);
        atomic_store_explicit(&r->run.mark->stage, MARK_BEGUN, memory_order_relaxed);
    }
    if (w->begun)
        w->begun(w->arg, r, &lasts);
    if (lasts != AO_NEVER)
        ao_sleep_for(&r->timer, lasts);
}

static void run(struct jobs_world *w, uint32_t pool, const struct attempt_spec *what)
{
    struct world_run *r = calloc(1, sizeof *r);
    if (!r) {
        if (what->turn && !turn_is_of_actor(what->turn))
            turn_free(what->turn);
        w->source.given(w->source.arg, what, NULL);
        return;
    }
    r->world = w;
    r->run = *what;
    r->actor = turn_is_of_actor(what->turn);
    r->stage = ATTEMPT_ASSIGNED;
    ao_init(&r->timer, &run_class, w->manager);
    r->prev = w->runs_last;
    *(w->runs_last ? &w->runs_last->next : &w->runs) = r;
    w->runs_last = r;
    w->out[pool]++;
    w->source.given(w->source.arg, what, (struct task *)r);
    if (!w->holds)
        world_begin(r);
}

/* A change only, as the manager does. */
static void tell_full(struct jobs_world *w, uint32_t k)
{
    bool full = w->out[k] >= w->room[k];
    if (w->full[k] == full)
        return;
    w->full[k] = full;
    w->source.full(w->source.arg, k, full);
}

static enum ao_verdict pump_step(struct ao *self)
{
    struct jobs_world *w = ao_of(self, struct jobs_world, pump);
    for (uint32_t k = 0; k < WORLD_POOLS; k++) {
        struct attempt_spec what;
        if (k == POOL_OF_WORKERS && !w->workers)
            continue;
        while (w->out[k] < w->room[k] &&
               w->source.ready(w->source.arg, k, w->room[k] - w->out[k]) &&
               w->source.take(w->source.arg, k, &what))
            run(w, k, &what);
        tell_full(w, k);
    }
    return AO_DONE;
}

void world_offer(struct jobs_world *w, const char *name, bool workers, const char *who)
{
    struct method *m;
    assert_int_equal(registry_intern(w->registry, span_text(name), &m), ERGON_OK);
    w->workers = workers;
    w->source.offered(w->source.arg, m, workers, span_text(who));
    ao_activate(&w->pump);
    jobs_world_settle(w);
}

const struct ao_class jobs_pump_class = {.name = "pump", .step = pump_step};

void world_drop_runs(struct jobs_world *w)
{
    struct world_run *next;
    for (struct world_run *r = w->runs; r; r = next) {
        next = r->next;
        ao_deactivate(&r->timer);
        ao_fini(&r->timer);
        if (!r->actor)
            drop_turn(r);
        free(r);
    }
    w->runs = w->runs_last = NULL;
    memset(w->out, 0, sizeof w->out);
    memset(w->full, 0, sizeof w->full);
    w->workers = false;
}
