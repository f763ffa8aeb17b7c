/* Where a runnable entry goes, and how it leaves again. */
#include "server/ledger/ledger_parts.h"

enum { MEMORY_PAUSE_MS = 100 };

static void hold(struct ledger *l, struct entry *e, bool front, enum ledger_reason reason)
{
    if (front)
        entry_push_front(&e->queue->held, e);
    else
        entry_push(&e->queue->held, e);
    ledger_turn(l, e, LEDGER_WAITING, reason);
    suspects_leave(l, e);
}

void ledger_queue_up(struct ledger *l, struct entry *e, bool front)
{
    unsigned kind = ledger_kind(e);
    if (!e->queue->method) {
        hold(l, e, front, LEDGER_WHY_NO_EXECUTOR);
        return;
    }
    if (e->queue->paused && !entry_is(e, ENTRY_HOLDS_SLOT | ENTRY_HOLDS_TOKEN)) {
        hold(l, e, front, LEDGER_WHY_PAUSED);
        return;
    }
    if (!pick_add(&l->picks[kind], kind, e, front, ledger_now(l))) {
        e->due = ledger_after(l, AO_MS(MEMORY_PAUSE_MS));
        ledger_turn(l, e, LEDGER_DELAYED, LEDGER_WHY_DELAY);
        suspects_leave(l, e);
        return;
    }
    entry_set(e, ENTRY_PICKABLE);
    ledger_turn(l, e, LEDGER_QUEUED, l->stopping ? LEDGER_WHY_STOPPING : LEDGER_WHY_TURN);
    job_source_wake(l->tasks);
}

void ledger_place(struct ledger *l, struct entry *e, bool front)
{
    ao_time now = ledger_now(l);
    if (entry_is(e, ENTRY_CANCEL)) {
        ledger_end(l, e, LEDGER_CANCELLED, NULL, NULL);
    } else if (e->deadline <= now) {
        ledger_end(l, e, LEDGER_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    } else if (e->more && e->more->after_failed) {
        after_fail(l, e);
    } else if (e->more && e->more->after) {
        ledger_turn(l, e, LEDGER_WAITING, LEDGER_WHY_AFTER);
    } else if (e->due > now) {
        ledger_turn(l, e, LEDGER_DELAYED, e->failures ? LEDGER_WHY_RETRY : LEDGER_WHY_DELAY);
    } else if (e->durable == LEDGER_FSYNC && entry_is(e, ENTRY_SUBMITTING)) {
        ledger_turn(l, e, LEDGER_QUEUED, LEDGER_WHY_COMMIT);
    } else {
        ledger_queue_up(l, e, front);
    }
}

void ledger_withdraw(struct ledger *l, struct entry *e)
{
    if (e->list == &l->outs)
        attempt_disown(l, e, entry_is(e, ENTRY_CANCEL) ? ATTEMPT_CANCEL : ATTEMPT_LATE);
    if (entry_is(e, ENTRY_PICKABLE)) {
        unsigned kind = ledger_kind(e);
        pick_remove(&l->picks[kind], kind, e);
        entry_clear(e, ENTRY_PICKABLE);
    }
    entry_unlink(e);
    if (entry_is(e, ENTRY_STARTING))
        job_source_wake(l->tasks); /* another may be about to start in its place */
    entry_clear(e, ENTRY_STARTING);
    holding_release(l, e);
    suspects_leave(l, e);
    after_unlink(l, e);
}
