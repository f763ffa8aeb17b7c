/* How a call ends: its task comes home, its deadline passes, it is cancelled, or the server stops.
 * The first of these is the owner's answer. */
#include "server/tasks/calls/home.h"

#include <stdlib.h>

#include <ergon/port.h>

#include "base/recorder.h"
#include "base/tracepoint.h"
#include "server/runtime/activator.h"
#include "server/runtime/object/object.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"
#include "server/tasks/task.h"
#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"

enum { INTAKE_BUDGET = 256 /* tasks of one lane, a step */ };

static void count(struct home *h, enum ergon_error error)
{
    if (error == ERGON_OK)
        counter_add(&h->done, 1);
    else if (error == ERGON_E_CANCELLED)
        counter_add(&h->cancelled, 1);
    else if (error == ERGON_E_DEADLINE)
        counter_add(&h->late, 1);
    else
        counter_add(&h->failed, 1);
}

/* Due already or not: what comes next in it is another call. */
static void stop_timer(struct call_record *record)
{
    if (ao_state(&record->timer) != AO_STATE_INACTIVE)
        ao_deactivate(&record->timer);
}

static inline void end_call(struct home *h, struct call_record *record, const struct task *t,
                            struct outcome *outcome)
{
    assert(record->open); /* each call is answered once */
    TRACEPOINT4(answer, t->number, t->method->name.at, t->method->name.len,
                (int32_t)outcome->error);
    call_unlink(&record->call);
    if (__builtin_expect(record->trace != NULL, 0))
        task_trace_end(record->trace, outcome);
    record->open = false;
    count(h, outcome->error);
    stop_timer(record);
    record->ended(record->arg, &record->call, outcome);
    calls_give(&h->calls, record);
}

void home_unwant(struct home *h, struct task *t)
{
    LIST_REMOVE(t, living);
    LIST_INSERT_HEAD(&h->unwanted, t, living);
    ao_post(t->executor->handle, AO_POST_ACTIVATE);
}

static void flag_task(struct home *h, const struct call_record *record, enum task_flag flag)
{
    struct tasks_shared *shared = h->shared;
    struct task *t = record->call.task;
    /* Before the look at what runs: see executors_notify(). */
    atomic_fetch_or_explicit(&t->flags, (uint8_t)flag, memory_order_seq_cst);
    if (!record->managed) {
        home_unwant(h, t);
        return;
    }
    manager_note_flagged(&shared->inbox);
    executors_notify(&t->method->pool->group, t->number);
}

/* What the flight recorder tells of a call that ends.  `busy`: ns in its handler, 0: not known. */
static void record_end(struct home *h, const struct call_record *record, const struct task *t,
                       ao_time busy, enum ergon_error error)
{
    ao_time passed = activator_now(h->activator) - record->call.began;
    if (error != ERGON_OK)
        recorder_note(h->recorder, RECORDER_FAILED, (uint64_t)error);
    if (busy > 0)
        recorder_span(h->recorder, RECORDER_RUN, t->number, busy);
    recorder_span(h->recorder, RECORDER_WAIT, t->number, passed > busy ? passed - busy : 0);
    recorder_task(h->recorder, t->method->mark, t->number);
}

/* Nobody wants the result any more, for a reason of home's own. */
static void end_early(struct home *h, struct call_record *record, enum task_flag flag,
                      enum ergon_error error)
{
    struct outcome outcome;
    assert(record->open);
    outcome_of(error, &outcome);
    record_end(h, record, record->call.task, 0, error); /* another has it, and its time */
    flag_task(h, record, flag);
    end_call(h, record, record->call.task, &outcome);
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
    task_discharge(t);
    task_lower_reserve(t);
    task_outcome(t, &outcome);
    record_end(h, record, t, task_is(t, TASK_TIMED) ? t->busy : 0, outcome.error);
    end_call(h, record, t, &outcome);
    task_take_back(t, &outcome);
}

void home_free_task(struct home *h, struct task *t)
{
    if (task_is(t, TASK_ALONE))
        task_discard(t);
    else
        home_free_own(h, t);
}

/* Its wait was its job's, whose history tells it. */
static void record_attempt(struct home *h, const struct task *t)
{
    if (t->error != ERGON_OK)
        recorder_note(h->recorder, RECORDER_FAILED, (uint64_t)t->error);
    if (task_is(t, TASK_TIMED))
        recorder_span(h->recorder, RECORDER_RUN, t->number, t->busy);
    recorder_task(h->recorder, t->method->mark, t->number);
}

