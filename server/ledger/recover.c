/* The store read back.
 *
 * First, before the start, every row becomes an entry: those that have ended are kept for the rest
 * of their time.  Then, at the start, when the store takes operations again, what was open goes
 * on: an attempt that had begun is one crash more, and the next one has a higher number. */
#include <stdio.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

/* --- Rows become entries --- */

struct reading {
    struct ledger *ledger;
    const char *failure; /* NULL: none */
};

static void take_counts(void *arg, const struct store_counts *counts)
{
    struct account *kept = &((struct reading *)arg)->ledger->kept;
    kept->submitted = (uint64_t)counts->submitted;
    kept->ended[LEDGER_DONE] = (uint64_t)counts->done;
    kept->ended[LEDGER_FAILED] = (uint64_t)counts->failed;
    kept->ended[LEDGER_CANCELLED] = (uint64_t)counts->cancelled;
    kept->ended[LEDGER_EXPIRED] = (uint64_t)counts->expired;
    kept->ended[LEDGER_DEAD] = (uint64_t)counts->dead;
}

static bool fail(struct reading *r, const char *failure)
{
    r->failure = failure;
    return false;
}

static bool no_memory(struct reading *r)
{
    return fail(r, "no memory for the tasks in the store");
}

static bool take_queue(void *arg, struct span method)
{
    struct reading *r = arg;
    struct ledger_queue *q = ledger_queue(r->ledger, method);
    if (!q)
        return no_memory(r);
    q->paused = q->saved = true;
    return true;
}

static bool take_cron(void *arg, const struct store_cron *row)
{
    struct reading *r = arg;
    return crons_recover(r->ledger, row) || no_memory(r);
}

static bool take_ids(const struct store_task *row, struct order *o)
{
    uint32_t count = (uint32_t)(row->after.len / sizeof(uint64_t));
    uint64_t *ids = count > 0 ? malloc(count * sizeof *ids) : NULL;
    if (count > 0 && !ids)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = 0;
        for (unsigned byte = 0; byte < 8; byte++)
            ids[i] = ids[i] << 8 | row->after.at[8 * i + byte];
    }
    o->after = ids;
    o->after_count = count;
    return true;
}

static bool take_options(const struct store_task *row, struct order *o)
{
    o->key = row->key;
    o->coalesce = row->coalesce;
    o->limit_key = row->limit_key;
    o->limit = row->limit;
    o->rate_key = row->rate_key;
    o->rate = row->rate;
    o->rate_per = row->rate_per;
    o->timeout = row->timeout ? row->timeout : AO_NEVER;
    o->retries = row->retries;
    o->backoff = row->backoff;
    o->backoff_max = row->backoff_max;
    o->jitter = row->jitter;
    o->keep = row->keep;
    o->keep_size = row->keep_size;
    o->priority = row->priority < ORDER_PRIORITY_MAX ? row->priority : ORDER_PRIORITY_MAX;
    return take_ids(row, o);
}

/* What has no options is as by default. */
static bool order_of(const struct store_task *row, struct order *o)
{
    order_init(o);
    o->method = row->method;
    o->tenant = row->tenant;
    o->params = row->params;
    o->durable = row->durable;
    return !row->has_options || take_options(row, o);
}

static char *text_of(struct span span, char *to)
{
    if (span.len > 0)
        memcpy(to, span.at, span.len);
    to[span.len] = '\0';
    return to;
}

static bool take_end(struct entry *e, const struct store_task *row)
{
    bool failed = row->error_code.len > 0;
    if (!failed && row->result.len == 0)
        return true;
    struct entry_end *end = e->end = calloc(1, sizeof *end);
    if (!end)
        return false;
    if (failed) {
        end->code = malloc(row->error_code.len + row->error_text.len + 2);
        if (!end->code)
            return false;
        text_of(row->error_code, end->code);
        end->text = text_of(row->error_text, end->code + row->error_code.len + 1);
    }
    if (row->result.len > 0) {
        end->result = malloc(row->result.len);
        if (!end->result)
            return false;
        memcpy(end->result, row->result.at, row->result.len);
        end->result_len = row->result.len;
    }
    return true;
}

