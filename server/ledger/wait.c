/* Asks that wait for the end of tasks, or for a commit.
 *
 * An ask that waits stands in the list of each entry that it waits for, once, until it is answered;
 * so none of these entries is forgotten before. */
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

enum { RESULTS_MAX = 8 << 20 /* bytes of an answer, beyond which results are left out */ };

/* An ask joins all that it waits for in one go, so it came last. */
static bool waits_for(const struct ask *a, const struct entry *e)
{
    return e->waits && e->waits->ask == a;
}

bool wait_join(struct ledger *l, struct ask *a, struct entry *e)
{
    (void)l;
    if (waits_for(a, e))
        return true;
    struct ledger_wait *w = a->waits ? malloc(sizeof *w) : &a->wait;
    if (!w)
        return false;
    *w = (struct ledger_wait){
        .ask = a, .entry = e, .next_of_entry = e->waits, .next_of_ask = a->waits};
    if (e->waits)
        e->waits->prev_of_entry = w;
    e->waits = a->waits = w;
    a->open++;
    a->held = true;
    return true;
}

static void unlink_wait(struct ledger_wait *w)
{
    if (w->prev_of_entry)
        w->prev_of_entry->next_of_entry = w->next_of_entry;
    else
        w->entry->waits = w->next_of_entry;
    if (w->next_of_entry)
        w->next_of_entry->prev_of_entry = w->prev_of_entry;
}

/* In its own step the timer is retired instead. */
static void stop_timer(struct ask *a)
{
    if (!a->timer.cls || ao_current() == &a->timer)
        return;
    ao_deactivate(&a->timer);
    ao_fini(&a->timer);
    a->timer.cls = NULL;
}

void wait_leave(struct ledger *l, struct ask *a)
{
    struct ledger_wait *next;

    (void)l;
    for (struct ledger_wait *w = a->waits; w; w = next) {
        next = w->next_of_ask;
        unlink_wait(w);
        if (w != &a->wait)
            free(w);
    }
    a->waits = NULL;
    a->open = 0;
    a->held = false;
    stop_timer(a);
}

bool wait_hold(struct ledger *l, struct ask *a)
{
    if (a->timeout == 0 || l->stopping)
        return false;
    a->ledger = l;
    if (a->timeout != AO_NEVER) {
        ao_init(&a->timer, &ledger_ask_class, l->activator);
        ao_sleep_until(&a->timer, ledger_after(l, a->timeout));
    }
    return true;
}

/* --- task.call --- */

static enum ergon_error error_of(const struct entry *e)
{
    switch ((enum ledger_state)e->state) {
    case LEDGER_CANCELLED:
        return ERGON_E_CANCELLED;
    case LEDGER_EXPIRED:
        return ERGON_E_DEADLINE;
    case LEDGER_QUEUED:
    case LEDGER_DELAYED:
    case LEDGER_WAITING:
    case LEDGER_ASSIGNED:
    case LEDGER_RUNNING:
    case LEDGER_PARKED:
    case LEDGER_DONE:
    case LEDGER_FAILED:
    case LEDGER_DEAD:
    case LEDGER_STATE_COUNT:
        return ERGON_E_FAILED;
    }
    return ERGON_E_FAILED;
}

static void answer_error(struct ask *a, const struct entry *e)
{
    const struct entry_end *end = e->end;

    a->error = error_of(e);
    if (end && end->code && a->error == ERGON_E_FAILED)
        snprintf(a->code, sizeof a->code, "%s", end->code);
    snprintf(a->text, sizeof a->text, "%s", end && end->text ? end->text : error_meaning(a->error));
}

void wait_answer(struct ledger *l, struct ask *a, const struct entry *e)
{
    const struct entry_end *end = e->end;

    if (e->state != LEDGER_DONE) {
        answer_error(a, e);
    } else if (end && end->cut) {
        a->error = ERGON_E_TOO_LARGE;
        snprintf(a->text, sizeof a->text, "the result is larger than keep_size and was not kept");
    } else if (end && end->result) {
        pack_init(&a->result);
        pack_raw(&a->result, span_of(end->result, end->result_len));
    }
    wait_leave(l, a);
    ask_finish(l, a);
}

/* --- task.wait --- */

static void answer_wait(struct ledger *l, struct ask *a)
{
    struct pack *p = &a->result;
    char text[ID_TEXT_SIZE];
    uint32_t ended = 0;

    for (uint32_t i = 0; i < a->id_count; i++) {
        const struct entry *e = ledger_find(l, a->ids[i]);
        ended += e && !ledger_state_open((enum ledger_state)e->state);
    }
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "ended");
    pack_array(p, ended);
    for (uint32_t i = 0; i < a->id_count; i++) {
        struct entry *e = ledger_find(l, a->ids[i]);
        if (e && !ledger_state_open((enum ledger_state)e->state))
            read_entry(l, e, a->with_result && p->buffer.size < RESULTS_MAX ? READ_RESULT : 0, p);
    }
    pack_str(p, "open");
    pack_array(p, a->id_count - ended);
    for (uint32_t i = 0; i < a->id_count; i++) {
        const struct entry *e = ledger_find(l, a->ids[i]);
        if (!e || ledger_state_open((enum ledger_state)e->state))
            pack_str(p, id_text(a->ids[i], text));
    }
}

static void finish_wait(struct ledger *l, struct ask *a)
{
    answer_wait(l, a);
    wait_leave(l, a);
    ask_finish(l, a);
}

