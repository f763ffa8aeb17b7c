/* Jobs pass through: asked from the source, made at home with the manager, returned; and what their
 * handlers say meanwhile. */
#include "server/tasks/manager/job_source_parts.h"

#include <stdlib.h>

#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"
#include "server/tasks/tasks_parts.h"
#include "server/tasks/turn.h"
#include "server/tasks/worker_system.h"

enum {
    NOTES_MAX = 1 << 20 /* bytes of one attempt that nobody has taken yet */
};

void tasks_set_job_source(struct tasks *t, const struct job_source *source)
{
    t->shared.source = *source;
    t->shared.has_source = true;
}

const struct job_source *tasks_job_source(const struct tasks *t)
{
    return &t->shared.source;
}

uint32_t job_source_pool(const struct method *m)
{
    return m->attempts_pool->index;
}

uint64_t job_source_params_max(const struct tasks *t)
{
    return t->shared.plan.message_max;
}

struct activator *tasks_manager_activator(struct tasks *t)
{
    return t->manager.activator;
}

/* --- What handlers say --- */

struct note {
    struct mpsc_item item; /* first */
    struct task *task;     /* does not go home before the note is taken */
    enum note_kind kind;
    uint64_t done, total;
    uint32_t len;    /* of its text or data */
    uint8_t bytes[]; /* malloc'ed with the note */
};

static uint32_t size_of(const struct note *n)
{
    return (uint32_t)sizeof *n + n->len;
}

/* The first always fits. */
static bool count_in(struct attempt *attempt, uint32_t size)
{
    uint32_t before = atomic_fetch_add_explicit(&attempt->noted, size, memory_order_relaxed);
    if (before == 0 || before + size <= NOTES_MAX)
        return true;
    atomic_fetch_sub_explicit(&attempt->noted, size, memory_order_relaxed);
    return false;
}

bool attempt_post(struct task *t, const struct attempt_note *note)
{
    assert(task_is(t, TASK_ATTEMPT) && t->executor);
    struct tasks_shared *shared = t->executor->shared;
    struct span bytes = note->kind == NOTE_PROGRESS ? note->text : note->data;
    if (bytes.len > shared->plan.message_max || bytes.len > UINT32_MAX / 2)
        return false;
    if (note->kind == NOTE_PARTIAL && bytes.len > CHECKPOINT_MAX) /* more no history keeps */
        bytes = (struct span){0};
    struct note *n = malloc(sizeof *n + bytes.len);
    if (!n)
        return false;
    *n = (struct note){.task = t,
                       .kind = note->kind,
                       .done = note->done,
                       .total = note->total,
                       .len = (uint32_t)bytes.len};
    if (!count_in(t->attempt, size_of(n))) {
        free(n);
        return false;
    }
    if (bytes.len > 0)
        memcpy(n->bytes, bytes.at, bytes.len);
    if (mpsc_push(&shared->inbox.notes, &n->item))
        manager_ask(&shared->inbox);
    return true;
}

static void tell(struct manager *m, const struct note *n)
{
    struct attempt *attempt = n->task->attempt;
    struct span bytes = span_of(n->bytes, n->len);
    struct attempt_note note = {.owner = attempt->owner,
                                .attempt = attempt->attempt,
                                .kind = n->kind,
                                .done = n->done,
                                .total = n->total};
    *(n->kind == NOTE_PROGRESS ? &note.text : &note.data) = bytes;
    atomic_fetch_sub_explicit(&attempt->noted, size_of(n), memory_order_relaxed);
    m->shared->source.noted(m->shared->source.arg, &note);
}

static struct note *note_of(struct mpsc_item *item)
{
    return ao_of(item, struct note, item);
}

static void take_notes(struct manager *m, bool pass_on)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&m->shared->inbox.notes); item; item = next) {
        next = item->next;
        if (pass_on)
            tell(m, note_of(item));
        free(note_of(item));
    }
}

void job_source_free_notes(struct manager *m)
{
    take_notes(m, false);
}

/* --- Attempts --- */

/* Within the manager's own step activation does nothing, and `source_woken` makes it go on. */
static void look_again(struct manager *m)
{
    m->source_woken = true;
    ao_activate(&m->ao);
}

