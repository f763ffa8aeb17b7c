/* How a call begins: run here and now by the local short cut, or sent to the manager. */
#include "server/tasks/calls/home.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/tasks_parts.h"

enum { LANE_TO_MANAGER = 1024, NUMBERS_A_HOME = 1000000000 };

/* The number of a task names its home too: home 0 has 1, 2, 3 ... */
uint64_t home_next_number(struct home *h)
{
    return (uint64_t)h->index * NUMBERS_A_HOME + ++h->numbers;
}

inline struct task *home_make_task(struct home *h, struct method *m, struct span params,
                                   ao_time deadline)
{
    struct task *t = slab_take(&h->slab);
    if (!t)
        return NULL;
    task_begin(t, m, params, deadline);
    t->home = (uint16_t)h->index;
    t->number = t->chain = home_next_number(h);
    t->call_index = CALL_NONE;
    return t;
}

static void free_task(struct home *h, struct task *t)
{
    task_end(t);
    slab_give(&h->slab, t);
}

static void fill_call(struct call *c, const struct call_request *rq)
{
    c->owner = rq->owner;
    c->list = rq->list;
    c->msgid_len = (uint8_t)rq->msgid.len;
    c->tag = rq->tag;
    for (uint8_t i = 0; i < c->msgid_len; i++)
        c->msgid[i] = rq->msgid.at[i];
}

void call_link(struct call *c)
{
    c->prev = NULL;
    c->next = NULL;
    if (!c->list)
        return;
    c->next = *c->list;
    if (c->next)
        c->next->prev = c;
    *c->list = c;
}

static void start_timer(struct call_record *record, ao_time deadline)
{
    if (deadline != AO_NEVER)
        ao_sleep_until(&record->timer, deadline);
}

/* Opens a record for a task that will end later. */
inline bool home_open_call(struct home *h, struct task *t, const struct call_order *order,
                           bool managed)
{
    struct call_record *record = calls_take(&h->calls, h, &home_timer_class, h->activator);
    if (!record)
        return false;
    fill_call(&record->call, order->request);
    record->call.task = t;
    record->ended = order->ended;
    record->arg = order->arg;
    record->open = true;
    record->managed = managed;
    t->call_index = record->call.index;
    t->call_generation = record->call.generation;
    call_link(&record->call);
    start_timer(record, t->deadline);
    return true;
}

static void answer_in_place(struct home *h, struct task *t, const struct call_request *rq)
{
    struct call call = {0};
    struct outcome outcome;
    fill_call(&call, rq);
    task_outcome(t, &outcome);
    counter_add(outcome.error == ERGON_OK ? &h->done : &h->failed, 1);
    h->ended(h->arg, &call, &outcome);
    if (outcome.error == ERGON_OK)
        t->result_block = outcome.block;
    free_task(h, t);
}

/* It did not end in its first step.  Without memory it is dropped, as if it had not been taken. */
static enum ergon_error let_live_on(struct home *h, struct task *t, const struct call_request *rq)
{
    const struct call_order order = {.request = rq, .ended = h->ended, .arg = h->arg};
    if (task_keep_params(t) && home_open_call(h, t, &order, false))
        return ERGON_OK;
    stepped_drop(h->own, t);
    return ERGON_E_MEMORY;
}

/* The handler's first step reads the caller's bytes. */
static enum ergon_error call_in_place(struct home *h, struct method *m,
                                      const struct call_request *rq)
{
    struct task *t = home_make_task(h, m, rq->params, rq->deadline);
    if (!t)
        return ERGON_E_MEMORY;
    counter_add(&h->short_cuts, 1);
    if (!stepped_run_in_place(h->own, t))
        return let_live_on(h, t, rq);
    answer_in_place(h, t, rq);
    return ERGON_OK;
}

static bool comes_first(const struct home *h)
{
    const struct tasks *tasks = h->tasks;
    if (!h->snapshots)
        return true;
    const struct manager_kind *k = manager_kind(&tasks->manager, ERGON_STEPPED);
    int own = PLACEMENT_NONE;
    for (uint32_t i = 0; i < k->count; i++) {
        executor_snapshot(k->executors[i], &h->snapshots[i]);
        if (k->executors[i] == &h->own->base)
            own = (int)i;
    }
    return placement_choose(tasks->plan.policy, h->snapshots, k->count, own, own) == own;
}

/* While nothing is queued for its kind, and this loop's executor would come out first anyway. */
static bool takes_itself(const struct home *h, const struct method *m,
                         const struct call_request *rq)
{
    return h->short_cut && m->handler->kind == ERGON_STEPPED &&
           !(m->handler->flags & ERGON_MANAGED) && !rq->no_short_cut && stepped_idle(h->own) &&
           manager_is_empty(&h->tasks->manager, ERGON_STEPPED) && comes_first(h);
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
    if (h->draining)
        return ERGON_E_DRAINING;
    if (too_late(h, rq)) {
        answer_late(h, rq);
        return ERGON_OK;
    }
    if (takes_itself(h, m, rq))
        return call_in_place(h, m, rq);
    const struct call_order order = {.request = rq, .ended = h->ended, .arg = h->arg};
    return home_order(h, m, &order);
}

static void inherit(struct task *t, const struct task *parent)
{
    t->depth = (uint8_t)(parent->depth + 1);
    t->chain = parent->chain;
    if (parent->deadline < t->deadline)
        t->deadline = parent->deadline;
}

enum ergon_error home_order(struct home *h, struct method *m, const struct call_order *order)
{
    const struct call_request *rq = order->request;
    struct manager *manager = &h->tasks->manager;
    if (!manager_admit(manager, m->handler->kind, order->parent != NULL)) {
        counter_add(&h->busy, 1);
        return ERGON_E_BUSY;
    }
    struct task *t = home_make_task(h, m, rq->params, rq->deadline);
    if (!t)
        goto fail_admitted;
    if (order->parent)
        inherit(t, order->parent);
    if (!task_keep_params(t) || !home_open_call(h, t, order, true))
        goto fail_task;
    counter_add(&h->managed, 1);
    lane_push(&h->to_manager, &t->item);
    return ERGON_OK;

fail_task:
    free_task(h, t);
fail_admitted:
    manager_dismiss(manager, m->handler->kind);
    return ERGON_E_MEMORY;
}

int home_init(struct home *h, struct tasks *tasks, uint32_t index, struct activator *activator,
              uint32_t inlets)
{
    h->tasks = tasks;
    h->index = index;
    h->activator = activator;
    slab_init(&h->slab, sizeof(struct task), SLAB_KEPT);
    calls_init(&h->calls);
    ao_init(&h->intake, &home_intake_class, activator);
    h->handle = ao_handle_new(&h->intake);
    h->port = ao_port_new(activator);
    h->inlets = calloc(inlets, sizeof(struct lane *));
    if (!h->handle || !h->port || !h->inlets)
        goto fail;
    if (h == &tasks->manager.home)
        return 0;
    if (lane_init(&h->to_manager, LANE_TO_MANAGER, activator, &tasks->manager.ao) == 0)
        return 0;
fail:
    home_fini(h);
    return -1;
}

void home_fini(struct home *h)
{
    if (h->to_manager.ring.slots)
        tasks_close_lane(&h->to_manager);
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

const char *home_name(const struct home *h, char *buf, size_t size)
{
    if (h == &h->tasks->manager.home)
        snprintf(buf, size, "manager");
    else
        snprintf(buf, size, "loop %u", h->index);
    return buf;
}
