/* Kept tasks pass through: asked from the source, made at home with the manager, returned. */
#include "server/tasks/kept_parts.h"

#include "server/tasks/tasks_parts.h"

void tasks_set_source(struct tasks *t, const struct kept_source *source)
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

void kept_wake(struct tasks *t)
{
    struct manager *m = &t->manager;
    for (unsigned i = 0; i < KINDS; i++)
        m->kinds[i].hopes = !m->kept_stopped;
    look_again(m);
}

static enum ergon_kind kind_of(const struct manager *m, const struct manager_kind *k)
{
    return k == &m->kinds[kind_index(ERGON_STEPPED)] ? ERGON_STEPPED : ERGON_BLOCKING;
}

/* `hopes` is cleared first: what the source says meanwhile counts. */
bool kept_ready(struct manager *m, struct manager_kind *k, uint32_t room)
{
    k->hopes = false;
    bool ready = m->source.ready(m->source.arg, kind_of(m, k), room);
    k->hopes |= ready;
    return ready;
}

static struct task *make(struct manager *m, const struct kept_run *run)
{
    struct task *t = home_make_task(&m->home, run->method, run->params, run->deadline);
    if (!t)
        return NULL;
    task_mark(t, TASK_KEPT);
    t->kept = task_own_memory(t, sizeof *t->kept); /* the first in it: it fits */
    *t->kept = (struct kept){.owner = run->owner, .id = run->id, .attempt = run->attempt};
    return t;
}
_Static_assert(sizeof(struct kept) <= TASK_MEMORY / 2, "most is left to state and result");

struct task *kept_take(struct manager *m, struct manager_kind *k)
{
    struct kept_run run;
    k->hopes = false;
    if (!m->source.take(m->source.arg, kind_of(m, k), &run))
        return NULL;
    struct task *t = make(m, &run);
    if (t) {
        k->hopes = true;
        m->kept_out++;
    }
    m->source.given(m->source.arg, run.owner, t);
    return t;
}

void kept_tell_full(struct manager *m, struct manager_kind *k, bool full)
{
    if (k->full == full)
        return;
    k->full = full;
    m->source.full(m->source.arg, kind_of(m, k), full);
}

void kept_stop(struct manager *m, bool cancel)
{
    if (!m->has_source)
        return;
    m->kept_stopped = true;
    for (unsigned i = 0; i < KINDS; i++)
        m->kinds[i].hopes = false;
    m->source.stop(m->source.arg, cancel);
}

/* Its notes were posted before it went home, so they are in the list by now. */
void kept_receive(struct manager *m, struct task *t)
{
    struct kept *kept = t->kept;
    struct outcome outcome;
    kept_take_notes(m);
    task_outcome(t, &outcome);
    const struct kept_return r = {.owner = kept->owner,
                                  .attempt = kept->attempt,
                                  .started = kept_stage(t) != KEPT_ASSIGNED,
                                  .told = kept->told,
                                  .again = kept->again && t->error == ERGON_OK,
                                  .after = kept->after,
                                  .outcome = &outcome};
    m->kept_out--;
    m->source.returned(m->source.arg, &r);
    if (outcome.error == ERGON_OK)
        t->result_block = outcome.block;
    m->kinds[kind_index(t->method->handler->kind)].hopes = !m->kept_stopped;
    look_again(m);
}

void kept_flag(struct tasks *t, struct task *attempt, enum kept_flag flag)
{
    uint8_t bit = flag == KEPT_CANCEL ? TASK_CANCELLED : TASK_LATE;
    atomic_fetch_or_explicit(&attempt->flags, bit, memory_order_relaxed);
    manager_note_flagged(&t->manager);
    tasks_poke(t, attempt->method->handler->kind);
}

enum kept_stage kept_stage(const struct task *attempt)
{
    return (enum kept_stage)atomic_load_explicit(&attempt->kept->stage, memory_order_relaxed);
}

void kept_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size)
{
    const struct executor *e = attempt->kept->executor;
    (void)t;
    buf[0] = '\0';
    if (e)
        executor_name(e, buf, size);
}