/* The manager's own step looks at the list itself; after another's it goes on at once. */
static void keep_returned(struct home *h, struct task *t)
{
    bool first = !h->returned;
    record_attempt(h, t);
    t->next = NULL;
    *h->returned_end = t;
    h->returned_end = &t->next;
    if (first && ao_current() != h->shared->inbox.manager)
        ao_run_next(h->shared->inbox.manager);
}

struct task *home_take_returned(struct home *h)
{
    struct task *t = h->returned;
    if (t && !(h->returned = t->next))
        h->returned_end = &h->returned;
    return t;
}

void home_receive(struct home *h, struct task *t)
{
    assert(t->owner == TASK_OF_HOME);
    if (__builtin_expect(task_is(t, TASK_ATTEMPT), 0)) {
        keep_returned(h, t);
        return;
    }
    home_answer(h, t);
    home_free_task(h, t);
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

static void cancel_all(struct home *h)
{
    struct call_record *record = calls_open_from(&h->calls, 0);
    for (; record; record = calls_open_from(&h->calls, record->call.index + 1))
        end_early(h, record, TASK_CANCELLED, ERGON_E_CANCELLED);
}

static void act_on_stop_requests(struct home *h)
{
    uint32_t requests = atomic_load_explicit(&h->shared->inbox.stop_requests, memory_order_acquire);
    if (requests == h->stop_requests)
        return;
    bool cancel = (requests | STOP_DRAIN_JOBS) != (h->stop_requests | STOP_DRAIN_JOBS);
    h->stop_requests = requests;
    if (cancel)
        cancel_all(h);
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct home *h = ao_of(self, struct home, intake);
    bool empty = true;
    for (uint32_t i = 0; i < h->inlet_count; i++)
        empty &= drain(h, h->inlets[i]);
    bool more = calls_shrink(&h->calls);
    act_on_stop_requests(h);
    return empty && !more ? AO_DONE : AO_AGAIN;
}

static const struct ao_class intake_class = {.name = "home", .step = intake_step};

/* The deadline has passed. */
static enum ao_verdict timer_step(struct ao *self)
{
    struct call_record *record = ao_of(self, struct call_record, timer);
    if (record->open)
        end_early(record->home, record, TASK_LATE, ERGON_E_DEADLINE);
    return AO_DONE;
}

const struct ao_class home_timer_class = {.name = "deadline", .step = timer_step};

void home_end_by(struct home *h, call_ended_fn *ended)
{
    h->ended = ended;
}

uint64_t call_task_number(const struct call *call)
{
    return call->task ? call->task->number : 0;
}

const char *call_method_name(const struct call *call)
{
    return call->task ? method_name(call->task->method) : NULL;
}

const struct trace_context *call_trace(const struct call *call)
{
    const struct task_trace *trace = call->task ? task_trace(call->task) : NULL;

    return trace ? &trace->link.context : NULL;
}

void home_ask(struct home *h)
{
    ao_post(h->handle, AO_POST_ACTIVATE);
}

int home_init(struct home *h, struct tasks_shared *shared, uint32_t index,
              struct activator *activator, uint32_t inlets)
{
    h->shared = shared;
    h->index = index;
    h->activator = activator;
    h->recorder = activator_recorder(activator);
    h->returned_end = &h->returned;
    LIST_INIT(&h->unwanted);
    slab_init(&h->slab, sizeof(struct task), SLAB_KEPT);
    calls_init(&h->calls);
    ao_init(&h->intake, &intake_class, activator);
    h->handle = ao_handle_new(&h->intake);
    h->port = ao_port_new(activator);
    h->inlets = calloc(inlets, sizeof(struct lane *));
    return h->handle && h->port && h->inlets ? 0 : -1;
}

int home_add_inlet(struct home *h, struct lane *l, uint32_t capacity, struct activator *producer)
{
    if (lane_init(l, capacity, producer, &h->intake) != 0)
        return -1;
    h->inlets[h->inlet_count++] = l;
    return 0;
}

void home_fini(struct home *h)
{
    if (!h->activator)
        return;
    task_lane_close(&h->to_manager);
    free(h->inlets);
    free(h->snapshots);
    if (ao_state(&h->intake) == AO_STATE_ACTIVE)
        ao_deactivate(&h->intake);
    ao_fini(&h->intake);
    if (h->handle)
        ao_handle_unref(h->handle);
    ao_port_free(h->port);
    calls_fini(&h->calls);
    slab_fini(&h->slab);
}