static void take_life(struct ledger *l, struct entry *e, const struct store_task *row)
{
    e->created = row->created;
    e->deadline = row->deadline_at ? ledger_time_of(l, row->deadline_at) : AO_NEVER;
    e->due = row->due_at ? ledger_time_of(l, row->due_at) : 0;
    e->attempt = row->attempt;
    e->failures = row->failures;
    e->crashes = (uint8_t)(row->crashes < UINT8_MAX ? row->crashes : UINT8_MAX);
    if (row->cancel_asked)
        entry_set(e, ENTRY_CANCEL);
    e->started = row->started_at;
    e->ended = row->ended_at;
}

static void enter(struct ledger *l, struct entry *e, enum ledger_state state)
{
    bool open = ledger_state_open(state);
    e->counted = open ? LEDGER_QUEUED : (uint8_t)state;
    e->ending = (uint8_t)state; /* until it goes on */
    ledger_entry_enter(l, e);
    ledger_entry_name(l, e, open && !entry_is(e, ENTRY_CANCEL));
    if (open)
        return;
    entry_set(e, ENTRY_UNTOLD);
    ledger_turn(l, e, state, LEDGER_WHY_ENDED);
}

static bool take_task(void *arg, const struct store_task *row)
{
    struct reading *r = arg;
    struct ledger *l = r->ledger;
    struct order o;
    if (row->state >= LEDGER_STATE_COUNT)
        return fail(r, "a task in the store has a state that is none");
    if (!order_of(row, &o))
        return no_memory(r);
    struct entry *e = ledger_entry_new(l, &o, row->id);
    free((void *)o.after);
    if (!e)
        return no_memory(r);
    take_life(l, e, row);
    if (!take_end(e, row)) {
        ledger_entry_free(l, e);
        return no_memory(r);
    }
    enter(l, e, (enum ledger_state)row->state);
    return true;
}

static bool take_event(void *arg, const struct store_event *row)
{
    told_event(((struct reading *)arg)->ledger, row);
    return true;
}

/* --- What was open goes on --- */

static void relink(struct ledger *l, struct entry *e)
{
    char text[ASK_TEXT_MAX];
    for (uint32_t i = 0; e->more && i < e->more->after_count; i++)
        if (ledger_find(l, e->more->after_ids[i])) /* else it was done, and is forgotten */
            after_link(l, e, &e->more->after_ids[i], 1, text, sizeof text);
}

/* One that is to be cancelled does not run again, but it is not to blame either. */
static bool may_go_on(const struct ledger *l, const struct entry *e)
{
    return l->options.crashes_max == 0 || e->crashes < l->options.crashes_max ||
           entry_is(e, ENTRY_CANCEL);
}

static void crashed(struct ledger *l, struct entry *e)
{
    char text[96];
    told_crash(l, e);
    if (e->crashes < UINT8_MAX)
        e->crashes++;
    snprintf(text, sizeof text, "the server ended while attempt %u ran", e->attempt);
    ledger_note(l, e, LEDGER_EVENT_INTERRUPTED, text);
    if (may_go_on(l, e)) {
        ledger_place(l, e, false);
        records_change(l, e);
        return;
    }
    snprintf(text, sizeof text,
             "it ran in %u crashes of the server, and is not run again by itself", e->crashes);
    ledger_end(l, e, LEDGER_DEAD, "QUARANTINED", text);
}

static void go_on(struct ledger *l, struct entry *e)
{
    bool ran = e->ending == LEDGER_RUNNING;
    e->ending = 0;
    if (ran)
        crashed(l, e);
    else
        ledger_place(l, e, false);
}

void recover_go_on(struct ledger *l)
{
    for (struct entry *e = l->first; e; e = e->all_next)
        if (e->state == LEDGER_NEW)
            relink(l, e);
    for (struct entry *e = l->first; e; e = e->all_next)
        if (e->state == LEDGER_NEW)
            go_on(l, e);
}

int ledger_recover(struct ledger *l, char *error, size_t size)
{
    struct reading r = {.ledger = l};
    const struct store_reader reader = {.arg = &r,
                                        .counts = take_counts,
                                        .queue = take_queue,
                                        .cron = take_cron,
                                        .task = take_task,
                                        .event = take_event};
    if (!l->store)
        return 0;
    l->recovering = true;
    int result = store_load(l->store, &reader, error, size);
    l->recovering = false;
    if (!r.failure)
        return result;
    snprintf(error, size, "%s", r.failure);
    return -1;
}
