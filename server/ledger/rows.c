/* An entry as a row of the store. */
#include <assert.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

/* Where one that is open and does not run is, is found out again when it is read back. */
static enum ledger_state row_state(const struct entry *e)
{
    if (entry_is(e, ENTRY_ENDING))
        return (enum ledger_state)e->ending;
    if (entry_is(e, ENTRY_STARTING) || e->state == LEDGER_ASSIGNED || e->state == LEDGER_RUNNING ||
        e->state == LEDGER_PARKED)
        return LEDGER_RUNNING;
    if (e->state == LEDGER_NEW || ledger_state_open((enum ledger_state)e->state))
        return LEDGER_QUEUED;
    return (enum ledger_state)e->state;
}

static uint64_t wall_or_none(const struct ledger *l, ao_time when)
{
    return when == AO_NEVER || when == 0 ? 0 : ledger_wall_of(l, when);
}

static uint64_t or_none(ao_time duration)
{
    return duration == AO_NEVER ? 0 : duration;
}

static void fill_more(const struct entry_more *more, struct store_task *out)
{
    out->key = more->key.name;
    out->coalesce = more->coalesce.name;
    if (more->limit) {
        out->limit_key = more->limit->key.name;
        out->limit = more->limit_max;
    }
    if (more->bucket) {
        out->rate_key = more->bucket->key.name;
        out->rate = more->rate;
        out->rate_per = more->rate_per;
    }
}

/* One that is as by default has no row of options: see recover.c. */
static bool has_options(const struct entry *e)
{
    return e->more || e->retries > 0 || e->priority != ORDER_PRIORITY || e->timeout != AO_NEVER ||
           e->deadline != AO_NEVER;
}

static void fill_options(const struct ledger *l, const struct entry *e, struct store_task *out)
{
    struct order policy;
    ledger_policy(e, &policy);
    out->has_options = true;
    out->deadline_at = wall_or_none(l, e->deadline);
    out->timeout = or_none(e->timeout);
    out->backoff = policy.backoff;
    out->backoff_max = policy.backoff_max;
    out->jitter = policy.jitter;
    out->keep = policy.keep;
    out->keep_size = policy.keep_size;
    out->retries = e->retries;
    out->priority = e->priority;
    if (e->more)
        fill_more(e->more, out);
}

static void fill_fixed(const struct ledger *l, const struct entry *e, struct store_task *out)
{
    out->method = e->queue->name;
    out->tenant = e->tenant->name;
    out->params = entry_params(e);
    out->created = e->created;
    out->durable = e->durable;
    if (has_options(e))
        fill_options(l, e, out);
}

static void fill_changing(const struct ledger *l, const struct entry *e, struct store_task *out)
{
    out->id = e->id;
    out->state = (uint8_t)row_state(e);
    out->attempt = e->attempt;
    out->failures = e->failures;
    out->crashes = e->crashes;
    out->settled = e->more && e->more->settled;
    out->cancel_asked = entry_is(e, ENTRY_CANCEL) && ledger_state_open(row_state(e));
    out->due_at = ledger_state_open(row_state(e)) ? wall_or_none(l, e->due) : 0;
    out->started_at = e->started;
    out->ended_at = ledger_state_open(row_state(e)) ? 0 : e->ended;
}

/* The end may be replaced while the operation is on its way, but never that of one with a result.
 */
static void fill_end(const struct entry *e, struct store_task *out, char *copy)
{
    const struct entry_end *end = e->end;
    if (end && end->code) {
        size_t code = strlen(end->code), text = strlen(end->text);
        out->error_code = span_of(memcpy(copy, end->code, code), code);
        out->error_text = span_of(memcpy(copy + code, end->text, text), text);
    }
    if (end && end->result)
        out->result = span_of(end->result, end->result_len);
}

static size_t end_size(const struct entry *e)
{
    return e->end && e->end->code ? strlen(e->end->code) + strlen(e->end->text) : 0;
}

static void fill_after(const struct entry *e, struct store_task *out, uint8_t *copy)
{
    out->after = span_of(copy, e->more->after_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < e->more->after_count; i++)
        for (unsigned byte = 0; byte < 8; byte++)
            *copy++ = (uint8_t)(e->more->after_ids[i] >> (56 - 8 * byte));
}

/* --- The counters --- */

static int64_t *counter_of(struct store_counts *counts, enum ledger_state state)
{
    switch (state) {
    case LEDGER_DONE:
        return &counts->done;
    case LEDGER_FAILED:
        return &counts->failed;
    case LEDGER_CANCELLED:
        return &counts->cancelled;
    case LEDGER_EXPIRED:
        return &counts->expired;
    case LEDGER_DEAD:
        return &counts->dead;
    case LEDGER_QUEUED:
    case LEDGER_DELAYED:
    case LEDGER_WAITING:
    case LEDGER_ASSIGNED:
    case LEDGER_RUNNING:
    case LEDGER_PARKED:
    case LEDGER_STATE_COUNT:
        return NULL;
    }
    return NULL;
}

/* What a row is counted as: its end, or LEDGER_QUEUED for all that is open. */
static enum ledger_state account_of(enum ledger_state state)
{
    return ledger_state_open(state) ? LEDGER_QUEUED : state;
}

static void move_counts(struct entry *e, struct store_op *op)
{
    enum ledger_state was = (enum ledger_state)e->counted;
    enum ledger_state is = account_of((enum ledger_state)op->task.state);
    op->tag = was;
    e->counted = (uint8_t)is;
    if (op->tag == LEDGER_NEW)
        op->add.submitted = 1;
    if (was == is)
        return;
    if (counter_of(&op->add, was))
        --*counter_of(&op->add, was);
    if (counter_of(&op->add, is))
        ++*counter_of(&op->add, is);
}

/* --- The operation --- */

enum { MORE = 128 /* bytes behind an operation for which a cell has room */ };

struct record {
    bool alone; /* malloc'ed, in no slab */
    struct store_op op;
};

void rows_init(struct ledger *l)
{
    slab_init(&l->records, sizeof(struct record) + MORE, SLAB_KEPT);
}

void rows_fini(struct ledger *l)
{
    assert(slab_taken(&l->records) == 0);
    slab_fini(&l->records);
}

struct store_op *rows_op_new(struct ledger *l, enum store_verb verb, size_t more)
{
    bool alone = more > MORE;
    struct record *r = alone ? malloc(sizeof *r + more) : slab_take(&l->records);
    if (!r)
        return NULL;
    r->alone = alone;
    memset(&r->op, 0, sizeof r->op);
    r->op.verb = verb;
    return &r->op;
}

void rows_op_free(struct ledger *l, struct store_op *op)
{
    struct record *r = ao_of(op, struct record, op);
    if (r->alone)
        free(r);
    else
        slab_give(&l->records, r);
}

struct store_op *rows_op(struct ledger *l, struct entry *e)
{
    bool put = entry_is(e, ENTRY_SUBMITTING);
    size_t after = put && e->more ? e->more->after_count * sizeof(uint64_t) : 0;
    struct store_op *op = rows_op_new(l, put ? STORE_PUT : STORE_CHANGE, after + end_size(e));
    if (!op)
        return NULL;
    op->owner = e;
    if (put)
        fill_fixed(l, e, &op->task);
    if (after > 0)
        fill_after(e, &op->task, (uint8_t *)(op + 1));
    fill_changing(l, e, &op->task);
    fill_end(e, &op->task, (char *)(op + 1) + after);
    move_counts(e, op);
    return op;
}
