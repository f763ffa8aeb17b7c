/* Entries to the store, and what comes back.
 *
 * Of one entry at most one row operation is on its way; what changes meanwhile makes it dirty, and
 * is written when that has come back.  So an operation that failed is simply made again, from what
 * the entry is by then, and changes of a busy entry are written together.  The counters of the file
 * travel with the row that they count: each row is counted as what it says. */
#include "server/ledger/ledger_parts.h"
#include "base/log.h"

enum {
    TAKE_BUDGET = 1024,  /* operations that came back, a step */
    RETRY_MS = 1000,     /* between two tries to write what could not be written */
    RESAVE_AHEAD = 256,  /* of which so many are on their way */
    RESAVE_VISITS = 4096 /* entries looked at for such, a step */
};

bool records_usable(const struct ledger *l)
{
    return l->store && l->store_error == STORE_OK;
}

/* --- Operations --- */

static void mark_unsaved(struct ledger *l, struct entry *e)
{
    if (!entry_is(e, ENTRY_UNSAVED))
        l->unsaved++;
    entry_set(e, ENTRY_UNSAVED);
    if (ao_state(&l->retry) == AO_STATE_INACTIVE)
        ao_sleep_until(&l->retry, ledger_after(l, AO_MS(RETRY_MS)));
}

static void clear_unsaved(struct ledger *l, struct entry *e)
{
    if (entry_is(e, ENTRY_UNSAVED))
        l->unsaved--;
    entry_clear(e, ENTRY_UNSAVED);
}

static void push_row(struct ledger *l, struct entry *e)
{
    struct store_op *op = rows_op(l, e);
    if (!op) {
        mark_unsaved(l, e);
        return;
    }
    clear_unsaved(l, e);
    entry_clear(e, ENTRY_DIRTY);
    e->pending++;
    store_push(l->store, op);
}

void records_change(struct ledger *l, struct entry *e)
{
    if (e->durable == LEDGER_NONE || entry_is(e, ENTRY_UNSAVED))
        return;
    if (e->pending > 0)
        entry_set(e, ENTRY_DIRTY);
    else
        push_row(l, e);
}

/* Operations stay in order, so the one that is on its way may be taken for done. */
void records_flush(struct ledger *l)
{
    for (struct entry *e = l->first; e; e = e->all_next)
        if (entry_is(e, ENTRY_UNSAVED)) {
            push_row(l, e);
        } else if (e->pending > 0 && entry_is(e, ENTRY_DIRTY)) {
            entry_clear(e, ENTRY_SUBMITTING);
            push_row(l, e);
        }
}

void records_remove(struct ledger *l, struct entry *e)
{
    struct store_op *op = rows_op_new(l, STORE_REMOVE, 0);
    if (!op)
        return; /* the next start finds it too old, and removes it */
    op->task.id = e->id;
    store_push(l->store, op);
}

void records_forget(struct ledger *l, struct entry *e)
{
    clear_unsaved(l, e);
    if (l->unsaved_at == e)
        l->unsaved_at = e->all_next;
}

/* Of what a handler says on the way the first and a few more are stored, so that after a crash it
 * is known up to where numbers may have been given out. */
static bool is_mark(const struct entry *e, const struct history_event *said)
{
    struct history_event before;
    return said->seq % HISTORY_SAID_STEP == 0 ||
           (history_get(e, said->seq - 1, &before) && before.what != LEDGER_EVENT_PROGRESS &&
            before.what != LEDGER_EVENT_PARTIAL);
}

/* What the row tells by itself is not stored: the first start, and an end right behind it. */
static bool is_worth_storing(const struct entry *e, const struct history_event *event)
{
    switch ((enum ledger_event)event->what) {
    case LEDGER_EVENT_SUBMITTED:
    case LEDGER_EVENT_COUNT:
        return false;
    case LEDGER_EVENT_PROGRESS:
    case LEDGER_EVENT_PARTIAL:
        return is_mark(e, event);
    case LEDGER_EVENT_STARTED:
        return event->seq > 2;
    case LEDGER_EVENT_DONE:
    case LEDGER_EVENT_FAILED:
    case LEDGER_EVENT_CANCELLED:
    case LEDGER_EVENT_EXPIRED:
    case LEDGER_EVENT_DEAD:
        return event->seq > 3;
    case LEDGER_EVENT_QUEUED:
    case LEDGER_EVENT_DELAYED:
    case LEDGER_EVENT_WAITING:
    case LEDGER_EVENT_ATTEMPT_FAILED:
    case LEDGER_EVENT_TIMED_OUT:
    case LEDGER_EVENT_INTERRUPTED:
    case LEDGER_EVENT_FENCED:
    case LEDGER_EVENT_JOINED:
    case LEDGER_EVENT_RETRIED:
        return true;
    }
    return true;
}

