/* Asks, by verb. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/ledger/ledger_parts.h"

/* --- task.cancel --- */

static void answer_cancel(struct ledger *l, struct ask *a, const struct entry *e, bool cancelled)
{
    char id[ID_TEXT_SIZE];
    pack_init(&a->result);
    pack_map(&a->result, 3);
    pack_key_str(&a->result, "id", id_text(e->id, id));
    pack_key_str(&a->result, "state", ledger_state_names[e->state]);
    pack_key_bool(&a->result, "cancelled", cancelled);
    ask_finish(l, a);
}

static void refuse_cancel(struct ledger *l, struct ask *a, enum store_error error)
{
    char id[ID_TEXT_SIZE];
    ask_refuse(l, a, ERGON_E_STORE, "%s is cancelled, but that could not be written: %s",
               id_text(a->ids[0], id), store_error_text(error));
}

/* Of a task whose every start is on disk the wish that it ends is, too, before anybody is told. */
static void cancel_serve(struct ledger *l, struct ask *a)
{
    struct entry *e = ask_entry(l, a);
    if (!e)
        return;
    bool cancelled = ledger_cancel(l, e), awaited = cancelled && e->durable == LEDGER_FSYNC;
    if (awaited && entry_is(e, ENTRY_UNSAVED))
        refuse_cancel(l, a, l->store_error);
    else if (!awaited || e->pending == 0 || !wait_join(l, a, e))
        answer_cancel(l, a, e, cancelled);
}

void cancel_saved(struct ledger *l, struct entry *e, enum store_error error)
{
    struct ledger_wait *next;
    for (struct ledger_wait *w = e->waits; w; w = next) {
        struct ask *a = w->ask;
        next = w->next_of_entry;
        if (a->verb != ASK_CANCEL)
            continue;
        wait_leave(l, a);
        if (error == STORE_OK)
            answer_cancel(l, a, e, true);
        else
            refuse_cancel(l, a, error);
    }
}

/* --- The others --- */

static void retry_serve(struct ledger *l, struct ask *a)
{
    struct entry *e = ask_entry(l, a);
    char id[ID_TEXT_SIZE];
    if (!e)
        return;
    if (!ledger_retry(l, e)) {
        ask_refuse(l, a, ERGON_E_BAD_PARAMS,
                   "task %s is %s: only one that ended otherwise than done is tried again",
                   id_text(e->id, id), ledger_state_names[e->state]);
        return;
    }
    pack_init(&a->result);
    pack_map(&a->result, 2);
    pack_key_str(&a->result, "id", id_text(e->id, id));
    pack_key_str(&a->result, "state", ledger_state_names[e->state]);
    ask_finish(l, a);
}

void ledger_serve(struct ledger *l, struct ask *a)
{
    static void (*const verbs[])(struct ledger * l, struct ask * a) = {
        [ASK_SUBMIT] = submit_serve,      [ASK_SUBMIT_MANY] = submit_serve,
        [ASK_CALL] = submit_serve,        [ASK_GET] = read_serve,
        [ASK_WAIT] = wait_serve,          [ASK_WATCH] = watch_serve,
        [ASK_CANCEL] = cancel_serve,      [ASK_RETRY] = retry_serve,
        [ASK_LIST] = list_serve,          [ASK_EXPLAIN] = explain_serve,
        [ASK_QUEUE_LIST] = queues_serve,  [ASK_QUEUE_EXPLAIN] = explain_queue_serve,
        [ASK_QUEUE_PAUSE] = queues_serve, [ASK_QUEUE_RESUME] = queues_serve,
        [ASK_QUEUE_DRAIN] = queues_serve, [ASK_CRON_PUT] = crons_serve,
        [ASK_CRON_LIST] = crons_serve,    [ASK_CRON_DELETE] = crons_serve,
        [ASK_AUDIT] = audit_serve,
    };
    verbs[a->verb](l, a);
}

void ask_refuse(struct ledger *l, struct ask *a, enum ergon_error error, const char *format, ...)
{
    va_list args;
    a->error = error;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
    ask_finish(l, a);
}

void ask_finish(struct ledger *l, struct ask *a)
{
    (void)l;
    assert(!a->held);
    if (a->result.failed && a->error == ERGON_OK) {
        a->error = ERGON_E_MEMORY;
        snprintf(a->text, sizeof a->text, "%s", error_meaning(ERGON_E_MEMORY));
    }
    door_return(a);
}

bool ask_may_know(const struct ask *a, const struct entry *e)
{
    return !a->confined || span_equal(e->tenant->name, a->principal);
}

struct entry *ask_entry(struct ledger *l, struct ask *a)
{
    struct entry *e = ledger_find(l, a->ids[0]);
    char id[ID_TEXT_SIZE];
    if (e && ask_may_know(a, e))
        return e;
    ask_refuse(l, a, ERGON_E_NOT_FOUND, "no task %s: it never was, or was forgotten",
               id_text(a->ids[0], id));
    return NULL;
}
