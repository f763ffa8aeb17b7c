/* How a call begins: run here and now by the local short cut, or sent to the manager. */
#include "base/recorder.h"
#include "base/tracepoint.h"
#include "proto/msgid.h"
#include "server/accounts/tally.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"

enum { NUMBERS_A_HOME = 1000000000 };

/* The number of a task names its home too: home 0 has 1, 2, 3 ... */
static uint64_t next_number(struct home *h)
{
    return (uint64_t)h->index * NUMBERS_A_HOME + ++h->numbers;
}

uint64_t home_next_number(const struct home *h)
{
    return (uint64_t)h->index * NUMBERS_A_HOME + h->numbers + 1;
}

inline struct task *home_make_task(struct home *h, struct method *m, struct span params,
                                   ao_time deadline)
{
    struct task *t = slab_take(&h->slab);
    if (!t)
        return NULL;
    task_begin(t, m, params, deadline);
    t->home = (uint16_t)h->index;
    t->number = t->chain = next_number(h);
    t->call_index = CALL_NONE;
    return t;
}

static void fill_call(struct call *c, const struct call_request *rq)
{
    c->owner = rq->owner;
    c->list = rq->list;
    c->msgid_len = (uint8_t)rq->msgid.len;
    c->tag = rq->tag;
    msgid_copy(c->msgid, rq->msgid);
}

static void start_timer(struct call_record *record, ao_time deadline)
{
    if (deadline != AO_NEVER)
        ao_sleep_until(&record->timer, deadline);
}

/* The owner of a nested call is no connection. */
static void charge(const struct home *h, struct task *t, struct call_record *record,
                   const struct call_plan *plan)
{
    record->call.held = task_charge(t, plan->request->tally);
    if (h->opened && !plan->parent)
        h->opened(h->arg, &record->call);
}

/* Opens a record for a task that will end later. */
static inline bool open_call(struct home *h, struct task *t, const struct call_plan *plan,
                             bool managed)
{
    struct call_record *record = calls_take(&h->calls, h, &home_timer_class, h->activator);
    if (!record)
        return false;
    fill_call(&record->call, plan->request);
    record->call.held = 0;
    record->call.task = t;
    record->call.began = activator_now(h->activator);
    record->ended = plan->ended;
    record->arg = plan->arg;
    record->open = true;
    record->managed = managed;
    record->trace = task_trace(t);
    if (plan->request->tally)
        charge(h, t, record, plan);
    t->call_index = record->call.index;
    t->call_generation = record->call.generation;
    call_link(&record->call);
    start_timer(record, t->deadline);
    return true;
}

static void answer_in_place(struct home *h, struct task *t, const struct call_request *rq)
{
    struct call call = {.task = t};
    struct outcome outcome;
    assert(t->call_index == CALL_NONE); /* there is no record that would be answered, too */
    fill_call(&call, rq);
    task_outcome(t, &outcome);
    if (__builtin_expect(outcome.error == ERGON_OK, 1)) {
        counter_add(&h->done, 1);
    } else {
        counter_add(&h->failed, 1);
        recorder_note(h->recorder, RECORDER_FAILED, outcome.error);
    }
    recorder_task(h->recorder, t->method->mark, t->number);
    TRACEPOINT4(answer, t->number, t->method->name.at, t->method->name.len, (int32_t)outcome.error);
    h->ended(h->arg, &call, &outcome);
    task_take_back(t, &outcome);
    home_free_own(h, t);
}

/* It did not end in its first step.  Without memory it is dropped, as if it had not been taken. */
static enum ergon_error let_live_on(struct home *h, struct task *t, const struct call_request *rq)
{
    const struct call_plan plan = {.request = rq, .ended = h->ended, .arg = h->arg};
    if (task_keep_params(t) && open_call(h, t, &plan, false)) {
        stepped_charge(t);
        return ERGON_OK;
    }
    stepped_drop(h->own, t);
    return ERGON_E_MEMORY;
}

static void end_span(struct task *t)
{
    struct outcome outcome;
    task_outcome(t, &outcome);
    task_trace_end(task_trace(t), &outcome);
}

/* The handler's first step reads the caller's bytes. */
static inline __attribute__((always_inline)) enum ergon_error
call_in_place(struct home *h, struct method *m, const struct call_request *rq,
              const struct trace_link *trace)
{
    struct task *t = home_make_task(h, m, rq->params, rq->deadline);
    if (!t)
        return ERGON_E_MEMORY;
    if (trace && !task_join_trace(t, trace, h->shared->plan.tracer)) {
        home_free_own(h, t);
        return ERGON_E_MEMORY;
    }
    counter_add(&h->short_cuts, 1);
    h->serving = rq;
    if (!stepped_run_in_place(h->own, t))
        return let_live_on(h, t, rq);
    if (trace)
        end_span(t);
    answer_in_place(h, t, rq);
    return ERGON_OK;
}

