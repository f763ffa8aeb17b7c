#include "server/tasks/task.h"

#include <stdlib.h>

#include "server/accounts/tally.h"
#include "server/tasks/attempt.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_result.h"
#include "server/tasks/turn.h"

/* Heads what a handler allocated. */
struct task_chunk {
    struct task_chunk *next;
    alignas(16) uint8_t bytes[];
};

void task_begin(struct task *t, struct method *m, struct span params, ao_time deadline)
{
    t->method = m;
    t->params = params;
    t->result = t->memory;
    t->result_len = 0;
    t->result_room = 0;
    t->memory_used = 0;
    t->error = ERGON_OK;
    t->deadline = deadline;
    t->given = 0;
    t->busy = 0;
    t->depth = 0;
    t->own_flags = 0;
    atomic_store_explicit(&t->flags, 0, memory_order_relaxed);
#ifndef NDEBUG
    t->owner = TASK_OF_HOME;
#endif
}

static void free_block(void **block)
{
    if (*block) {
        free(*block);
        *block = NULL;
    }
}

static void free_chunks(struct task *t)
{
    while (t->chunks) {
        struct task_chunk *chunk = t->chunks;
        t->chunks = chunk->next;
        free(chunk);
    }
}

void task_free_blocks(struct task *t)
{
    task_discharge(t);
    free_block(&t->params_block);
    free_block(&t->result_block);
    free_block(&t->nested_block);
    free_chunks(t);
    if (t->tally && t->depth == 0) /* as task_charge() counted it */
        tally_calls(t->tally, -1);
    tally_close(t->tally);
    t->tally = NULL;
}

void *task_own_memory(struct task *t, size_t size)
{
    assert(t->memory_used <= TASK_MEMORY);
    if (size > (size_t)TASK_MEMORY - t->memory_used)
        return NULL;
    uint8_t *at = t->memory + t->memory_used;
    t->memory_used = (uint8_t)(t->memory_used + (size + 15) / 16 * 16);
    return at;
}

bool task_keep_params(struct task *t)
{
    uint8_t *kept = task_own_memory(t, t->params.len);
    if (!kept) {
        kept = t->params_block = malloc(t->params.len);
        if (!kept)
            return false;
    }
    if (t->params.len > 0)
        memcpy(kept, t->params.at, t->params.len);
    if (task_borrows_result(t))
        t->result = kept + (t->result - t->params.at);
    t->params.at = kept;
    return true;
}

bool task_make_state(struct task *t)
{
    size_t size = t->method->handler->state_size;
    t->state = task_own_memory(t, size);
    if (t->state) {
        memset(t->state, 0, size);
        return true;
    }
    t->state = t->state_block = calloc(1, size);
    return t->state != NULL;
}

void task_drop_state(struct task *t)
{
    const struct ergon_handler *handler = t->method->handler;
    if (handler->cleanup)
        handler->cleanup(task_face(t), t->state);
    free_block(&t->state_block);
}

void *task_alloc(struct task *t, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct task_chunk))
        return NULL;
    struct task_chunk *chunk = malloc(sizeof *chunk + size);
    if (!chunk)
        return NULL;
    chunk->next = t->chunks;
    t->chunks = chunk;
    return chunk->bytes;
}

struct task *task_new_alone(struct method *m, struct span params, ao_time deadline)
{
    struct task *t = aligned_alloc(alignof(struct task), sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    task_begin(t, m, params, deadline);
    task_set(t, TASK_ALONE);
    if (task_keep_params(t))
        return t;
    free(t);
    return NULL;
}

void task_discard(struct task *t)
{
    if (task_is(t, TASK_ATTEMPT))
        attempt_drop_sends(t->attempt);
    task_end(t);
    if (task_is(t, TASK_ALONE))
        free(t);
}

/* --- Attempts of jobs --- */

struct attempt_turn *attempt_sends(struct attempt *a)
{
    if (a->turn)
        return a->turn;
    a->turn = turn_new((struct span){0}, (struct span){0}, NULL);
    a->sends = a->turn != NULL;
    return a->turn;
}

void attempt_drop_sends(struct attempt *a)
{
    if (a->sends)
        turn_free(a->turn);
    a->sends = false;
}

bool attempt_claim(struct task *t, ao_time now)
{
    struct attempt *a = t->attempt;
    uint8_t stage = ATTEMPT_ASSIGNED;
    assert(task_is(t, TASK_ATTEMPT) && t->owner == TASK_OF_EXECUTOR);
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

/* --- Names --- */

static void name_number(uint64_t number, char *buf)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0)
        *buf++ = digits[--n];
    *buf = '\0';
}

void task_name(const struct tasks_shared *shared, uint64_t number, uint64_t job,
               char buf[TASK_NAME_MAX])
{
    if (job != 0)
        shared->source.name(job, buf);
    else
        name_number(number, buf);
}

void task_own_name(const struct task *t, char buf[TASK_NAME_MAX])
{
    task_name(t->executor->shared, t->number, task_is(t, TASK_ATTEMPT) ? t->attempt->id : 0, buf);
}

/* --- Lanes --- */

struct lane *task_lanes_new(uint32_t count)
{
    struct lane *lanes = aligned_alloc(alignof(struct lane), count * sizeof(struct lane));
    return lanes ? memset(lanes, 0, count * sizeof(struct lane)) : NULL;
}

void task_lane_close(struct lane *l)
{
    bool all;
    if (!l->ring.slots)
        return;
    lane_threads_ended(l);
    do {
        struct lane_item *item;
        all = lane_flush(l);
        while ((item = lane_claim(l)))
            task_discard(ao_of(item, struct task, item));
        lane_release(l);
    } while (!all);
    lane_fini(l);
}

void task_lanes_free(struct lane *lanes, uint32_t count)
{
    for (uint32_t i = 0; lanes && i < count; i++)
        task_lane_close(&lanes[i]);
    free(lanes);
}
