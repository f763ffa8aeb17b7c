/* What becomes of operations, once it is certain. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/reads.h"

#define UNREPLICATED AO_S(1) /* for so long it is not asked again whether it replicates */

struct begun *outcome_begun(struct postgres_store *s, const struct store_batch *batch)
{
    for (uint32_t n = 0; n < s->begun_count; n++)
        if (s->begun[n].batch == batch)
            return &s->begun[n];
    return NULL;
}

/* Those behind it in all that has begun are lost, too, if they follow. */
static void lose_group(struct postgres_store *s, struct begun *of)
{
    of->lost_group = true;
    for (; of < s->begun + s->begun_count; of++)
        of->follows_lost = true;
}

/* A read may have an error of its own. */
static void end(struct postgres_store *s, const struct unit *unit, enum store_error error)
{
    struct begun *of = unit->batch ? outcome_begun(s, unit->batch) : NULL;
    assert(!unit->batch || (of && of->left >= unit->count));
    for (uint32_t n = 0; n < unit->count; n++) {
        struct store_op *op = unit->batch->ops[unit->from + n];
        if (error != STORE_OK || !read_is(op))
            store_op_end(op, error);
        if (error != STORE_OK && op->kind == STORE_GROUP)
            lose_group(s, of);
    }
    if (of)
        of->left -= unit->count;
}

static struct unit pop(struct postgres_store *s)
{
    struct unit unit = s->sent[0];
    assert(s->sent_count > 0);
    s->sent_count--;
    memmove(s->sent, s->sent + 1, s->sent_count * sizeof *s->sent);
    return unit;
}

void outcome_again(struct postgres_store *s, const struct unit *unit)
{
    uint32_t at = 0;
    while (at < s->begun_count && s->begun[at].batch != unit->batch)
        at++;
    if (unit->batch) {
        assert(at < s->begun_count);
        s->next_batch = at;
        s->next_op = unit->from;
    }
    s->sent_count = 0;
}

/* --- One of many is refused: its unit is tried again in halves, until one operation fails alone,
 * and adds nothing to the counters --- */

static void forget(struct suspects *of)
{
    *of = (struct suspects){0};
}

/* So many are left of the range behind `from`; the half of them, if one is still to be found. */
static void narrow(struct suspects *of, uint32_t from, bool found)
{
    uint32_t left = of->end - from;
    if (left == 0)
        forget(of);
    else
        of->most = found || left == 1 ? left : left / 2;
}

static void halve_refused(struct postgres_store *s, const struct unit *unit)
{
    struct suspects *of = &s->suspects;
    uint32_t end = unit->from + unit->count;
    if (of->batch != unit->batch)
        *of = (struct suspects){.batch = unit->batch, .end = end};
    if (unit->count > 1) {
        of->most = unit->count / 2;
        outcome_again(s, unit);
        return;
    }
    narrow(of, end, true);
}

static void halve_committed(struct postgres_store *s, const struct unit *unit)
{
    struct suspects *of = &s->suspects;
    if (of->batch && of->batch == unit->batch)
        narrow(of, unit->from + unit->count, false);
}

uint32_t halve_most(const struct postgres_store *s, const struct store_batch *batch, uint32_t from)
{
    const struct suspects *of = &s->suspects;
    if (of->batch != batch || !of->batch)
        return UINT32_MAX;
    uint32_t left = of->end - from;
    return of->most < left ? of->most : left;
}

/* --- It worked --- */

static void work_again(struct postgres_store *s)
{
    s->broken = STORE_OK;
    s->fault = (struct store_fault){0};
}

static void note_kind(struct postgres_store *s, const struct store_op *op)
{
    if (op->kind == STORE_SET_BACK)
        s->rows_ahead -= op->back;
    if (op->kind != STORE_HAND_OVER)
        return;
    error_say(&s->fault, STORE_FENCED, s->where, "this node has handed the tasks over");
    s->fenced = true;
    s->must_settle = false;
}

