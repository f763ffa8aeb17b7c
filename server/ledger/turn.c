/* The one place where the state of an entry changes. */
#include <assert.h>
#include <stdio.h>

#include "server/ledger/ledger_parts.h"
#include "server/runtime/trace.h"

enum {
    TO_ENDS = 1 << LEDGER_DONE | 1 << LEDGER_FAILED | 1 << LEDGER_CANCELLED | 1 << LEDGER_EXPIRED |
              1 << LEDGER_DEAD,
    TO_WAITS = 1 << LEDGER_QUEUED | 1 << LEDGER_DELAYED | 1 << LEDGER_WAITING,
    TRACED = (1 << 22) - 1, /* of an id: its number in this run of the server */
    TO_RUNS = 1 << LEDGER_ASSIGNED | 1 << LEDGER_RUNNING | 1 << LEDGER_PARKED
};

/* From a state (row) to which others. */
static const uint16_t moves[LEDGER_STATE_COUNT + 1] = {
    [LEDGER_NEW] = TO_WAITS | TO_ENDS | TO_RUNS, /* runs, ends: as the store has it */
    [LEDGER_QUEUED] = TO_WAITS | TO_ENDS | 1 << LEDGER_ASSIGNED,
    [LEDGER_DELAYED] = TO_WAITS | TO_ENDS,
    [LEDGER_WAITING] = TO_WAITS | TO_ENDS,
    [LEDGER_ASSIGNED] = TO_WAITS | TO_ENDS | TO_RUNS,
    [LEDGER_RUNNING] = TO_WAITS | TO_ENDS | TO_RUNS,
    [LEDGER_PARKED] = TO_WAITS | TO_ENDS | TO_RUNS,
    [LEDGER_DONE] = 0,
    [LEDGER_FAILED] = TO_WAITS,
    [LEDGER_CANCELLED] = TO_WAITS,
    [LEDGER_EXPIRED] = TO_WAITS,
    [LEDGER_DEAD] = TO_WAITS,
};

static void trace(const struct ledger *l, const struct entry *e, enum ledger_state state,
                  enum ledger_reason reason)
{
    const char *was = e->state == LEDGER_NEW ? "new" : ledger_state_names[e->state];
    TRACE(l->activator, "kept", (e->id & TRACED) + 1, "%s -> %s (%s)", was,
          ledger_state_names[state], ledger_reason_name(reason));
}

static void count(struct ledger *l, struct entry *e, enum ledger_state state)
{
    if (e->state != LEDGER_NEW) {
        e->queue->by_state[e->state]--;
        counter_add(&l->by_state[e->state], (uint64_t)-1);
    }
    e->queue->by_state[state]++;
    counter_add(&l->by_state[state], 1);
}

/* --- The history --- */

void ledger_note_event(struct ledger *l, struct entry *e, struct history_event event)
{
    told_by_row(l, e);
    size_t was = entry_bytes(e);
    event.at = ledger_wall(l);
    event.attempt = e->attempt;
    event.seq = history_add(l, e, &event);
    ledger_weigh(l, e, was);
    records_event(l, e, &event);
    if (e->waits)
        watch_event(l, e);
}

void ledger_note(struct ledger *l, struct entry *e, enum ledger_event what, const char *text)
{
    ledger_note_event(l, e,
                      (struct history_event){.what = (uint8_t)what,
                                             .reason = e->reason,
                                             .text = text ? span_text(text) : (struct span){0}});
}

void ledger_end_text(const struct entry *e, char text[ASK_LINE_MAX])
{
    const struct entry_end *end = e->end;
    text[0] = '\0';
    if (end && end->code)
        snprintf(text, ASK_LINE_MAX, "%s: %s", end->code, end->text ? end->text : "");
}

static void note_end(struct ledger *l, struct entry *e)
{
    char text[ASK_LINE_MAX];
    ledger_end_text(e, text);
    ledger_note(l, e, ledger_event_of_end((enum ledger_state)e->state), text);
}

/* It is new, or was, until its row was on disk. */
static bool is_placed_first(const struct entry *e)
{
    return e->state == LEDGER_NEW ||
           (e->state == LEDGER_QUEUED && e->reason == LEDGER_WHY_COMMIT && e->attempt == 0);
}

/* Where a new one goes first, and a change of reason alone, are no events. */
static void note(struct ledger *l, struct entry *e, enum ledger_state was)
{
    switch ((enum ledger_state)e->state) {
    case LEDGER_QUEUED:
        if (was == LEDGER_DELAYED || was == LEDGER_WAITING)
            ledger_note(l, e, LEDGER_EVENT_QUEUED, NULL);
        return;
    case LEDGER_DELAYED:
        ledger_note(l, e, LEDGER_EVENT_DELAYED, NULL);
        return;
    case LEDGER_WAITING:
        ledger_note(l, e, LEDGER_EVENT_WAITING, NULL);
        return;
    case LEDGER_ASSIGNED:
        ledger_note(l, e, LEDGER_EVENT_STARTED, NULL);
        return;
    case LEDGER_RUNNING:
    case LEDGER_PARKED:
    case LEDGER_STATE_COUNT:
        return;
    case LEDGER_DONE:
    case LEDGER_FAILED:
    case LEDGER_CANCELLED:
    case LEDGER_EXPIRED:
    case LEDGER_DEAD:
        note_end(l, e);
        return;
    }
}

/* --- The turn --- */

/* It has ended, and everybody may see it. */
static void settle(struct ledger *l, struct entry *e)
{
    if (l->recovering) {
        keep_ended(l, e);
        return;
    }
    (e->durable == LEDGER_NONE ? &l->fleeting : &l->kept)->ended[e->state]++;
    if (e->state == LEDGER_DONE)
        e->queue->done++;
    else if (e->state == LEDGER_FAILED || e->state == LEDGER_DEAD)
        e->queue->failed++;
    if (e->more)
        key_remove(&l->shared, &e->more->coalesce);
    wait_ended(l, e);
    after_ended(l, e);
    keep_ended(l, e);
}

void ledger_turn(struct ledger *l, struct entry *e, enum ledger_state state,
                 enum ledger_reason reason)
{
    uint8_t was = e->state;
    bool first = is_placed_first(e) && ledger_state_open(state);
    assert(moves[was] & 1 << state || was == state);
    trace(l, e, state, reason);
    audit_changing(l, e);
    count(l, e, state);
    e->state = (uint8_t)state;
    audit_changed(l, e);
    e->reason = (uint8_t)reason;
    if (!ledger_state_open(state) && e->ended == 0)
        e->ended = ledger_wall(l);
    if (was != state && !first && !l->recovering)
        note(l, e, (enum ledger_state)was);
    if (!ledger_state_open(state))
        settle(l, e);
    else
        ledger_set_timer(l, e);
}
