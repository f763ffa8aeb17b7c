/* The counting for server.audit, in small steps: a million entries would hold up everything else
 * for half a second, a million rows the store.
 *
 * What changes meanwhile is counted with it if it stands behind the walk, and found by the walk if
 * it stands before it.  The same goes for rows: operations come back in the order in which they
 * were applied, so those that come back behind a count of rows were not seen by it.  Who asks while
 * an audit is under way is answered with it: it is about the moment at which it ends. */
#include <stdlib.h>

#include "server/ledger/audit.h"

enum { WALK_BUDGET = 2000 /* entries, a step */ };

/* --- Entries --- */

/* Behind the last one are those that come now. */
static void go_to(struct audit *au, struct entry *next)
{
    au->at = next;
    if (!next)
        au->upto = UINT64_MAX;
}

static void add(const struct ledger *l, const struct entry *e, uint64_t one)
{
    struct audit *au = l->audit;
    if (!au || e->id > au->upto || e->state == LEDGER_NEW)
        return;
    au->states[e->state] += one;
    if (ledger_state_open((enum ledger_state)e->state))
        au->open[e->durable != LEDGER_NONE] += one;
}

void audit_changing(const struct ledger *l, const struct entry *e)
{
    add(l, e, (uint64_t)-1);
}

void audit_changed(const struct ledger *l, const struct entry *e)
{
    add(l, e, 1);
}

void audit_freed(const struct ledger *l, const struct entry *e)
{
    audit_changing(l, e);
    if (l->audit && l->audit->at == e)
        go_to(l->audit, e->all_next);
}

static void walk(struct ledger *l, struct audit *au)
{
    for (int budget = WALK_BUDGET; au->at && budget > 0; budget--) {
        au->upto = au->at->id;
        audit_changed(l, au->at);
        go_to(au, au->at->all_next);
    }
}

/* --- Rows --- */

static void ask_rows(struct ledger *l, struct audit *au, uint64_t from)
{
    struct store_op *op = rows_op_new(l, STORE_COUNT, 0);
    au->rows_done = !op;
    au->rows_error = op ? STORE_OK : STORE_MEMORY;
    if (!op)
        return;
    op->audit.from = from;
    store_push(l->store, op);
}

void audit_rows(struct ledger *l, const struct store_op *op)
{
    struct audit *au = l->audit;
    if (!au)
        return;
    if (op->error != STORE_OK) {
        au->rows_done = true;
        au->rows_error = op->error;
        return;
    }
    au->rows_open += op->audit.open;
    au->rows_below = op->audit.next;
    au->counters = op->audit.counters;
    if (op->audit.next > 0)
        ask_rows(l, au, op->audit.next);
    else
        au->rows_done = true;
}

void audit_row_changed(struct ledger *l, const struct store_op *op)
{
    const struct store_counts *c = &op->add;
    struct audit *au = l->audit;
    if (au && !au->rows_done && op->task.id < au->rows_below)
        au->rows_open +=
            (uint64_t)(c->submitted - c->done - c->failed - c->cancelled - c->expired - c->dead);
}

/* --- The whole --- */

void audit_serve(struct ledger *l, struct ask *a)
{
    struct audit *au = l->audit ? l->audit : calloc(1, sizeof *au);
    if (!au) {
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    a->next = au->asks;
    au->asks = a;
    if (l->audit)
        return;
    l->audit = au;
    go_to(au, l->first);
    au->rows_done = !l->store;
    if (l->store)
        ask_rows(l, au, 0);
    ao_activate(&l->ao);
}

bool audit_go_on(struct ledger *l)
{
    struct audit *au = l->audit;
    struct ask *a;
    if (!au)
        return true;
    walk(l, au);
    if (au->at || !au->rows_done)
        return !au->at; /* the rows come by themselves */
    l->audit = NULL;
    while ((a = au->asks)) {
        au->asks = a->next;
        audit_answer(l, a, au);
    }
    free(au);
    return true;
}

void audit_stop(struct ledger *l)
{
    struct audit *au = l->audit;
    struct ask *a;
    while (au && (a = au->asks)) {
        au->asks = a->next;
        ask_refuse(l, a, ERGON_E_DRAINING, "%s", error_meaning(ERGON_E_DRAINING));
    }
    free(au);
    l->audit = NULL;
}