static bool all_known(struct ledger *l, struct ask *a)
{
    char text[ID_TEXT_SIZE];

    for (uint32_t i = 0; i < a->id_count; i++) {
        const struct entry *e = ledger_find(l, a->ids[i]);
        if (!e || !ask_may_know(a, e)) {
            ask_refuse(l, a, ERGON_E_NOT_FOUND, "no task %s: it never was, or was forgotten",
                       id_text(a->ids[i], text));
            return false;
        }
    }
    return true;
}

static uint32_t count_open(const struct ask *a)
{
    uint32_t open = 0;
    for (const struct ledger_wait *w = a->waits; w; w = w->next_of_ask)
        open += ledger_state_open((enum ledger_state)w->entry->state);
    return open;
}

void wait_serve(struct ledger *l, struct ask *a)
{
    bool memory = true;

    if (!all_known(l, a))
        return;
    for (uint32_t i = 0; i < a->id_count && memory; i++) /* ended ones too: they are to stay */
        memory = wait_join(l, a, ledger_find(l, a->ids[i]));
    if (!memory) {
        wait_leave(l, a);
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    uint32_t all = a->open; /* an id may be given twice */
    a->open = count_open(a);
    if (a->open == 0 || (a->any && a->open < all) || !wait_hold(l, a))
        finish_wait(l, a);
}

/* --- what happens meanwhile --- */

/* One that had ended may have been tried again since. */
static bool is_over(struct ask *a)
{
    if (--a->open == 0)
        a->open = count_open(a);
    return a->open == 0 || a->any;
}

void wait_ended(struct ledger *l, struct entry *e)
{
    struct ledger_wait *next;

    for (struct ledger_wait *w = e->waits; w; w = next) {
        struct ask *a = w->ask;
        next = w->next_of_entry;
        if (a->verb == ASK_CALL)
            wait_answer(l, a, e);
        else if (a->verb == ASK_WAIT && is_over(a))
            finish_wait(l, a);
    }
}

static void note_failure(const struct ledger_wait *w, enum store_error error)
{
    struct ask_outcome *outcomes = w->ask->outcomes;
    for (uint32_t at = w->outcome; at > 0; at = outcomes[at - 1].before) {
        outcomes[at - 1].error = ERGON_E_STORE;
        outcomes[at - 1].text = strdup(store_error_text(error)); /* NULL: the error's meaning */
    }
}

void wait_committed(struct ledger *l, struct entry *e, enum store_error error)
{
    struct ledger_wait *next;

    for (struct ledger_wait *w = e->waits; w; w = next) {
        struct ask *a = w->ask;
        next = w->next_of_entry;
        if (a->verb != ASK_SUBMIT && a->verb != ASK_SUBMIT_MANY)
            continue;
        if (error != STORE_OK)
            note_failure(w, error);
        if (--a->open > 0)
            continue;
        wait_leave(l, a);
        submit_answer(l, a);
    }
}

static bool is_called(const struct entry *e)
{
    for (const struct ledger_wait *w = e->waits; w; w = w->next_of_entry)
        if (w->ask->verb == ASK_CALL)
            return true;
    return false;
}

/* Of calls that share a task by its key the last one takes it along; a task that was submitted
 * stays.  Who shares a run by `coalesce` is counted. */
static bool takes_along(const struct ask *a, const struct entry *e)
{
    if (!a->outcomes[0].duplicate && e->more && e->more->coalesce.name.len > 0)
        return true;
    return entry_is(e, ENTRY_FOREGROUND) && !is_called(e);
}

void wait_dropped(struct ledger *l, struct ask *a)
{
    struct entry *called = a->verb == ASK_CALL && a->waits ? a->waits->entry : NULL;

    wait_leave(l, a);
    if (called && takes_along(a, called))
        ledger_cancel(l, called);
    ask_refuse(l, a, ERGON_E_CANCELLED, "%s", error_meaning(ERGON_E_CANCELLED));
}

/* The first that need not wait for what a server that stops may still do. */
static struct ask *to_be_sent_off(const struct entry *e, bool cancel)
{
    for (const struct ledger_wait *w = e->waits; w; w = w->next_of_entry) {
        enum ask_verb verb = w->ask->verb;
        if (verb == ASK_WAIT || verb == ASK_WATCH || (cancel && verb == ASK_CALL))
            return w->ask;
    }
    return NULL;
}

static void send_off(struct ledger *l, struct ask *a)
{
    if (a->verb == ASK_CALL) {
        wait_leave(l, a);
        ask_refuse(l, a, ERGON_E_DRAINING, "%s", error_meaning(ERGON_E_DRAINING));
        return;
    }
    wait_overdue(a);
    ask_finish(l, a);
}

void wait_stop(struct ledger *l, bool cancel)
{
    struct ask *a;

    for (const struct entry *e = l->first; e; e = e->all_next)
        while ((a = to_be_sent_off(e, cancel)))
            send_off(l, a);
}

/* The time of a long poll is over: answered as things stand, when the timer has been let go. */
static enum ao_verdict time_is_over(struct ao *self)
{
    struct ask *a = ao_of(self, struct ask, timer);

    wait_overdue(a);
    ao_retire(self);
    return AO_DONE;
}

static void let_go(struct ao *self)
{
    struct ask *a = ao_of(self, struct ask, timer);

    ao_fini(self);
    self->cls = NULL;
    ask_finish(a->ledger, a);
}

const struct ao_class ledger_ask_class = {
    .name = "long poll", .step = time_is_over, .retired = let_go};

void wait_overdue(struct ask *a)
{
    struct ledger *l = a->ledger;

    if (a->verb == ASK_WATCH)
        watch_answer(l, a);
    else
        answer_wait(l, a);
    wait_leave(l, a);
}
