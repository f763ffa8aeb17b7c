/* Kept tasks pass through: asked from the source, made at home with the manager, returned. */
#include "server/tasks/manager/job_source_parts.h"

#include "server/tasks/tasks_parts.h"

void tasks_set_job_source(struct tasks *t, const struct job_source *source)
{
    t->manager.source = *source;
    t->manager.has_source = true;
}

struct activator *tasks_manager_activator(struct tasks *t)
{
    return t->manager.activator;
}

/* Within the manager's own step the activation is for nothing, and `woken` makes it go on. */
static void look_again(struct manager *m)
{
    m->woken = true;
    ao_activate(&m->ao);
}

void job_source_wake(struct tasks *t)
{
    struct manager *m = &t->manager;
    for (unsigned i = 0; i < KINDS; i++)
        m->kinds[i].source_has_work = !m->kept_stopped;
    look_again(m);
}

static enum ergon_kind kind_of(const struct manager *m, const struct manager_kind *k)
{
    return k == &m->kinds[kind_index(ERGON_STEPPED)] ? ERGON_STEPPED : ERGON_BLOCKING;
}

/* `source_has_work` is cleared first: what the source says meanwhile counts. */
bool job_source_ready(struct manager *m, struct manager_kind *k, uint32_t room)
{
    k->source_has_work = false;
    bool ready = m->source.ready(m->source.arg, kind_of(m, k), room);
    k->source_has_work |= ready;
    return ready;
}

static struct task *make(struct manager *m, const struct attempt_spec *run)
{
    struct task *t = home_make_task(&m->home, run->method, run->params, run->deadline);
    if (!t)
        return NULL;
    task_mark(t, TASK_ATTEMPT);
    t->attempt = task_own_memory(t, sizeof *t->attempt); /* the first in it: it fits */
    *t->attempt = (struct attempt){.owner = run->owner, .id = run->id, .attempt = run->attempt};
    return t;
}
_Static_assert(sizeof(struct attempt) <= TASK_MEMORY / 2, "most is left to state and result");

struct task *job_source_take(struct manager *m, struct manager_kind *k)
{
    struct attempt_spec run;
    k->source_has_work = false;
    if (!m->source.take(m->source.arg, kind_of(m, k), &run))
        return NULL;
    struct task *t = make(m, &run);
    if (t) {
        k->source_has_work = true;
        m->kept_out++;
    }
    m->source.given(m->source.arg, run.owner, t);
    return t;
}

void job_source_tell_full(struct manager *m, struct manager_kind *k, bool full)
{
    if (k->full == full)
        return;
    k->full = full;
    m->source.full(m->source.arg, kind_of(m, k), full);
}

void job_source_stop(struct manager *m, bool cancel)
{
    if (!m->has_source)
        return;
    m->kept_stopped = true;
    for (unsigned i = 0; i < KINDS; i++)
        m->kinds[i].source_has_work = false;
    m->source.stop(m->source.arg, cancel);
}

/* Its notes were posted before it went home, so they are in the list by now. */
void job_source_receive(struct manager *m, struct task *t)
{
    struct attempt *attempt = t->attempt;
    struct outcome outcome;
    job_source_take_notes(m);
    task_outcome(t, &outcome);
    const struct attempt_end r = {.owner = attempt->owner,
                                  .attempt = attempt->attempt,
                                  .started = attempt_stage(t) != ATTEMPT_ASSIGNED,
                                  .told = attempt->told,
                                  .again = attempt->again && t->error == ERGON_OK,
                                  .after = attempt->after,
                                  .outcome = &outcome};
    m->kept_out--;
    m->source.returned(m->source.arg, &r);
    if (outcome.error == ERGON_OK)
        t->result_block = outcome.block;
    m->kinds[kind_index(t->method->handler->kind)].source_has_work = !m->kept_stopped;
    look_again(m);
}

void attempt_flag(struct tasks *t, struct task *attempt, enum attempt_flag flag)
{
    uint8_t bit = flag == ATTEMPT_CANCEL ? TASK_CANCELLED : TASK_LATE;
    atomic_fetch_or_explicit(&attempt->flags, bit, memory_order_relaxed);
    manager_note_flagged(&t->manager);
    tasks_notify(t, attempt->method->handler->kind);
}

enum attempt_stage attempt_stage(const struct task *attempt)
{
    return (enum attempt_stage)atomic_load_explicit(&attempt->attempt->stage, memory_order_relaxed);
}

void attempt_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size)
{
    const struct executor *e = attempt->attempt->executor;
    (void)t;
    buf[0] = '\0';
    if (e)
        executor_name(e, buf, size);
}
