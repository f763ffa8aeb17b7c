/* Which activator the calling thread runs. */
#include "base/check.h"
#include "server/runtime/state.h"

static _Thread_local struct activator *current_activator;

struct activator *activator_enter(struct activator *a)
{
    struct activator *before = current_activator;
    current_activator = a;
    atomic_store_explicit(&a->running, true, memory_order_relaxed);
    return before;
}

void activator_exit(struct activator *a, struct activator *before)
{
    current_activator = before;
    if (before != a)
        atomic_store_explicit(&a->running, false, memory_order_relaxed);
}

struct activator *activator_current(void)
{
    return current_activator;
}

bool activator_owned(const struct activator *a)
{
    return current_activator == a || !atomic_load_explicit(&a->running, memory_order_relaxed);
}

void activator_assert_owner(const struct activator *a)
{
    require(activator_owned(a), "called on a thread that is not the activator's");
}
