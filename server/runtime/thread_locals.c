#include "server/runtime/thread_locals.h"

#include "base/check.h"
#include "server/runtime/state.h"

_Thread_local struct thread_locals thread_locals;

/* ---- which activator the calling thread runs ---- */

struct activator *activator_enter(struct activator *a)
{
    struct activator *before = thread_locals.activator;
    thread_locals.activator = a;
    atomic_store_explicit(&a->running, true, memory_order_relaxed);
    return before;
}

void activator_exit(struct activator *a, struct activator *before)
{
    thread_locals.activator = before;
    if (before != a)
        atomic_store_explicit(&a->running, false, memory_order_relaxed);
}

struct activator *activator_current(void)
{
    return thread_locals.activator;
}

bool activator_owned(const struct activator *a)
{
    return thread_locals.activator == a || !atomic_load_explicit(&a->running, memory_order_relaxed);
}

void activator_assert_owner(const struct activator *a)
{
    require(activator_owned(a), "called on a thread that is not the activator's");
}
