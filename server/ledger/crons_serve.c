/* cron.put, cron.delete, and what the store says of them. */
#include <stdio.h>

#include "server/ledger/crons.h"

/* Its row goes; `a` as of cron_save().  False without memory. */
static bool forget(struct ledger *l, struct cron *c, struct ask *a)
{
    struct store_op *op = rows_op_new(l, STORE_CRON_REMOVE, 0);

    if (!op)
        return false;
    op->tag = (uintptr_t)a;
    op->owner = c;
    c->refs++;
    op->cron.name = c->order.name;
    store_push(l->store, op);
    return true;
}

/* Is there a row of it, as far as is known? */
static bool is_stored(const struct ledger *l, const struct cron *c)
{
    return l->store && c && c->order.task.durable != LEDGER_NONE;
}

/* --- cron.put --- */

/* Never linked. */
static void put_in_vain(struct cron *c)
{
    ao_fini(&c->timer);
    cron_drop(c);
}

/* What the one before wrote of itself meanwhile stands over its row. */
static void put_in_place(struct ledger *l, struct cron *c, struct ask *a)
{
    const struct cron *before = *crons_place(l->crons, c->order.name);
    bool again = before && before->refs > 1;

    crons_link(l->crons, c);
    cron_arm(l, c);
    if (again && !cron_save(l, c, NULL))
        forget(l, c, NULL);
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
    bool stored = is_stored(l, c), was_stored = is_stored(l, *crons_place(l->crons, a->cron.name));
    if (!stored && !was_stored) {
        if (l->store)
            forget(l, c, NULL); /* one that could not be used may be there */
        put_in_place(l, c, a);
    } else if (!(stored ? cron_save(l, c, a) : forget(l, c, a))) {
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        put_in_vain(c);
    }
}

/* The one that was there before goes on until then, and if this one cannot be written. */
static void put_returned(struct ledger *l, struct cron *c, struct ask *a, enum store_error error)
{
    if (error == STORE_OK) {
        put_in_place(l, c, a);
        return;
    }
    ask_refuse(l, a, ERGON_E_STORE, "%s", store_error_text(error));
    put_in_vain(c);
}

/* --- cron.delete --- */

static void answer_delete(struct ledger *l, struct ask *a, bool found)
{
    pack_init(&a->result);
    pack_bool(&a->result, found);
    ask_finish(l, a);
}

static void serve_delete(struct ledger *l, struct ask *a)
{
    struct cron **at = crons_place(l->crons, a->name), *c = *at;

    if (!is_stored(l, c)) {
        if (c)
            crons_unlink(l->crons, at);
        answer_delete(l, a, c != NULL);
        return;
    }
    if (forget(l, c, a))
        c->leaving = true;
    else
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
}

/* Whatever has the name was there when its row went. */
static void delete_returned(struct ledger *l, struct cron *c, struct ask *a, enum store_error error)
{
    struct cron **at = crons_place(l->crons, c->order.name);

    if (error != STORE_OK) {
        c->leaving = false;
        ask_refuse(l, a, ERGON_E_STORE, "%s", store_error_text(error));
        return;
    }
    bool found = *at != NULL; /* else another was faster */
    if (found)
        crons_unlink(l->crons, at);
    answer_delete(l, a, found);
}

void crons_returned(struct ledger *l, struct store_op *op)
{
    struct cron *c = op->owner;
    struct ask *a = (struct ask *)(uintptr_t)op->tag;

    if (a && a->verb == ASK_CRON_PUT)
        put_returned(l, c, a, op->error);
    else if (a)
        delete_returned(l, c, a, op->error);
    cron_drop(c);
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