static void expect_work(struct manager *m, struct pool *p)
{
    if (m->jobs_stopped)
        return;
    p->source_has_work = true;
    pool_mark_ready(p);
}

void job_source_wake(struct tasks *t, uint32_t pool)
{
    struct manager *m = &t->manager;
    assert(pool < m->pool_count);
    expect_work(m, m->pools[pool]);
    look_again(m);
}

/* `source_has_work` is cleared first: what the source says meanwhile counts. */
bool job_source_ready(struct manager *m, struct pool *p, uint32_t room)
{
    assert(room > 0 && !m->jobs_stopped);
    p->source_has_work = false;
    bool ready = m->shared->source.ready(m->shared->source.arg, p->index, room);
    p->source_has_work |= ready;
    return ready;
}

static void set_batches(struct task *t, const struct attempt_batches *of)
{
    if (of->member_of == 0 && of->callback_of == 0)
        return;
    struct attempt_batches *kept = task_own_memory(t, sizeof *kept); /* it fits as well */
    *kept = *of;
    t->attempt->batches = kept;
}

static struct task *make(struct manager *m, const struct attempt_spec *run)
{
    struct task *t = home_make_task(&m->home, run->method, run->params, run->deadline);
    if (!t)
        return NULL;
    task_pass(t, TASK_OF_HOME, TASK_OF_MANAGER);
    task_set(t, TASK_ATTEMPT);
    t->executor = NULL;
    t->made = run->ready;
    t->attempt = task_own_memory(t, sizeof *t->attempt); /* the first in it: it fits */
    *t->attempt = (struct attempt){.owner = run->owner,
                                   .id = run->id,
                                   .attempt = run->attempt,
                                   .timeout = run->timeout,
                                   .mark = run->mark,
                                   .turn = run->turn,
                                   .sends = run->turn && !turn_is_of_actor(run->turn)};
    set_batches(t, &run->batches);
    if (run->trace)
        task_join_trace(t, run->trace, NULL); /* without memory it goes without */
    return t;
}
_Static_assert(sizeof(struct attempt) <= TASK_MEMORY / 2, "most is left to state and result");
_Static_assert(sizeof(struct attempt) + sizeof(struct attempt_batches) <= TASK_MEMORY, "both fit");

struct task *job_source_take(struct manager *m, struct pool *p)
{
    struct attempt_spec run;
    assert(!m->jobs_stopped);
    p->source_has_work = false;
    if (!m->shared->source.take(m->shared->source.arg, p->index, &run))
        return NULL;
    struct task *t = make(m, &run);
    if (t) {
        p->source_has_work = true;
        m->attempts_out++;
    } else { /* without memory the source puts off this one, and others may be ready */
        if (run.turn && !turn_is_of_actor(run.turn))
            turn_free(run.turn);
        expect_work(m, p);
        look_again(m);
    }
    m->shared->source.given(m->shared->source.arg, &run, t);
    return t;
}

void job_source_call(struct manager *m, struct task *t)
{
    const struct tasks_shared *shared = m->shared;
    manager_dismiss(&m->shared->inbox, t->method->pool, 1);
    manager_dismiss_of(t->tally);
    t->executor = NULL;
    if (shared->has_source && shared->source.call && !m->jobs_stopped) {
        shared->source.call(shared->source.arg, t);
        return;
    }
    enum ergon_error error = m->jobs_stopped ? ERGON_E_DRAINING : ERGON_E_NO_EXECUTOR;
    task_fail(t, error, NULL, span_text(error_meaning(error)));
    manager_send_home(m, t);
}

void job_source_called(struct tasks *t, struct task *call)
{
    manager_send_home(&t->manager, call);
}

void job_source_tell_full(struct manager *m, struct pool *p, bool full)
{
    if (p->full == full)
        return;
    p->full = full;
    m->shared->source.full(m->shared->source.arg, p->index, full);
}

void job_source_worker_joined(struct executor *e, const struct source_label *label)
{
    const struct job_source *source = &e->shared->source;
    if (e->shared->has_source && source->joined)
        e->label = source->joined(source->arg, label);
}

void job_source_worker_left(struct executor *e)
{
    if (e->label)
        e->shared->source.left(e->shared->source.arg, e->label);
    e->label = 0;
}

