/* cron.put, cron.delete, and what the store says of them. */
#include <stdio.h>

#include "server/ledger/crons.h"

static void forget(struct ledger *l, struct cron *c)
{
    struct store_op *op = l->store ? rows_op_new(l, STORE_CRON_REMOVE, 0) : NULL;

    if (!op)
        return;
    op->owner = c;
    c->refs++;
    op->cron.name = c->order.name;
    store_push(l->store, op);
}

static void answer_put(struct ledger *l, struct cron *c)
{
    struct ask *a = c->asking;

    c->asking = NULL;
    if (c->error == ERGON_E_STORE) {
        ask_refuse(l, a, c->error, "%s", c->error_text);
        struct cron **at = crons_place(l->crons, c->order.name);
        if (*at == c)
            crons_unlink(l->crons, at);
        return;
    }
    pack_init(&a->result);
    pack_map(&a->result, 2);
    pack_key_span(&a->result, "name", c->order.name);
    cron_pack_time(&a->result, "next", c->next_at);
    ask_finish(l, a);
}

/* False: answered. */
static bool may_be_put(struct ledger *l, struct ask *a)
{
    const struct cron_order *o = &a->cron;

    if (o->task.params.len + o->options.len > CRON_BYTES_MAX)
        ask_refuse(l, a, ERGON_E_TOO_LARGE, "parameters and options of a cron have at most %d KiB",
                   CRON_BYTES_MAX / 1024);
    else if (l->crons->count >= CRONS_MAX && !*crons_place(l->crons, o->name))
        ask_refuse(l, a, ERGON_E_BUSY, "there are %d crons already; delete one first", CRONS_MAX);
    else if (o->task.durable != LEDGER_NONE && !records_usable(l))
        ask_refuse(l, a, ERGON_E_STORE, "%s",
                   l->store ? store_error_text(l->store_error)
                            : "this server has no store; ask for durable: \"none\"");
    else
        return true;
    return false;
}

static void serve_put(struct ledger *l, struct ask *a)
{
    enum ergon_error error;
    char text[ASK_TEXT_MAX];

    if (!may_be_put(l, a))
        return;
    struct cron *c = cron_new(l, &a->cron, &error, text, sizeof text);
    if (!c) {
        ask_refuse(l, a, error, "%s", text);
        return;
    }
    cron_plan(l, c, ledger_wall(l));
    crons_link(l->crons, c);
    cron_arm(l, c);
    if (c->order.task.durable == LEDGER_NONE)
        forget(l, c); /* one of its name may be there */
    c->asking = a;
    bool saved = cron_save(l, c);
    if (!saved && c->order.task.durable != LEDGER_NONE) {
        c->error = ERGON_E_STORE;
        snprintf(c->error_text, sizeof c->error_text, "%s", error_meaning(ERGON_E_MEMORY));
    }
    if (!saved || c->order.task.durable == LEDGER_ASYNC)
        answer_put(l, c);
}

/* One of its name that was there before is gone with it, if the store failed: its row stays, and
 * counts again after a start. */
void crons_returned(struct ledger *l, struct store_op *op)
{
    struct cron *c = op->owner;
    struct ask *a = c->asking;

    if (op->verb == STORE_CRON_PUT && a) {
        c->error = op->error == STORE_OK ? ERGON_OK : ERGON_E_STORE;
        snprintf(c->error_text, sizeof c->error_text, "%s", store_error_text(op->error));
        answer_put(l, c);
    }
    cron_drop(c);
}

static void serve_delete(struct ledger *l, struct ask *a)
{
    struct cron **at = crons_place(l->crons, a->name);
    bool found = *at != NULL;

    if (found) {
        forget(l, *at);
        crons_unlink(l->crons, at);
    }
    pack_init(&a->result);
    pack_bool(&a->result, found);
    ask_finish(l, a);
}

void crons_serve(struct ledger *l, struct ask *a)
{
    if (a->verb == ASK_CRON_PUT)
        serve_put(l, a);
    else if (a->verb == ASK_CRON_LIST)
        crons_list(l, a);
    else
        serve_delete(l, a);
}