static bool comes_first(const struct home *h)
{
    const struct tasks_shared *shared = h->shared;
    if (!h->snapshots)
        return true;
    const struct executor_group *g = &shared->local[POOL_STEPPED]->group;
    int own = PLACEMENT_NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        executor_snapshot(g->list[i], &h->snapshots[i]);
        if (g->list[i] == &h->own->base)
            own = (int)i;
    }
    return placement_choose(shared->plan.policy, h->snapshots, g->count, own, own) == own;
}

bool home_calls_full(const struct tally *whose)
{
    return whose && account_calls_full(whose->account, &whose->change);
}

/* What would live on, as far as is known, and would be one call too many. */
static bool may_not_live_on(const struct method *m, const struct call_request *rq)
{
    return atomic_load_explicit(&m->wants_place, memory_order_relaxed) &&
           home_calls_full(rq->tally);
}

/* While nothing is queued for stepped executors, and this loop's executor would come out first
 * anyway. */
static bool takes_itself(const struct home *h, const struct method *m,
                         const struct call_request *rq)
{
    return h->short_cut && m->handler->kind == ERGON_STEPPED && !may_not_live_on(m, rq) &&
           !m->managed && stepped_idle(h->own, m) && manager_stepped_empty(&h->shared->inbox) &&
           comes_first(h);
}

static bool too_late(const struct home *h, const struct call_request *rq)
{
    return rq->deadline != AO_NEVER && rq->deadline <= activator_now(h->activator);
}

static void answer_late(struct home *h, const struct call_request *rq)
{
    struct call call = {0};
    struct outcome outcome;
    fill_call(&call, rq);
    outcome_of(ERGON_E_DEADLINE, &outcome);
    counter_add(&h->late, 1);
    h->ended(h->arg, &call, &outcome);
}

enum ergon_error home_call(struct home *h, struct method *m, const struct call_request *rq)
{
    const struct trace_link *trace = rq->trace;
    if (too_late(h, rq)) {
        answer_late(h, rq);
        return ERGON_OK;
    }
    if (takes_itself(h, m, rq))
        return call_in_place(h, m, rq, trace);
    const struct call_plan plan = {.request = rq, .ended = h->ended, .arg = h->arg, .trace = trace};
    return home_send(h, m, &plan);
}

static bool inherit(struct home *h, struct task *t, const struct task *parent)
{
    if (tracepoint_watched(call))
        TRACEPOINT5(call, t->number, t->method->name.at, t->method->name.len, UINT64_C(0),
                    activator_now(h->activator));
    t->depth = (uint8_t)(parent->depth + 1);
    t->chain = parent->chain;
    if (parent->deadline < t->deadline)
        t->deadline = parent->deadline;
    struct trace_link trace = task_trace_link(parent);
    return task_join_trace(t, &trace, h->shared->plan.tracer);
}

enum ergon_error home_send(struct home *h, struct method *m, const struct call_plan *plan)
{
    const struct call_request *rq = plan->request;
    struct manager_inbox *manager = &h->shared->inbox;
    enum ergon_error refused = plan->message ? ERGON_OK : method_refuses(m);
    if (refused != ERGON_OK)
        return refused;
    if ((!plan->parent && home_calls_full(rq->tally)) ||
        !manager_admit(manager, m->pool, rq->tally, plan->parent != NULL)) {
        counter_add(&h->busy, 1);
        atomic_fetch_add_explicit(&m->busy, 1, memory_order_relaxed);
        return ERGON_E_BUSY;
    }
    struct task *t = home_make_task(h, m, rq->params, rq->deadline);
    if (!t)
        goto fail_admitted;
    if (plan->parent && !inherit(h, t, plan->parent))
        goto fail_task;
    if (plan->message)
        task_set(t, TASK_MESSAGE);
    if (plan->trace && !task_join_trace(t, plan->trace, h->shared->plan.tracer))
        goto fail_task;
    if (!task_keep_params(t) || !open_call(h, t, plan, true))
        goto fail_task;
    counter_add(&h->managed, 1);
    t->made = activator_now(h->activator);
    task_pass(t, TASK_OF_HOME, TASK_OF_MANAGER);
    lane_push(&h->to_manager, &t->item);
    return ERGON_OK;

fail_task:
    home_free_own(h, t);
fail_admitted:
    manager_dismiss(manager, m->pool, 1);
    manager_dismiss_of(rq->tally);
    return ERGON_E_MEMORY;
}

static void outside_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct task *t = call->owner;
    (void)arg;
    t->added(t->added_arg, outcome);
}

bool home_adopt(struct home *h, struct task *t)
{
    const struct call_request request = {.owner = t, .deadline = t->deadline};
    const struct call_plan plan = {.request = &request, .ended = outside_ended};
    t->number = t->chain = next_number(h);
    t->made = activator_now(h->activator);
    if (open_call(h, t, &plan, true)) {
        counter_add(&h->managed, 1);
        return true;
    }
    struct outcome outcome;
    outcome_of(ERGON_E_MEMORY, &outcome);
    manager_dismiss(&h->shared->inbox, t->method->pool, 1);
    t->added(t->added_arg, &outcome);
    task_discard(t);
    return false;
}
