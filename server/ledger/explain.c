/* task.explain, queue.explain: the reason was recorded when the task came to where it is; what
 * belongs to it is looked up now. */
#include <inttypes.h>
#include <stdio.h>

#include "server/ledger/explain.h"

enum { TEXT_MAX = 400 };

/* What stands in the queue has one reason more than was recorded with it: those that count for the
 * whole queue were recorded there. */
static enum ledger_reason reason_of(struct ledger *l, const struct entry *e)
{
    struct pick_place at;

    if (e->reason != LEDGER_WHY_TURN)
        return (enum ledger_reason)e->reason;
    if (l->stopping)
        return LEDGER_WHY_STOPPING;
    explain_place(l, e, &at);
    return l->full[ledger_kind(e)] && at.higher == 0 && at.own == 0 ? LEDGER_WHY_EXECUTORS
                                                                    : LEDGER_WHY_TURN;
}

void explain_serve(struct ledger *l, struct ask *a)
{
    struct entry *e = ask_entry(l, a);
    char id[ID_TEXT_SIZE], text[TEXT_MAX];
    struct pack *p = &a->result;

    if (!e)
        return;
    read_stage(l, e);
    enum ledger_reason reason = reason_of(l, e);
    const struct explain_detail *d = &explain_details[reason];
    snprintf(text, sizeof text, "%s", ledger_reason_meaning(reason));
    if (d->say)
        d->say(l, e, text, sizeof text);
    pack_init(p);
    pack_map(p, 5 + d->pairs);
    pack_key_str(p, "id", id_text(e->id, id));
    pack_key_span(p, "method", e->queue->name);
    pack_key_str(p, "state", ledger_state_names[e->state]);
    pack_key_str(p, "reason", ledger_reason_name(reason));
    pack_key_str(p, "text", text);
    if (d->pack)
        d->pack(l, e, p);
    ask_finish(l, a);
}

/* --- queue.explain --- */

static enum ledger_reason reason_of_queue(const struct ledger *l, const struct ledger_queue *q)
{
    if (!q->method)
        return LEDGER_WHY_NO_EXECUTOR;
    if (q->paused)
        return LEDGER_WHY_PAUSED;
    if (l->stopping)
        return LEDGER_WHY_STOPPING;
    if (l->full[q->method->handler->kind == ERGON_STEPPED ? 0 : 1])
        return LEDGER_WHY_EXECUTORS;
    return LEDGER_WHY_TURN;
}

static void say_queue(const struct ledger_queue *q, enum ledger_reason reason, char *text,
                      size_t size)
{
    uint64_t queued = q->by_state[LEDGER_QUEUED], waiting = q->by_state[LEDGER_WAITING];

    if (reason == LEDGER_WHY_TURN)
        snprintf(text, size,
                 "it flows: %" PRIu64 " queued, %" PRIu64 " held back by something of their own",
                 queued, waiting);
    else if (reason == LEDGER_WHY_NO_EXECUTOR)
        explain_no_executor(q, text, size);
    else
        snprintf(text, size, "%s%s", ledger_reason_meaning(reason),
                 q->draining ? "; it drains, and takes no new tasks" : "");
}

void explain_queue_serve(struct ledger *l, struct ask *a)
{
    struct ledger_queue *q = queues_find(l, a);
    char text[TEXT_MAX];

    if (!q)
        return;
    queues_look(l);
    enum ledger_reason reason = reason_of_queue(l, q);
    enum ergon_kind kind = q->method ? q->method->handler->kind : ERGON_STEPPED;
    say_queue(q, reason, text, sizeof text);
    pack_init(&a->result);
    pack_map(&a->result, QUEUE_PAIRS + 3);
    queues_pack(q, &a->result);
    pack_key_str(&a->result, "reason", ledger_reason_name(reason));
    pack_key_str(&a->result, "text", text);
    explain_executors(l, kind, &a->result);
    ask_finish(l, a);
}