void job_source_stop(struct manager *m, bool cancel)
{
    if (!m->shared->has_source)
        return;
    m->jobs_stopped = true;
    for (uint32_t i = 0; i < m->pool_count; i++)
        m->pools[i]->source_has_work = false;
    m->shared->source.stop(m->shared->source.arg, cancel);
}

/* Of one that was withdrawn the source knows nothing any more. */
static void return_attempt(struct manager *m, struct task *t)
{
    const struct attempt *attempt = t->attempt;
    assert(t->owner == TASK_OF_HOME);
    struct outcome outcome;
    if (attempt_stage(t) == ATTEMPT_WITHDRAWN)
        return;
    task_outcome(t, &outcome);
    const struct attempt_end end = {.owner = attempt->owner,
                                    .attempt = attempt->attempt,
                                    .mark = attempt->mark,
                                    .turn = attempt->turn,
                                    .began = attempt_began(t),
                                    .cancel_seen = attempt->cancel_seen,
                                    .again = attempt->again && t->error == ERGON_OK,
                                    .after = attempt->after,
                                    .loss = (enum attempt_loss)attempt->loss,
                                    .why = attempt->loss ? t->text : (struct span){0},
                                    .outcome = &outcome};
    m->shared->source.returned(m->shared->source.arg, &end);
    task_take_back(t, &outcome);
}

static void end_attempt(struct manager *m, struct task *t)
{
    assert(task_is(t, TASK_ATTEMPT) && t->home == m->home.index && m->attempts_out > 0);
    m->attempts_out--;
    return_attempt(m, t);
    attempt_drop_sends(t->attempt);
    if (t->executor && t->executor->cls->attempt_back)
        t->executor->cls->attempt_back(t->executor);
    expect_work(m, t->method->attempts_pool);
}

/* An attempt's notes were posted before it went home, so they are in the list by now. */
void job_source_take_returns(struct manager *m)
{
    struct task *t;
    bool any = false;
    take_notes(m, true);
    while ((t = home_take_returned(&m->home))) {
        end_attempt(m, t);
        home_free_task(&m->home, t);
        any = true;
    }
    if (any && m->shared->source.settle)
        m->shared->source.settle(m->shared->source.arg);
}

void attempt_flag(struct tasks *t, struct task *attempt, enum attempt_flag flag)
{
    assert(attempt->attempt);
    uint8_t bit = flag == ATTEMPT_CANCEL ? TASK_CANCELLED : TASK_LATE;
    atomic_fetch_or_explicit(&attempt->flags, bit, memory_order_seq_cst);
    manager_note_flagged(&t->shared.inbox);
    executors_notify(&attempt->method->attempts_pool->group, attempt->number);
}

enum attempt_stage attempt_stage(const struct task *attempt)
{
    return (enum attempt_stage)atomic_load_explicit(&attempt->attempt->stage, memory_order_acquire);
}

ao_time attempt_began(const struct task *attempt)
{
    return atomic_load_explicit(&attempt->attempt->began, memory_order_relaxed);
}

/* The flag lets the thread that has the task drop it without a look at the stage. The task is in a
 * lane, or, given back, in the common queue. */
bool attempt_withdraw(struct tasks *t, struct task *attempt, const struct attempt_mark **mark)
{
    uint8_t stage = ATTEMPT_ASSIGNED;
    assert(attempt->attempt);
    if (!atomic_compare_exchange_strong_explicit(&attempt->attempt->stage, &stage,
                                                 ATTEMPT_WITHDRAWN, memory_order_acquire,
                                                 memory_order_acquire))
        return false;
    *mark = attempt->attempt->mark;
    atomic_fetch_or_explicit(&attempt->flags, TASK_GONE, memory_order_relaxed);
    manager_note_flagged(&t->shared.inbox);
    return true;
}

uint16_t attempt_label(const struct task *attempt)
{
    return attempt->executor ? attempt->executor->label : 0;
}

void attempt_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size)
{
    const struct executor *e = attempt->executor;
    (void)t;
    buf[0] = '\0';
    if (e)
        executor_name(e, buf, size);
}

uint32_t job_source_workers(struct tasks *t, const struct method *m, struct source_worker *out,
                            uint32_t most)
{
    const struct worker_system *workers = t->manager.workers;
    return workers ? workers->offering(&t->manager, m->attempts_pool, out, most) : 0;
}