void outcome_level(struct postgres_store *s)
{
    enum store_level level = s->answer.level;
    if (!level)
        return;
    s->state.level = s->by_storage ? STORE_LEVEL_REPLICATED : level;
    if (level == STORE_LEVEL_REPLICATED)
        s->unreplicated = 0;
}

void outcome_committed(struct postgres_store *s)
{
    struct unit unit = pop(s);
    s->committed = unit.number;
    outcome_level(s);
    end(s, &unit, STORE_OK);
    if (s->broken != STORE_OK)
        work_again(s);
    if (!unit.batch)
        return;
    halve_committed(s, &unit);
    note_kind(s, unit.batch->ops[unit.from]);
    if (s->fenced)
        outcome_all(s, STORE_FENCED);
}

/* --- It did not --- */

void outcome_next(struct postgres_store *s, enum store_error error)
{
    struct store_batch *batch = s->begun[s->next_batch].batch;
    struct unit unit = {.batch = batch, .from = s->next_op, .count = 1};
    assert(s->sent_count == 0);
    end(s, &unit, error);
    s->next_op++;
    if (s->suspects.batch == batch && s->next_op >= s->suspects.end)
        forget(&s->suspects);
    if (s->next_op < batch->count)
        return;
    s->next_batch++;
    s->next_op = 0;
}

void outcome_unsent(struct postgres_store *s, enum store_error error)
{
    for (; s->next_batch < s->begun_count; s->next_batch++, s->next_op = 0) {
        struct store_batch *batch = s->begun[s->next_batch].batch;
        struct unit rest = {.batch = batch, .from = s->next_op, .count = batch->count - s->next_op};
        end(s, &rest, error);
    }
}

/* Of all that has begun and has no outcome yet: what is sent comes first. */
void outcome_all(struct postgres_store *s, enum store_error error)
{
    while (s->sent_count > 0) {
        struct unit unit = pop(s);
        end(s, &unit, s->unsure ? STORE_UNSURE : error);
    }
    s->unsure = false;
    outcome_unsent(s, error);
    s->suspects = (struct suspects){0};
}

/* Nothing is written until a small commit has worked, which is tried every `retry`. */
static void break_off(struct postgres_store *s)
{
    s->fault = s->answer.fault;
    s->broken = s->fault.error;
    s->retry_at = clock_monotonic() + s->retry;
    outcome_all(s, s->broken);
}

static void note_lack(struct postgres_store *s, uint8_t need)
{
    ao_time now = clock_monotonic();
    if (!s->unreplicated || now >= s->unreplicated || need < s->lacks)
        s->lacks = need;
    s->unreplicated = now + UNREPLICATED;
}

/* Somebody has put a row of the task's life there: then it is replaced. */
static bool looks_for_life(const struct unit *unit)
{
    struct store_op *first = unit->batch->ops[unit->from];
    bool is_group = first->kind == STORE_GROUP, begins = false;
    for (struct store_op *op = is_group ? first->group.first : first; op;
         op = is_group ? op->next : NULL)
        if (op->kind == STORE_CHANGE && op->task.first_life) {
            op->task.first_life = false;
            begins = true;
        }
    return begins;
}

/* Everything that is in flight behind it has failed with it, for want of its number. */
void outcome_failed(struct postgres_store *s)
{
    struct unit unit = s->sent[0];
    s->discards = s->flight_count > 0;
    switch (error_kind_of(s->answer.state)) {
    case ERROR_REFUSED:
        if (unit.count == 0) {
            break_off(s);
            return;
        }
        if (unit.count == 1) {
            outcome_again(s, &unit);
            if (looks_for_life(&unit))
                return;
            outcome_next(s, STORE_REFUSED);
        }
        halve_refused(s, &unit);
        return;
    case ERROR_LEVEL:
        note_lack(s, unit.need);
        outcome_again(s, &unit);
        return;
    case ERROR_AGAIN:
        outcome_again(s, &unit);
        return;
    case ERROR_BROKEN:
        break_off(s);
        return;
    case ERROR_NUMBER:
    case ERROR_AWAY:
        return;
    }
}
