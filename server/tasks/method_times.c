#include "server/tasks/method_times.h"

#include <stdlib.h>

const char *const failure_names[FAILURE_COUNT] = {
#define X(name, text) [FAILURE_##name] = text,
    FAILURES(X)
#undef X
};

static enum failure failure_of(enum ergon_error error)
{
    switch ((int)error) {
    case ERGON_E_FAILED:
        return FAILURE_HANDLER;
    case ERGON_E_BAD_PARAMS:
    case ERGON_E_NO_METHOD:
        return FAILURE_PARAMS;
    case ERGON_E_DEADLINE:
    case ERGON_E_CANCELLED:
        return FAILURE_UNWANTED;
    case ERGON_E_BUSY:
    case ERGON_E_MEMORY:
    case ERGON_E_TOO_LARGE:
    case ERGON_E_TOO_DEEP:
        return FAILURE_RESOURCES;
    case ERGON_E_WORKER_LOST:
    case ERGON_E_NO_WORKER:
        return FAILURE_LOST;
    default:
        return FAILURE_OTHER;
    }
}

/* NULL without memory. */
static struct method_times *times_of(struct times_slot *slot)
{
    struct method_times *t = atomic_load_explicit(&slot->times, memory_order_relaxed);
    if (t)
        return t;
    t = calloc(1, sizeof *t);
    atomic_store_explicit(&slot->times, t, memory_order_release);
    return t;
}

void times_note_wait(struct times_slot *slot, ao_time waited, unsigned count)
{
    struct method_times *t = times_of(slot);
    if (t)
        histogram_note(&t->wait, waited, count);
}

void times_note_run(struct times_slot *slot, ao_time took, unsigned count)
{
    struct method_times *t = times_of(slot);
    if (t)
        histogram_note(&t->run, took, count);
}

void times_note_failure(struct times_slot *slot, enum ergon_error error)
{
    struct method_times *t = times_of(slot);
    if (t)
        counter_add(&t->failed[failure_of(error)], 1);
}

void times_read(const struct times_slot *slot, struct times_sum *out)
{
    const struct method_times *t = atomic_load_explicit(&slot->times, memory_order_acquire);
    if (!t)
        return;
    histogram_read(&t->wait, &out->wait);
    histogram_read(&t->run, &out->run);
    for (unsigned i = 0; i < FAILURE_COUNT; i++)
        out->failed[i] += counter_read(&t->failed[i]);
}

void times_fini(struct times_slot *slot)
{
    free(atomic_load_explicit(&slot->times, memory_order_relaxed));
}