static void store_event(struct ledger *l, struct entry *e, const struct history_event *event)
{
    struct store_op *op = rows_op_new(l, STORE_EVENT, event->text.len);
    if (!op)
        return;
    char *text = (char *)(op + 1);
    uint32_t oldest = history_oldest(e);
    op->event =
        (struct store_event){.id = e->id,
                             .at = event->at,
                             .seq = event->seq,
                             .attempt = event->attempt,
                             .oldest = oldest > 2 ? oldest : 0,
                             .what = span_text(ledger_event_name((enum ledger_event)event->what))};
    if (event->text.len > 0)
        op->event.text = span_of(memcpy(text, event->text.at, event->text.len), event->text.len);
    store_push(l->store, op);
}

void records_event(struct ledger *l, struct entry *e, const struct history_event *event)
{
    if (e->durable != LEDGER_NONE && l->options.history_max > 0 && is_worth_storing(e, event))
        store_event(l, e, event);
}

void records_told(struct ledger *l, struct entry *e)
{
    struct history_event event;
    if (e->durable == LEDGER_NONE || l->options.history_max == 0)
        return;
    for (uint32_t seq = 2; history_get(e, seq, &event) && event.seq <= 3; seq = event.seq + 1)
        store_event(l, e, &event);
}

/* --- What came back --- */

/* Its row is on disk for the first time. */
static void submitted(struct ledger *l, struct entry *e)
{
    entry_clear(e, ENTRY_SUBMITTING);
    wait_committed(l, e, STORE_OK);
    if (e->durable == LEDGER_FSYNC && ledger_is_open(e) && e->reason == LEDGER_WHY_COMMIT)
        ledger_place(l, e, false);
}

static void make_fleeting(struct ledger *l, struct entry *e)
{
    audit_changing(l, e);
    l->kept.submitted--;
    l->fleeting.submitted++;
    e->durable = LEDGER_NONE;
    audit_changed(l, e);
}

static void count_out(struct ledger *l, struct entry *e)
{
    l->fleeting.submitted--;
    l->fleeting.ended[LEDGER_FAILED]--;
    e->queue->submitted--;
    e->queue->failed--;
    counter_add(&l->submitted, (uint64_t)-1);
}

/* Nobody was told of it: it is as if it had never been. */
static void take_back(struct ledger *l, struct entry *e, enum store_error error)
{
    wait_committed(l, e, error);
    make_fleeting(l, e);
    entry_clear(e, ENTRY_SUBMITTING | ENTRY_DIRTY | ENTRY_ENDING);
    if (e->more)
        key_remove(&l->keys, &e->more->key); /* the same key can be tried again */
    ledger_end(l, e, LEDGER_FAILED, "STORE", store_error_text(error));
    count_out(l, e);
    after_finish(l, e);
    keep_forget(l, e);
}

static void start_committed(struct ledger *l, struct entry *e)
{
    entry_unlink(e);
    if (l->stopping) {
        attempt_unstart(l, e);
        return;
    }
    entry_push(&l->started[ledger_kind(e)], e);
    job_source_wake(l->tasks);
}

static void end_committed(struct ledger *l, struct entry *e)
{
    entry_clear(e, ENTRY_ENDING);
    ledger_turn(l, e, (enum ledger_state)e->ending, LEDGER_WHY_ENDED);
}

