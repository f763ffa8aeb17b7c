/* The queues, one per method: what is in them, and who stops them. */

#include "server/ledger/ledger_parts.h"

enum {
    GO_ON_BUDGET = 256, /* entries queued again, a step */
    OLDEST_VISITS = 20000
};

/* Made if a module offers the method. */
struct ledger_queue *queues_find(struct ledger *l, struct ask *a)
{
    for (struct ledger_queue *q = l->queues; q; q = q->next)
        if (span_equal(q->name, a->name))
            return q;
    if (!registry_find(l->options.registry, a->name)) {
        ask_refuse(l, a, ERGON_E_NOT_FOUND, "no method \"%.*s\"; queue.list shows the queues",
                   (int)(a->name.len < 64 ? a->name.len : 64), (const char *)a->name.at);
        return NULL;
    }
    struct ledger_queue *q = ledger_queue(l, a->name);
    if (!q)
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return q;
}

static const char *kind_name(const struct ledger_queue *q)
{
    if (!q->method)
        return NULL;
    return q->method->handler->kind == ERGON_STEPPED ? "stepped" : "blocking";
}

/* One walk for all queues; one whose tasks are not among the first is not known. */
static void look_for_oldest(struct ledger *l)
{
    uint32_t visits = 0;
    for (struct ledger_queue *q = l->queues; q; q = q->next)
        q->oldest = 0;
    for (struct entry *e = l->first; e && visits < OLDEST_VISITS; e = e->all_next, visits++)
        if (e->queue->oldest == 0 && ledger_state_open((enum ledger_state)e->state))
            e->queue->oldest = e->created;
}

void queues_pack(const struct ledger_queue *q, struct pack *p)
{
    static const enum ledger_state shown[] = {LEDGER_QUEUED,   LEDGER_DELAYED, LEDGER_WAITING,
                                              LEDGER_ASSIGNED, LEDGER_RUNNING, LEDGER_PARKED};

    pack_key_span(p, "method", q->name);
    pack_key_str(p, "kind", kind_name(q));
    pack_key_bool(p, "paused", q->paused);
    pack_key_bool(p, "draining", q->draining);
    for (unsigned i = 0; i < sizeof shown / sizeof shown[0]; i++)
        pack_key_uint(p, ledger_state_names[shown[i]], q->by_state[shown[i]]);
    pack_key_uint(p, "submitted", q->submitted);
    pack_key_uint(p, "done", q->done);
    pack_key_uint(p, "failed", q->failed);
    pack_str(p, "oldest");
    if (q->oldest > 0)
        pack_uint(p, q->oldest / AO_MS(1));
    else
        pack_nil(p);
}

/* The stages of what is out, and the ages, are asked only when somebody looks. */
void queues_look(struct ledger *l)
{
    for (struct entry *e = l->outs.first; e; e = e->next)
        read_stage(l, e);
    look_for_oldest(l);
}

static void list(struct ledger *l, struct ask *a)
{
    uint32_t count = 0;

    queues_look(l);
    for (const struct ledger_queue *q = l->queues; q; q = q->next)
        count++;
    pack_init(&a->result);
    pack_array(&a->result, count);
    for (const struct ledger_queue *q = l->queues; q; q = q->next) {
        pack_map(&a->result, QUEUE_PAIRS);
        queues_pack(q, &a->result);
    }
    ask_finish(l, a);
}

static void answer(struct ledger *l, struct ask *a, const struct ledger_queue *q)
{
    queues_look(l);
    pack_init(&a->result);
    pack_map(&a->result, QUEUE_PAIRS);
    queues_pack(q, &a->result);
    ask_finish(l, a);
}

/* --- Paused, also after a restart --- */

/* False without memory. */
static bool save(struct ledger *l, struct ledger_queue *q)
{
    enum store_verb verb = q->paused ? STORE_PAUSE : STORE_RESUME;
    struct store_op *op = q->saving ? NULL : rows_op_new(l, verb, 0);

    if (!op)
        return q->saving;
    op->owner = q;
    op->queue = q->name; /* stays as long as the ledger */
    q->saving = true;
    store_push(l->store, op);
    return true;
}

bool queues_save(struct ledger *l)
{
    bool any = false;
    for (struct ledger_queue *q = l->queues; l->store && q; q = q->next)
        if (q->paused != q->saved) {
            save(l, q);
            any = true;
        }
    return any;
}

static void refuse(struct ledger *l, struct ask *a, const struct ledger_queue *q,
                   enum store_error error)
{
    ask_refuse(l, a, ERGON_E_STORE,
               "the queue is %s now, but until that can be written, a restart forgets it: %s",
               q->paused ? "paused" : "open", store_error_text(error));
}

static void settle(struct ledger *l, struct ledger_queue *q, enum store_error error)
{
    struct ask *next;
    for (struct ask *a = q->asks; a; a = next) {
        next = a->next;
        if (error == STORE_OK)
            answer(l, a, q);
        else
            refuse(l, a, q, error);
    }
    q->asks = NULL;
}

/* What was asked meanwhile is written before anybody is told. */
void queues_returned(struct ledger *l, struct store_op *op)
{
    struct ledger_queue *q = op->owner;
    enum store_error error = op->error;

    q->saving = false;
    if (error == STORE_OK) {
        q->saved = op->verb == STORE_PAUSE;
        if (q->saved != q->paused && save(l, q))
            return;
        error = q->saved != q->paused ? STORE_MEMORY : STORE_OK;
    }
    settle(l, q, error);
}

/* True: the answer comes when it is on disk. */
static bool waits_for_store(struct ledger *l, struct ledger_queue *q, struct ask *a)
{
    if (!l->store || (q->saved == q->paused && !q->saving))
        return false;
    a->next = q->asks;
    q->asks = a;
    if (!save(l, q))
        settle(l, q, STORE_MEMORY);
    return true;
}

static void resume(struct ledger *l, struct ledger_queue *q)
{
    q->paused = false;
    q->draining = false;
    ao_activate(&l->ao);
}

/* They had their turn before, so they go before the others, in their order. */
static bool go_on(struct ledger *l, struct ledger_queue *q, int *budget)
{
    while (q->held.first && !q->paused && q->method && --*budget >= 0)
        ledger_place(l, entry_pop(&q->held), true);
    return *budget >= 0;
}

bool queues_go_on(struct ledger *l)
{
    int budget = GO_ON_BUDGET;
    for (struct ledger_queue *q = l->queues; q; q = q->next)
        if (!go_on(l, q, &budget))
            return false;
    return true;
}

static void change(struct ledger *l, struct ask *a)
{
    struct ledger_queue *q = queues_find(l, a);
    if (!q)
        return;
    if (a->verb == ASK_QUEUE_PAUSE)
        q->paused = true;
    else if (a->verb == ASK_QUEUE_DRAIN)
        q->draining = true;
    else
        resume(l, q);
    if (!waits_for_store(l, q, a))
        answer(l, a, q);
}

void queues_serve(struct ledger *l, struct ask *a)
{
    if (a->verb == ASK_QUEUE_LIST)
        list(l, a);
    else
        change(l, a);
}
