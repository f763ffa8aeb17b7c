/* Which activator the calling thread runs. */
#include <assert.h>

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

void activator_assert_owner(const struct activator *a)
{
    assert(current_activator == a || !atomic_load_explicit(&a->running, memory_order_relaxed));
    (void)a;
}
