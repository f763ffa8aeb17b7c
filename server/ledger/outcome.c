/* How attempts, and tasks, end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "server/ledger/ledger_parts.h"

/* --- What is kept of an end --- */

static struct entry_end *end_of(struct entry *e)
{
    if (!e->end)
        e->end = calloc(1, sizeof *e->end);
    return e->end;
}

/* Code and text lie in one block.  Without memory the error is told without words. */
static void set_error(struct ledger *l, struct entry *e, const char *code, const char *text)
{
    size_t was = entry_bytes(e);
    struct entry_end *end = end_of(e);
    size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
    char *block = end ? malloc(code_size + text_size) : NULL;
    if (block) {
        free(end->code);
        end->code = memcpy(block, code, code_size);
        end->text = memcpy(block + code_size, text, text_size);
    }
    ledger_weigh(l, e, was);
}

/* False without memory for even the least. */
static bool take_result(struct ledger *l, struct entry *e, struct outcome *outcome)
{
    struct order policy;
    size_t was = entry_bytes(e);
    entry_end_free(e); /* of the attempts before */
    struct entry_end *end = end_of(e);
    ledger_policy(e, &policy);
    if (end && outcome->result.len > policy.keep_size) {
        end->cut = true;
    } else if (end && outcome->block && outcome->block == outcome->result.at) {
        end->result = outcome->block;
        outcome->block = NULL;
    } else if (end && (end->result = malloc(outcome->result.len ? outcome->result.len : 1))) {
        memcpy(end->result, outcome->result.at, outcome->result.len);
    } else if (end) {
        end->cut = true;
    }
    if (end && end->result)
        end->result_len = outcome->result.len;
    ledger_weigh(l, e, was);
    return end != NULL;
}

/* --- The end of the whole --- */

void ledger_end(struct ledger *l, struct entry *e, enum ledger_state state, const char *code,
                const char *text)
{
    if (!ledger_is_open(e))
        return;
    ledger_withdraw(l, e);
    if (code)
        set_error(l, e, code, text);
    if (e->durable == LEDGER_NONE) {
        ledger_turn(l, e, state, LEDGER_WHY_ENDED);
        return;
    }
    e->ending = (uint8_t)state;
    e->ended = ledger_wall(l);
    entry_set(e, ENTRY_ENDING);
    ledger_turn(l, e, e->state == LEDGER_NEW ? LEDGER_QUEUED : (enum ledger_state)e->state,
                LEDGER_WHY_COMMIT);
    records_change(l, e);
}

/* --- A failure --- */

static void try_again(struct ledger *l, struct entry *e)
{
    struct order policy;
    ledger_policy(e, &policy);
    ao_time wait = retry_wait(policy.backoff, policy.backoff_max, policy.jitter, e->failures,
                              activator_random(l->activator));
    e->due = ledger_after(l, wait);
    ledger_turn(l, e, LEDGER_DELAYED, LEDGER_WHY_RETRY);
    records_change(l, e);
}

void outcome_failed(struct ledger *l, struct entry *e, enum ledger_event what, const char *code,
                    const char *text)
{
    char line[ASK_LINE_MAX];
    snprintf(line, sizeof line, "%s: %s", code, text);
    e->failures++;
    ledger_note(l, e, what, line);
    if (e->retries == 0 || retry_is_permanent(code)) {
        ledger_end(l, e, LEDGER_FAILED, code, text);
    } else if (e->failures > e->retries) {
        ledger_end(l, e, LEDGER_DEAD, code, text);
    } else {
        set_error(l, e, code, text);
        try_again(l, e);
    }
}

/* --- An attempt that came home --- */

static void run_again(struct ledger *l, struct entry *e, ao_time after)
{
    e->due = ledger_after(l, after);
    ledger_turn(l, e, LEDGER_DELAYED, LEDGER_WHY_AGAIN);
    records_change(l, e);
}

