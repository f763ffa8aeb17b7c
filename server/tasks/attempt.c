#include "server/tasks/attempt.h"

bool attempt_claim(struct task *t, ao_time now)
{
    struct attempt *a = t->attempt;
    uint8_t stage = ATTEMPT_ASSIGNED;
    atomic_store_explicit(&a->began, now, memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&a->stage, &stage, ATTEMPT_RUNNING,
                                                 memory_order_release, memory_order_relaxed))
        return false;
    if (a->timeout < t->deadline && now < t->deadline - a->timeout)
        t->deadline = now + a->timeout;
    if (a->mark) {
        atomic_store_explicit(&a->mark->began, now, memory_order_relaxed);
        atomic_store_explicit(&a->mark->stage, MARK_BEGUN, memory_order_release);
    }
    return true;
}
