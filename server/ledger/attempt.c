/* Attempts: picked, given to the manager, and what comes back.
 *
 *   pick --> [starting: its start is being committed] --> [started] --> outs --> returned
 *
 * An attempt that does not count any more is a stray: its entry is somewhere else, and only waits
 * for it to come home before it is freed. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

enum {
    TAKE_BUDGET = 256, /* entries looked at for one that may start */
    START_AHEAD = 64   /* starts that are committed before there is room */
};

static unsigned index_of(enum ergon_kind kind)
{
    return kind == ERGON_STEPPED ? 0 : 1;
}

static bool ready(void *arg, enum ergon_kind kind, uint32_t room)
{
    const struct ledger *l = arg;
    unsigned k = index_of(kind);
    uint32_t ahead = room > START_AHEAD ? room : START_AHEAD;
    if (l->stopping)
        return false;
    return l->started[k].count > 0 ||
           (l->picks[k].count > 0 && l->starting[k].count + l->started[k].count < ahead);
}

/* --- The start --- */

static void count_attempt(struct ledger *l, struct entry *e)
{
    e->attempt++;
    e->started = ledger_wall(l);
    counter_add(&l->starts, 1);
    if (e->attempt > 1)
        counter_add(&l->retries, 1);
}

/* Its start is on disk before its handler begins. */
static void prepare(struct ledger *l, unsigned k, struct entry *e)
{
    count_attempt(l, e);
    entry_set(e, ENTRY_STARTING);
    entry_push(&l->starting[k], e);
    ledger_turn(l, e, LEDGER_QUEUED, LEDGER_WHY_COMMIT);
    records_change(l, e);
}

static void begin(struct ledger *l, struct entry *e, struct attempt_spec *run)
{
    if (e->durable != LEDGER_FSYNC)
        count_attempt(l, e);
    entry_clear(e, ENTRY_STARTING);
    holding_start(l, e);
    e->until = ledger_after(l, e->timeout);
    *run = (struct attempt_spec){.method = e->queue->method,
                                 .params = entry_params(e),
                                 .deadline = e->until < e->deadline ? e->until : e->deadline,
                                 .id = e->id,
                                 .attempt = e->attempt,
                                 .owner = e};
    entry_push(&l->outs, e);
    l->out++;
    ledger_turn(l, e, LEDGER_ASSIGNED, LEDGER_WHY_ASSIGNED);
    if (e->durable == LEDGER_ASYNC)
        records_change(l, e);
}

/* False: it was sent somewhere else. */
static bool may_start(struct ledger *l, struct entry *e)
{
    if (e->deadline <= ledger_now(l)) {
        ledger_end(l, e, LEDGER_EXPIRED, "DEADLINE", "its deadline passed before it was done");
        return false;
    }
    if (e->queue->paused) {
        entry_push(&e->queue->held, e);
        ledger_turn(l, e, LEDGER_WAITING, LEDGER_WHY_PAUSED);
        holding_release(l, e); /* others of its keys go on */
        suspects_leave(l, e);
        return false;
    }
    if (!suspects_take(l, e))
        return false;
    if (holding_take(l, e))
        return true;
    suspects_leave(l, e);
    return false;
}

static bool take(void *arg, enum ergon_kind kind, struct attempt_spec *run)
{
    struct ledger *l = arg;
    unsigned k = index_of(kind);
    struct entry *e = entry_pop(&l->started[k]);
    if (e) {
        begin(l, e, run);
        return true;
    }
    for (int budget = TAKE_BUDGET; budget > 0; budget--) {
        if (l->starting[k].count >= START_AHEAD)
            return false; /* the first that is committed wakes the manager */
        e = pick_take(&l->picks[k], k, ledger_now(l));
        if (!e)
            return false;
        entry_clear(e, ENTRY_PICKABLE);
        if (!may_start(l, e))
            continue;
        if (e->durable == LEDGER_FSYNC) {
            prepare(l, k, e);
            continue;
        }
        begin(l, e, run);
        return true;
    }
    job_source_wake(l->tasks);
    return false;
}

static void given(void *arg, void *owner, struct task *t)
{
    struct ledger *l = arg;
    struct entry *e = owner;
    if (t) {
        e->attempt_task = t;
        return;
    }
    l->out--;
    entry_unlink(e);
    e->due = ledger_after(l, AO_MS(100)); /* no memory: later */
    ledger_turn(l, e, LEDGER_DELAYED, LEDGER_WHY_DELAY);
    ledger_release_slot(l, e);
    suspects_leave(l, e);
    records_change(l, e);
}

/* --- The return --- */

void attempt_disown(struct ledger *l, struct entry *e, enum attempt_flag flag)
{
    assert(e->attempt_task);
    attempt_flag(l->tasks, e->attempt_task, flag);
    e->attempt_task = NULL;
    e->until = AO_NEVER;
    e->strays++;
    entry_clear(e, ENTRY_HOLDS_SLOT | ENTRY_SUSPECT); /* the stray has them now */
    entry_unlink(e);
}

