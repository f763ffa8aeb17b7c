#include "server/tasks/held_bytes.h"

#include "server/accounts/tally.h"

enum { LOWER_BY = 64 /* a reserve that was too large falls by the 64th part */ };

static uint64_t result_bytes(const struct method *m)
{
    return atomic_load_explicit(&m->result_bytes, memory_order_relaxed);
}

/* Of two threads that write at once one is lost: it is an estimate all the same. */
static void set_result_bytes(struct method *m, uint64_t bytes)
{
    uint32_t small = bytes > 0 ? 0 : SMALL_PARAMS;

    atomic_store_explicit(&m->result_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&m->small_params, small, memory_order_relaxed);
}

static uint64_t held_bytes(const struct task *t)
{
    return sizeof *t + (t->params_block ? t->params.len : 0) + (uint64_t)t->reserved * RESULT_LARGE;
}

static uint16_t units(uint64_t bytes)
{
    uint64_t n = (bytes + RESULT_LARGE - 1) / RESULT_LARGE;

    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

static bool is_blocking(const struct task *t)
{
    return t->method->handler->kind == ERGON_BLOCKING;
}

void method_expect_results(struct method *m, uint64_t bytes)
{
    set_result_bytes(m, bytes < RESULT_LARGE ? 0 : bytes);
}

uint64_t task_charge(struct task *t, struct tally *tally)
{
    t->tally = tally_ref(tally);
    t->reserved = units(result_bytes(t->method));
    if (is_blocking(t))
        t->reserved_nested = 0;
    task_set(t, TASK_CHARGED);
    tally_charge(tally, (int64_t)held_bytes(t));
    if (t->depth == 0) /* a nested call is part of one that is counted */
        tally_calls(tally, 1);
    return held_bytes(t);
}

void task_discharge(struct task *t)
{
    if (!task_is(t, TASK_CHARGED))
        return;
    task_clear(t, TASK_CHARGED);
    tally_charge(t->tally, -(int64_t)held_bytes(t));
}

bool task_cover_result(struct task *t, size_t room)
{
    if (room < RESULT_LARGE)
        return true;
    if (room > result_bytes(t->method))
        set_result_bytes(t->method, room);
    if (!task_is(t, TASK_CHARGED))
        return true;
    uint16_t wanted = (uint16_t)(units(room) + (is_blocking(t) ? t->reserved_nested : 0));
    if (wanted <= t->reserved)
        return true;
    uint64_t lacking = (uint64_t)(wanted - t->reserved) * RESULT_LARGE;
    if (!account_take(t->tally->account, lacking, held_bytes(t)))
        return false;
    t->reserved = wanted;
    return true;
}

void task_hold_nested(struct task *t, size_t bytes)
{
    uint16_t now = bytes < RESULT_LARGE ? 0 : units(bytes);

    assert(is_blocking(t));
    if (!task_is(t, TASK_CHARGED) || now == t->reserved_nested)
        return;
    int32_t more = (int32_t)now - t->reserved_nested;
    account_settle(t->tally->account,
                   &(struct account_change){.bytes = (int64_t)more * RESULT_LARGE});
    t->reserved = (uint16_t)(t->reserved + more);
    t->reserved_nested = now;
}

bool task_open_tally(const struct task *t, uint64_t bytes, struct tally **tally,
                     enum ergon_error *error)
{
    const struct account_change none = {0};

    *tally = NULL;
    if (!t->tally)
        return true;
    *error = ERGON_E_BUSY;
    if (bytes > 0 && account_lacks_bytes(t->tally->account, &none, bytes))
        return false;
    *error = ERGON_E_MEMORY;
    *tally = tally_open_alone(t->tally->account);
    return *tally != NULL;
}

void method_lower_reserve(struct method *m)
{
    uint64_t bytes = result_bytes(m);

    if (bytes == 0)
        return;
    bytes -= bytes / LOWER_BY;
    set_result_bytes(m, bytes < RESULT_LARGE ? 0 : bytes);
}

void task_lower_reserve(const struct task *t)
{
    if (t->result_len < result_bytes(t->method))
        method_lower_reserve(t->method);
}
