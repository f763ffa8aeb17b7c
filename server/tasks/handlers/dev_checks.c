#include "server/tasks/handlers/dev_checks.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/runtime/thread.h"
#include "server/tasks/attempt.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/handlers/held_memory.h"
#include "server/tasks/task.h"

static const ao_time long_step = AO_MS(5);  /* on the processor */
static const ao_time sleep_step = AO_MS(1); /* off it, of its own will */
enum { IN_A_ROW = 3 };                      /* tasks that end with memory: a cache is filled once */

struct checked {
    struct ergon_handler face;       /* what the tasks see */
    const struct ergon_handler *own; /* the module's */
    /* Tasks in a row that ended with memory of theirs.  Orders nothing (relaxed): a count that
     * several threads may spoil by one. */
    _Atomic uint32_t holders;
};

struct dev_checks {
    struct registry *registry;
    uint32_t count;     /* of methods that modules brought */
    struct checked *at; /* by index of the method */
};

static struct checked *checked_of(const struct task *t)
{
    return (struct checked *)(uintptr_t)t->method->handler; /* its first field */
}

#define COMPLAIN(t, what, event, ...)                                                              \
    do {                                                                                           \
        char name_[TASK_NAME_MAX];                                                                 \
        task_own_name((t), name_);                                                                 \
        if (method_complain((t)->method, (what)))                                                  \
            log_warn(event, LOG_STR("module", (t)->method->module),                                \
                     LOG_STR("method", method_name((t)->method)), LOG_STR("task", name_),          \
                     __VA_ARGS__);                                                                 \
    } while (0)

/* A blocking nested call has the number of its parent. */
static uint64_t account_of(const struct task *t)
{
    return t->number ^ (uint64_t)t->depth << 58;
}

/* ---- steps ---- */

static void check_step(struct task *t, const struct thread_usage *before)
{
    struct thread_usage after;

    thread_usage(&after);
    ao_time on = after.on_processor - before->on_processor;
    ao_time whole = after.clock - before->clock, off = whole > on ? whole - on : 0;
    if (after.waits != before->waits && off >= sleep_step)
        COMPLAIN(t, COMPLAINT_SLEEP,
                 "--dev: a step slept or waited: the loop's connections did too",
                 LOG_NS("off_processor", off), LOG_UINT("waits", after.waits - before->waits));
    if (on >= long_step)
        COMPLAIN(t, COMPLAINT_LONG, "--dev: a step took long: the loop's connections waited",
                 LOG_NS("on_processor", on), LOG_NS("limit", long_step));
}

/* A task that fails, is to run again or is unwanted gives up its calls on purpose. */
static bool wants_calls(const struct task *t)
{
    bool again = task_is(t, TASK_ATTEMPT) && t->attempt->again;
    return t->error == ERGON_OK && !again && task_flagged(t) == 0;
}

static enum ao_verdict dev_step(struct ao *self, struct ergon_task *face, void *state)
{
    struct task *t = task_of(face);
    struct thread_usage before;

    thread_usage(&before);
    uint64_t outer = held_memory_enter(account_of(t));
    enum ao_verdict verdict = checked_of(t)->own->step(self, face, state);
    held_memory_enter(outer);
    check_step(t, &before);
    if (verdict == AO_DONE && wants_calls(t) && nested_is_forgotten(t))
        COMPLAIN(t, COMPLAINT_NESTED,
                 "--dev: a task ended with a nested call that it never awaited",
                 LOG_STR("hint", "ergon_call_await, ergon_call_outcome"));
    return verdict;
}

/* ---- the end of a task ---- */

static void check_held(struct task *t)
{
    struct checked *c = checked_of(t);
    size_t blocks, bytes = held_memory_end(account_of(t), &blocks);

    if (blocks == 0) {
        atomic_store_explicit(&c->holders, 0, memory_order_relaxed);
        return;
    }
    if (atomic_fetch_add_explicit(&c->holders, 1, memory_order_relaxed) + 1 >= IN_A_ROW)
        COMPLAIN(t, COMPLAINT_MEMORY,
                 "--dev: one task after the other ends and leaves memory that it allocated",
                 LOG_UINT("bytes", bytes), LOG_UINT("blocks", blocks), LOG_UINT("tasks", IN_A_ROW));
}

static void dev_cleanup(struct ergon_task *face, void *state)
{
    struct task *t = task_of(face);
    const struct ergon_handler *own = checked_of(t)->own;

    if (own->cleanup)
        own->cleanup(face, state);
    check_held(t);
}

static void dev_run(struct ergon_task *face)
{
    struct task *t = task_of(face);
    uint64_t outer = held_memory_enter(account_of(t));

    checked_of(t)->own->run(face);
    held_memory_enter(outer);
    check_held(t);
}

/* ---- set-up ---- */

static void put_face(struct checked *c, struct method *m)
{
    c->own = m->handler;
    c->face = *m->handler;
    if (c->own->kind == ERGON_STEPPED) {
        c->face.step = dev_step;
        c->face.cleanup = dev_cleanup;
    } else {
        c->face.run = dev_run;
    }
    m->handler = &c->face;
}

struct dev_checks *dev_checks_new(struct registry *r)
{
    struct dev_checks *d = calloc(1, sizeof *d);
    uint32_t count = registry_count(r);
    struct checked *at = calloc(count + 1, sizeof *at);

    if (!d || !at) {
        free(d);
        free(at);
        return NULL;
    }
    *d = (struct dev_checks){.registry = r, .count = count, .at = at};
    for (uint32_t i = 0; i < count; i++)
        put_face(&at[i], registry_at(r, i));
    return d;
}

void dev_checks_free(struct dev_checks *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->count; i++)
        registry_at(d->registry, i)->handler = d->at[i].own;
    free(d->at);
    free(d);
}