/* No fault of the task: it goes on with the next attempt. */
static void interrupted(struct ledger *l, struct entry *e)
{
    ledger_note(l, e, LEDGER_EVENT_INTERRUPTED, NULL);
    e->due = 0;
    ledger_place(l, e, true);
    records_change(l, e);
}

/* A handler that was told to stop may have left its work undone, whatever it answers. */
static bool is_interrupted(const struct ledger *l, const struct attempt_end *r)
{
    return !r->started || (l->stopping && (r->told || r->outcome->error == ERGON_E_CANCELLED ||
                                           r->outcome->error == ERGON_E_DRAINING));
}

static void failed(struct ledger *l, struct entry *e, const struct outcome *outcome)
{
    char text[ASK_TEXT_MAX];
    const char *code = outcome->code ? outcome->code : error_name(outcome->error);
    struct span cut = utf8_cut(outcome->text, sizeof text - 1); /* task_fail() has cleaned it */
    snprintf(text, sizeof text, "%.*s", (int)cut.len, (const char *)cut.at);
    if (outcome->error == ERGON_E_DEADLINE && e->deadline <= ledger_now(l))
        ledger_end(l, e, LEDGER_EXPIRED, code, "its deadline passed before it was done");
    else if (outcome->error == ERGON_E_DEADLINE)
        outcome_failed(l, e, LEDGER_EVENT_TIMED_OUT, code, text);
    else
        outcome_failed(l, e, LEDGER_EVENT_ATTEMPT_FAILED, code, text);
}

static void succeeded(struct ledger *l, struct entry *e, struct outcome *outcome)
{
    if (take_result(l, e, outcome))
        ledger_end(l, e, LEDGER_DONE, NULL, NULL);
    else
        outcome_failed(l, e, LEDGER_EVENT_ATTEMPT_FAILED, "MEMORY", "no memory for its result");
}

void outcome_returned(struct ledger *l, struct entry *e, const struct attempt_end *r)
{
    if (entry_is(e, ENTRY_CANCEL)) {
        ledger_end(l, e, LEDGER_CANCELLED, NULL, NULL);
    } else if (r->again) {
        run_again(l, e, r->after);
    } else if (is_interrupted(l, r)) {
        interrupted(l, e);
    } else if (r->outcome->error == ERGON_OK) {
        succeeded(l, e, r->outcome);
    } else {
        failed(l, e, r->outcome);
    }
}

/* --- What people wish --- */

bool ledger_cancel(struct ledger *l, struct entry *e)
{
    struct entry_more *more = e->more;
    if (!ledger_is_open(e))
        return entry_is(e, ENTRY_ENDING) && e->ending == LEDGER_CANCELLED;
    if (more && more->coalesce.name.len > 0 && more->waiters > 1) {
        more->waiters--;
        return false;
    }
    entry_set(e, ENTRY_CANCEL);
    if (more)
        key_remove(&l->shared, &more->coalesce); /* who comes now wants another run */
    if (e->list != &l->outs || !e->attempt_task) {
        ledger_end(l, e, LEDGER_CANCELLED, NULL, NULL);
        return true;
    }
    attempt_flag(l->tasks, e->attempt_task, ATTEMPT_CANCEL); /* it ends when this has returned */
    records_change(l, e);                                    /* also when the server dies before */
    return true;
}

bool ledger_retry(struct ledger *l, struct entry *e)
{
    if (ledger_state_open((enum ledger_state)e->state) || e->state == LEDGER_DONE)
        return false;
    (e->durable == LEDGER_NONE ? &l->fleeting : &l->kept)->ended[e->state]--;
    keep_reclaim(l, e);
    after_finish(l, e);
    told_by_row(l, e);
    records_told(l, e);
    ledger_note(l, e, LEDGER_EVENT_RETRIED, NULL);
    entry_clear(e, ENTRY_CANCEL);
    e->failures = 0;
    e->crashes = 0;
    e->due = 0;
    e->ended = 0;
    if (e->deadline <= ledger_now(l))
        e->deadline = AO_NEVER;
    after_settle(l, e);
    ledger_place(l, e, false);
    records_change(l, e);
    return true;
}