/* It was told to stop, and stopped: that is no late answer. */
static bool obeyed(const struct attempt_end *r)
{
    return !r->started || r->outcome->error == ERGON_E_DEADLINE ||
           r->outcome->error == ERGON_E_CANCELLED;
}

static void stray_returned(struct ledger *l, struct entry *e, const struct attempt_end *r)
{
    char text[96];
    e->strays--;
    if (!obeyed(r)) {
        counter_add(&l->fenced, 1);
        snprintf(text, sizeof text, "attempt %u returned late, and its answer was thrown away",
                 r->attempt);
        ledger_note(l, e, LEDGER_EVENT_FENCED, text);
    }
    holding_release_stray(l, e);
    suspects_returned(l, e);
}

static bool is_current(const struct entry *e, uint32_t attempt)
{
    return e->attempt_task && e->attempt == attempt;
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct ledger *l = arg;
    struct entry *e = r->owner;
    l->out--;
    if (!is_current(e, r->attempt)) {
        stray_returned(l, e, r);
        return;
    }
    e->attempt_task = NULL;
    e->until = AO_NEVER;
    entry_unlink(e);
    ledger_release_slot(l, e);
    suspects_leave(l, e);
    outcome_returned(l, e, r);
}

/* --- What handlers say meanwhile --- */

/* NULL for none, or without memory. */
static char *text_of(struct span text)
{
    char *copy = text.len > 0 ? malloc(text.len + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

static void keep_progress(struct ledger *l, struct entry *e, const struct attempt_note *note)
{
    size_t was = entry_bytes(e);
    struct entry_more *more = ledger_more(e);
    if (!more)
        return;
    more->progress_done = note->done;
    more->progress_total = note->total;
    free(more->progress_text);
    more->progress_text = text_of(note->text);
    ledger_weigh(l, e, was);
}

static void note_progress(struct ledger *l, struct entry *e, const struct attempt_note *note)
{
    struct pack data;
    pack_init(&data);
    pack_map(&data, 2);
    pack_key_uint(&data, "done", note->done);
    pack_key_uint(&data, "total", note->total);
    keep_progress(l, e, note);
    ledger_note_event(l, e,
                      (struct history_event){.what = LEDGER_EVENT_PROGRESS,
                                             .text = note->text,
                                             .data = pack_bytes(&data)});
    pack_fini(&data);
}

static void noted(void *arg, const struct attempt_note *note)
{
    struct ledger *l = arg;
    struct entry *e = note->owner;
    if (!is_current(e, note->attempt))
        return;
    if (note->partial)
        ledger_note_event(l, e,
                          (struct history_event){.what = LEDGER_EVENT_PARTIAL, .data = note->data});
    else
        note_progress(l, e, note);
}

/* --- The manager's wishes --- */

static void full(void *arg, enum ergon_kind kind, bool is_full)
{
    struct ledger *l = arg;
    l->full[index_of(kind)] = is_full;
}

/* Its start is on disk, but it does not begin in this run of the server. */
void attempt_unstart(struct ledger *l, struct entry *e)
{
    entry_clear(e, ENTRY_STARTING);
    ledger_queue_up(l, e, true);
    records_change(l, e);
}

static void stop(void *arg, bool cancel)
{
    struct ledger *l = arg;
    l->stopping = true;
    for (unsigned k = 0; k < PICK_KINDS; k++)
        while (l->started[k].first)
            attempt_unstart(l, entry_pop(&l->started[k]));
    for (struct entry *e = cancel ? l->outs.first : NULL; e; e = e->next)
        if (e->attempt_task)
            attempt_flag(l->tasks, e->attempt_task, ATTEMPT_CANCEL);
    wait_stop(l, cancel);
}

/* Nothing is begun any more, and nothing returns: what a start in good order finds is no crash. */
void attempts_end(struct ledger *l)
{
    struct entry *e, *next;
    l->stopping = true;
    for (unsigned k = 0; k < PICK_KINDS; k++)
        while ((e = entry_pop(&l->starting[k])) || (e = entry_pop(&l->started[k])))
            attempt_unstart(l, e);
    for (e = l->outs.first; e; e = next) {
        next = e->next;
        if (entry_is(e, ENTRY_CANCEL)) {
            ledger_end(l, e, LEDGER_CANCELLED, NULL, NULL);
            continue;
        }
        ledger_note(l, e, LEDGER_EVENT_INTERRUPTED, NULL);
        e->due = 0;
        ledger_turn(l, e, LEDGER_QUEUED, LEDGER_WHY_STOPPING);
        records_change(l, e);
    }
}

static const char *name(uint64_t id, char *buf)
{
    return id_text(id, buf);
}

void ledger_connect(struct ledger *l)
{
    const struct job_source source = {.arg = l,
                                      .ready = ready,
                                      .take = take,
                                      .given = given,
                                      .returned = returned,
                                      .noted = noted,
                                      .full = full,
                                      .stop = stop,
                                      .name = name};
    tasks_set_job_source(l->tasks, &source);
}
