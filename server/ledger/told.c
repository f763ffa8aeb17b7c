/* Histories read back.
 *
 * What the row of a task tells by itself has no event in the file: the start of the first attempt,
 * if it was the first thing that happened, and an end right behind it.  These are made from the
 * row, with the numbers that they had, so that who watches goes on where it was: at once where
 * events of the file come behind them, else when somebody looks, since few of a million ended tasks
 * are looked at.  The file knows when the last attempt began; so the first began no later than what
 * came next. */
#include "server/ledger/ledger_parts.h"

static const char said_before[] = "its data are not kept across a restart of the server";

static int event_of_name(struct span name)
{
    for (int what = 0; what < LEDGER_EVENT_COUNT; what++)
        if (span_is(name, ledger_event_name((enum ledger_event)what)))
            return what;
    return -1;
}

static bool is_said(uint8_t what)
{
    return what == LEDGER_EVENT_PROGRESS || what == LEDGER_EVENT_PARTIAL;
}

static void remember(struct ledger *l, struct entry *e, struct history_event event)
{
    size_t was = entry_bytes(e);
    history_skip(e, event.seq);
    history_add(l, e, &event);
    ledger_weigh(l, e, was);
}

/* --- The start --- */

static void remember_start(struct ledger *l, struct entry *e, uint32_t attempt, uint64_t at)
{
    remember(l, e,
             (struct history_event){
                 .seq = 2, .what = LEDGER_EVENT_STARTED, .attempt = attempt, .at = at});
}

static void start_of_row(struct ledger *l, struct entry *e)
{
    if (!e->history && e->attempt > 0)
        remember_start(l, e, e->attempt, e->started);
}

/* What its handler said last may have had any number up to the next that is always stored. */
void told_crash(struct ledger *l, struct entry *e)
{
    struct history_event last;
    start_of_row(l, e);
    if (history_get(e, history_next(e) - 1, &last) && is_said(last.what))
        history_skip(e, (last.seq / HISTORY_SAID_STEP + 1) * HISTORY_SAID_STEP);
}

/* By what came next. */
static void start_before(struct ledger *l, struct entry *e, const struct store_event *next,
                         enum ledger_event what)
{
    if (e->history || next->attempt == 0)
        return;
    uint32_t attempt = what == LEDGER_EVENT_STARTED ? next->attempt - 1 : next->attempt;
    remember_start(l, e, attempt, e->started < next->at ? e->started : next->at);
}

/* --- The end --- */

static bool knows_its_end(const struct entry *e)
{
    struct history_event event;
    bool ended = false;
    for (uint32_t seq = 2; history_get(e, seq, &event); seq = event.seq + 1)
        if (event.what == LEDGER_EVENT_RETRIED)
            ended = false;
        else if (event.what == ledger_event_of_end((enum ledger_state)e->state))
            ended = true;
    return ended;
}

static void remember_end(struct ledger *l, struct entry *e)
{
    char text[ASK_LINE_MAX];
    ledger_end_text(e, text);
    remember(
        l, e,
        (struct history_event){.seq = history_next(e),
                               .what = (uint8_t)ledger_event_of_end((enum ledger_state)e->state),
                               .reason = LEDGER_WHY_ENDED,
                               .attempt = e->attempt,
                               .at = e->ended,
                               .text = span_text(text)});
}

void told_by_row(struct ledger *l, struct entry *e)
{
    if (!entry_is(e, ENTRY_UNTOLD))
        return;
    entry_clear(e, ENTRY_UNTOLD);
    start_of_row(l, e);
    if (!knows_its_end(e))
        remember_end(l, e);
}

/* --- Events of the file --- */

void told_event(struct ledger *l, const struct store_event *row)
{
    struct entry *e = ledger_find(l, row->id);
    int what = event_of_name(row->what);
    if (!e || what < 0)
        return;
    if (row->seq > 2)
        start_before(l, e, row, (enum ledger_event)what);
    if (what == LEDGER_EVENT_FENCED && entry_is(e, ENTRY_UNTOLD) && row->seq > history_next(e))
        remember_end(l, e); /* of an attempt that came back after it */
    bool lost = is_said((uint8_t)what) && row->text.len == 0;
    remember(l, e,
             (struct history_event){.seq = row->seq,
                                    .what = (uint8_t)what,
                                    .attempt = row->attempt,
                                    .at = row->at,
                                    .text = lost ? span_text(said_before) : row->text,
                                    .data = row->data});
}
