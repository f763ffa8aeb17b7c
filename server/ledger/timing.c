/* What is due by the clock.  An entry has one timer, which sleeps until the first of the times that
 * count in its state. */
#include "server/ledger/ledger_parts.h"

static ao_time first_of(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

static ao_time next_time(const struct entry *e)
{
    if (entry_is(e, ENTRY_ENDING))
        return AO_NEVER;
    switch ((enum ledger_state)e->state) {
    case LEDGER_DELAYED:
        return first_of(e->due, e->deadline);
    case LEDGER_QUEUED:
    case LEDGER_WAITING:
        return e->deadline;
    case LEDGER_ASSIGNED:
    case LEDGER_RUNNING:
    case LEDGER_PARKED:
        return first_of(e->until, e->deadline);
    case LEDGER_DONE:
    case LEDGER_FAILED:
    case LEDGER_CANCELLED:
    case LEDGER_EXPIRED:
    case LEDGER_DEAD:
        return e->due;
    case LEDGER_STATE_COUNT:
        return AO_NEVER;
    }
    return AO_NEVER;
}

/* In its own step the end of that step sets it. */
void ledger_set_timer(struct ledger *l, struct entry *e)
{
    ao_time next = next_time(e);
    (void)l;
    if (ao_current() == &e->timer)
        return;
    bool sleeps = ao_state(&e->timer) == AO_STATE_SLEEPING;
    if (sleeps ? e->timer.due == next : next == AO_NEVER)
        return;
    ao_deactivate(&e->timer);
    if (next != AO_NEVER)
        ao_sleep_until(&e->timer, next);
}

static void time_out(struct ledger *l, struct entry *e)
{
    char text[96];
    snprintf(text, sizeof text, "attempt %u took longer than its timeout of %llu ms", e->attempt,
             (unsigned long long)(e->timeout / AO_MS(1)));
    attempt_disown(l, e, ATTEMPT_LATE);
    outcome_failed(l, e, LEDGER_EVENT_TIMED_OUT, "DEADLINE", text);
}

static void come_due(struct ledger *l, struct entry *e)
{
    ao_time now = ledger_now(l);
    if (!ledger_state_open((enum ledger_state)e->state))
        keep_forget(l, e);
    else if (e->deadline <= now)
        ledger_end(l, e, LEDGER_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    else if (e->state == LEDGER_DELAYED)
        ledger_place(l, e, false);
    else if (e->list == &l->outs && e->until <= now)
        time_out(l, e);
}

static ao_time next_of_living(const struct ledger *l, uint64_t id)
{
    const struct entry *e = ledger_find(l, id);
    return e ? next_time(e) : AO_NEVER;
}

enum ao_verdict ledger_entry_due(struct ao *self)
{
    struct entry *e = ao_of(self, struct entry, timer);
    struct ledger *l = e->ledger;
    uint64_t id = e->id;
    if (next_time(e) <= ledger_now(l))
        come_due(l, e);
    ao_time next = next_of_living(l, id);
    if (next == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(self, next);
    return AO_PARK;
}
