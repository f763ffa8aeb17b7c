/* How a call ends: its task comes home, its deadline passes, it is cancelled, or the server stops.
 * The first of these is told to the owner. */
#include <stdlib.h>

#include "server/tasks/calls/home.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/tasks_parts.h"

enum { INTAKE_BUDGET = 256 }; /* tasks of one lane, a step */

void outcome_of(enum ergon_error error, struct outcome *out)
{
    *out = (struct outcome){
        .error = error, .code = error_name(error), .text = span_text(error_meaning(error))};
}

void call_unlink(struct call *c)
{
    if (!c->list)
        return;
    if (c->prev)
        c->prev->next = c->next;
    else
        *c->list = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->prev = c->next = NULL;
}

static void count(struct home *h, enum ergon_error error)
{
    if (error == ERGON_OK)
        counter_add(&h->done, 1);
    else if (error == ERGON_E_CANCELLED || error == ERGON_E_DRAINING)
        counter_add(&h->cancelled, 1);
    else if (error == ERGON_E_DEADLINE)
        counter_add(&h->late, 1);
    else
        counter_add(&h->failed, 1);
}

static void say_quiet(struct home *h)
{
    if (!h->draining || h->calls.taken > 0)
        return;
    atomic_store_explicit(&h->quiet, true, memory_order_release);
    manager_ask(&h->tasks->manager);
}

/* Due already or not: what comes next in it is another call. */
static void stop_timer(struct call_record *record)
{
    if (ao_state(&record->timer) != AO_STATE_INACTIVE)
        ao_deactivate(&record->timer);
}

inline void home_end(struct home *h, struct call_record *record, struct outcome *outcome)
{
    call_unlink(&record->call);
    record->call.task = NULL;
    record->open = false;
    count(h, outcome->error);
    stop_timer(record);
    record->ended(record->arg, &record->call, outcome);
    calls_give(&h->calls, record);
    say_quiet(h);
}

static void flag_task(struct home *h, const struct call_record *record, enum task_flag flag)
{
    struct tasks *tasks = h->tasks;
    struct task *t = record->call.task;
    atomic_fetch_or_explicit(&t->flags, (uint8_t)flag, memory_order_relaxed);
    if (!record->managed) {
        stepped_unwant(h->own, t);
        return;
    }
    manager_note_flagged(&tasks->manager);
    tasks_notify(tasks, t->method->handler->kind);
}

/* Nobody wants the result any more, for a reason of home's own. */
static void end_early(struct home *h, struct call_record *record, enum task_flag flag,
                      enum ergon_error error)
{
    struct outcome outcome;
    outcome_of(error, &outcome);
    flag_task(h, record, flag);
    home_end(h, record, &outcome);
}

static struct call_record *record_of(struct call *call)
{
    return ao_of(call, struct call_record, call);
}

void home_cancel(struct home *h, struct call *call)
{
    end_early(h, record_of(call), TASK_CANCELLED, ERGON_E_CANCELLED);
}

void home_abandon(struct home *h, struct call *call)
{
    end_early(h, record_of(call), TASK_GONE, ERGON_E_CANCELLED);
}

inline void home_answer(struct home *h, struct task *t)
{
    struct call_record *record = calls_find(&h->calls, t->call_index, t->call_generation);
    if (!record)
        return;
    struct outcome outcome;
    task_outcome(t, &outcome);
    home_end(h, record, &outcome);
    if (outcome.error == ERGON_OK)
        t->result_block = outcome.block;
}

void home_receive(struct home *h, struct task *t)
{
    if (__builtin_expect(task_is(t, TASK_ATTEMPT), 0))
        job_source_receive(&h->tasks->manager, t);
    else
        home_answer(h, t);
    task_end(t);
    if (task_is(t, TASK_ALONE))
        free(t);
    else
        slab_give(&h->slab, t);
}

/* True: nothing is left in it. */
static bool drain(struct home *h, struct lane *l)
{
    int budget = INTAKE_BUDGET;
    for (; budget > 0; budget--) {
        struct lane_item *item = lane_take(l);
        if (!item)
            break;
        home_receive(h, ao_of(item, struct task, item));
    }
    lane_release(l);
    return budget > 0;
}

static void end_all(struct home *h)
{
    enum ergon_error error = h->draining ? ERGON_E_DRAINING : ERGON_E_CANCELLED;
    struct call_record *record = calls_open_from(&h->calls, 0);
    for (; record; record = calls_open_from(&h->calls, record->call.index + 1))
        end_early(h, record, TASK_CANCELLED, error);
}

static void act_on_stop_requests(struct home *h)
{
    uint32_t stop_requests = atomic_load_explicit(&h->tasks->stop_requests, memory_order_acquire);
    if (stop_requests == h->stop_requests)
        return;
    bool cancel = (stop_requests | STOP_DRAINS) != (h->stop_requests | STOP_DRAINS);
    bool drain = stop_requests & STOP_DRAIN && !h->draining;
    h->stop_requests = stop_requests;
    h->draining |= drain;
    if (cancel)
        end_all(h);
    if (drain)
        say_quiet(h);
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct home *h = ao_of(self, struct home, intake);
    bool empty = true;
    for (uint32_t i = 0; i < h->inlet_count; i++)
        empty &= drain(h, h->inlets[i]);
    calls_shrink(&h->calls);
    act_on_stop_requests(h);
    return empty ? AO_DONE : AO_AGAIN;
}

const struct ao_class home_intake_class = {.name = "home", .step = intake_step};

/* The deadline has passed. */
static enum ao_verdict timer_step(struct ao *self)
{
    struct call_record *record = ao_of(self, struct call_record, timer);
    if (record->open)
        end_early(record->home, record, TASK_LATE, ERGON_E_DEADLINE);
    return AO_DONE;
}

const struct ao_class home_timer_class = {.name = "deadline", .step = timer_step};

void home_ask(struct home *h)
{
    ao_post(h->handle, AO_POST_ACTIVATE);
}