static void row_saved(struct ledger *l, struct entry *e, const struct store_op *op)
{
    if (op->verb == STORE_PUT)
        submitted(l, e);
    if (op->task.cancel_asked)
        cancel_saved(l, e, STORE_OK);
    if (entry_is(e, ENTRY_DIRTY) && e->pending == 0)
        push_row(l, e);
    if (e->pending > 0 || entry_is(e, ENTRY_UNSAVED))
        return;
    if (entry_is(e, ENTRY_ENDING))
        end_committed(l, e);
    else if (entry_is(e, ENTRY_STARTING))
        start_committed(l, e);
    cancel_saved(l, e, STORE_OK);
}

/* The file will never take its row: it goes on in memory. */
static void give_up(struct ledger *l, struct entry *e)
{
    log_error("task is not durable", LOG_UINT("id", e->id),
              LOG_STR("text", "the store refused its row; it lives as long as this process"));
    make_fleeting(l, e);
    entry_clear(e, ENTRY_SUBMITTING | ENTRY_DIRTY);
    if (entry_is(e, ENTRY_ENDING))
        end_committed(l, e);
    else if (entry_is(e, ENTRY_STARTING))
        start_committed(l, e);
}

static void row_failed(struct ledger *l, struct entry *e, const struct store_op *op)
{
    e->counted = (uint8_t)op->tag;
    cancel_saved(l, e, op->error);
    if (op->verb == STORE_PUT && e->durable == LEDGER_FSYNC) {
        take_back(l, e, op->error);
        return;
    }
    if (op->error == STORE_REFUSED) {
        give_up(l, e);
        return;
    }
    mark_unsaved(l, e);
    if (ledger_state_open((enum ledger_state)e->state) &&
        entry_is(e, ENTRY_ENDING | ENTRY_STARTING))
        ledger_turn(l, e, (enum ledger_state)e->state, LEDGER_WHY_STORE);
}

static void came_back(struct ledger *l, struct store_op *op)
{
    struct entry *e = op->owner;
    bool ok = op->error == STORE_OK;
    if (op->verb == STORE_COUNT) {
        audit_rows(l, op);
        return;
    }
    if (op->verb == STORE_CRON_PUT || op->verb == STORE_CRON_REMOVE) {
        crons_returned(l, op);
        return;
    }
    if (op->error != STORE_REFUSED)
        l->store_error = op->error;
    if (!ok && ao_state(&l->retry) == AO_STATE_INACTIVE)
        ao_sleep_until(&l->retry, ledger_after(l, AO_MS(RETRY_MS)));
    if (op->verb == STORE_PAUSE || op->verb == STORE_RESUME) {
        queues_returned(l, op);
        return;
    }
    if (!e)
        return;
    e->pending--;
    if (ok)
        audit_row_changed(l, op);
    if (ok)
        row_saved(l, e, op);
    else
        row_failed(l, e, op);
}

bool records_take(struct ledger *l)
{
    int budget = TAKE_BUDGET;
    if (!l->store)
        return true;
    for (; budget > 0; budget--) {
        struct store_op *op = store_take(l->store);
        if (!op)
            break;
        came_back(l, op);
        rows_op_free(l, op);
    }
    store_release(l->store);
    return budget > 0;
}

/* --- Once more --- */

/* While the store fails, only one is tried; when it has come back written, the others follow. */
static enum ao_verdict retry_step(struct ao *self)
{
    struct ledger *l = ao_of(self, struct ledger, retry);
    int budget = records_usable(l) ? RESAVE_AHEAD : 1, visits = RESAVE_VISITS;
    struct entry *e = l->unsaved_at ? l->unsaved_at : l->first;
    bool queues = queues_save(l);
    if (l->unsaved == 0 && queues) {
        ao_sleep_for(self, AO_MS(RETRY_MS));
        return AO_PARK;
    }
    if (l->unsaved == 0) {
        l->store_error = STORE_OK; /* whoever submits next finds out */
        return AO_DONE;
    }
    for (; e && budget > 0 && visits > 0; e = e->all_next, visits--)
        if (entry_is(e, ENTRY_UNSAVED)) {
            push_row(l, e);
            budget--;
        }
    l->unsaved_at = e;
    ao_sleep_for(self, records_usable(l) || visits == 0 ? AO_MS(1) : AO_MS(RETRY_MS));
    return AO_PARK;
}

const struct ao_class ledger_retry_class = {.name = "store retry", .step = retry_step};
