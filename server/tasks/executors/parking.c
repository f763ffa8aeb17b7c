#include "server/tasks/executors/parking.h"

#include "server/accounts/tally.h"
#include "server/tasks/task.h"

enum { RESERVE_PART = 8, RESERVE_LEAST = 64 };

uint64_t parking_most(const struct executor *e)
{
    uint64_t reserve = e->plan.parked / RESERVE_PART;
    return e->plan.parked + (reserve < RESERVE_LEAST ? RESERVE_LEAST : reserve);
}

bool parking_for(const struct executor *e, const struct tally *whose, bool job)
{
    if (parking_free(e))
        return true;
    uint64_t taken = counter_read(&e->parked) + counter_read(&e->turning), most = parking_most(e);
    if (taken >= most)
        return false;
    if (job || !whose)
        return job;
    uint64_t own = atomic_load_explicit(&whose->account->places, memory_order_relaxed);
    return own < most - taken && 2 * own < e->plan.parked;
}

void parking_take(struct task *t)
{
    if (!t->tally || task_is(t, TASK_PLACED))
        return;
    task_set(t, TASK_PLACED);
    atomic_fetch_add_explicit(&t->tally->account->places, 1, memory_order_relaxed);
}

void parking_leave(struct task *t)
{
    if (!task_is(t, TASK_PLACED))
        return;
    task_clear(t, TASK_PLACED);
    atomic_fetch_sub_explicit(&t->tally->account->places, 1, memory_order_relaxed);
}
