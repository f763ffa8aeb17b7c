#include "server/tasks/manager/manager_inbox.h"

#include "server/accounts/tally.h"
#include "server/runtime/object/object.h"
#include "server/tasks/manager/pool.h"

enum {
    SWEEP_PART = 8,   /* the queue is swept when this part of its room may be flagged */
    RESERVE_PART = 8, /* so much more than its room is there for principals that have few in it */
    RESERVE_LEAST = 64
};

static void wake(void *arg)
{
    manager_ask(arg);
}

int manager_inbox_init(struct manager_inbox *in, struct ao *manager, struct activator *activator,
                       uint32_t queue_max)
{
    in->activator = activator;
    in->manager = manager;
    assert(queue_max > 0);
    in->queue_max = queue_max;
    in->reserve = queue_max / RESERVE_PART;
    if (in->reserve < RESERVE_LEAST)
        in->reserve = RESERVE_LEAST;
    mpsc_init(&in->tasks);
    mpsc_init(&in->notes);
    mpsc_init(&in->updates);
    waker_init(&in->waiting_for_workers, wake, in);
    in->handle = ao_handle_new(manager);
    return in->handle ? 0 : -1;
}

void manager_inbox_fini(struct manager_inbox *in)
{
    struct mpsc_item *next;
    if (!in->handle)
        return;
    for (struct mpsc_item *item = mpsc_take(&in->tasks); item; item = next) {
        next = item->next;
        task_discard(ao_of(item, struct task, inbox));
    }
    ao_handle_unref(in->handle);
}

static uint64_t admitted_one(const struct pool *pool)
{
    return (uint64_t)pool->stepped << 32 | 1;
}

/* `own` of them are those of the principal. */
static bool reserve_left(const struct manager_inbox *in, uint64_t queued, uint64_t own)
{
    uint64_t most = (uint64_t)in->queue_max + in->reserve;
    return queued < most && own < most - queued && 2 * own < in->queue_max;
}

bool manager_admit(struct manager_inbox *in, const struct pool *pool, const struct tally *whose,
                   bool always)
{
    uint64_t one = admitted_one(pool);
    uint32_t queued = (uint32_t)atomic_fetch_add_explicit(&in->admitted, one, memory_order_relaxed);
    uint32_t own = 0;
    if (whose)
        own = atomic_fetch_add_explicit(&whose->account->queued, 1, memory_order_relaxed);
    if (always || queued < in->queue_max || (whose && reserve_left(in, queued, own)))
        return true;
    manager_dismiss(in, pool, 1);
    manager_dismiss_of(whose);
    return false;
}

void manager_dismiss(struct manager_inbox *in, const struct pool *pool, uint32_t count)
{
    uint64_t was =
        atomic_fetch_sub_explicit(&in->admitted, count * admitted_one(pool), memory_order_relaxed);
    assert((uint32_t)was >= count);
    (void)was;
}

void manager_dismiss_of(const struct tally *whose)
{
    if (whose)
        atomic_fetch_sub_explicit(&whose->account->queued, 1, memory_order_relaxed);
}

void manager_post(struct manager_inbox *in, struct task *t)
{
    assert(t->owner == TASK_OF_MANAGER);
    if (mpsc_push(&in->tasks, &t->inbox))
        manager_ask(in);
}

void manager_requeue(struct manager_inbox *in, struct task *t)
{
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_MANAGER);
    task_set(t, TASK_RETURNED);
    manager_admit(in, t->method->pool, t->tally, true);
    manager_post(in, t);
}

void manager_ask(struct manager_inbox *in)
{
    ao_post(in->handle, AO_POST_ACTIVATE);
}

static uint32_t sweep_part(const struct manager_inbox *in)
{
    uint32_t part = in->queue_max / SWEEP_PART;
    return part ? part : 1;
}

void manager_note_flagged(struct manager_inbox *in)
{
    uint32_t was = atomic_fetch_add_explicit(&in->flagged, 1, memory_order_relaxed);
    if (was + 1 == sweep_part(in))
        manager_ask(in);
}

bool manager_take_flagged(struct manager_inbox *in)
{
    if (atomic_load_explicit(&in->flagged, memory_order_relaxed) < sweep_part(in))
        return false;
    atomic_store_explicit(&in->flagged, 0, memory_order_relaxed);
    return true;
}

/* On the manager's own thread nothing runs beside it, and its announcement is seen without the
 * fence: it gives more as soon as the executor's step is over. */
static void tell_of_room(struct manager_inbox *in, struct waker *waiting,
                         const struct activator *from)
{
    if (from != in->activator) {
        waker_notify(waiting);
    } else if (waker_announced(waiting)) {
        waker_retract(waiting);
        ao_run_next(in->manager);
    }
}

void manager_on_capacity(struct manager_inbox *in, struct pool *pool, const struct activator *from)
{
    tell_of_room(in, &pool->waiting_for_room, from); /* E2 of the argument in manager.c */
}

void manager_on_worker(struct manager_inbox *in, const struct activator *from)
{
    tell_of_room(in, &in->waiting_for_workers, from);
}
