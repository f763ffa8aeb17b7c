/* server.audit: do the accounts balance?  Submitted = what has ended, by how, + what is open.
 *
 * The ledger's accounts are held against a walk over all entries, the store's counters against a
 * count of its rows, made in one transaction behind everything that was pushed before. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/ledger/ledger_parts.h"

enum { DIFFERENCES = 8 };

static const enum ledger_state ends[] = {LEDGER_DONE, LEDGER_FAILED, LEDGER_CANCELLED,
                                         LEDGER_EXPIRED, LEDGER_DEAD};
enum { ENDS = sizeof ends / sizeof ends[0] };

struct audit {
    uint64_t open[2]; /* entries: of none, of the others */
    uint64_t states[LEDGER_STATE_COUNT];
    char differences[DIFFERENCES][160];
    uint32_t count;
};

static void differ(struct audit *au, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differ(struct audit *au, const char *format, ...)
{
    va_list args;

    if (au->count == DIFFERENCES)
        return;
    va_start(args, format);
    vsnprintf(au->differences[au->count++], sizeof au->differences[0], format, args);
    va_end(args);
}

static void walk(const struct ledger *l, struct audit *au)
{
    for (const struct entry *e = l->first; e; e = e->all_next) {
        au->states[e->state]++;
        if (ledger_state_open((enum ledger_state)e->state))
            au->open[e->durable != LEDGER_NONE]++;
    }
}

static uint64_t sum_ended(const struct account *account)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < ENDS; i++)
        sum += account->ended[ends[i]];
    return sum;
}

static void check_account(struct audit *au, const char *name, const struct account *account,
                          uint64_t open)
{
    uint64_t ended = sum_ended(account);
    if (account->submitted != ended + open)
        differ(au, "%s: %" PRIu64 " submitted, but %" PRIu64 " ended and %" PRIu64 " open", name,
               account->submitted, ended, open);
}

/* Every queue counts its own; together they are the entries that there are. */
static void check_queues(const struct ledger *l, struct audit *au)
{
    for (unsigned s = 0; s < LEDGER_STATE_COUNT; s++) {
        uint64_t sum = 0;
        for (const struct ledger_queue *q = l->queues; q; q = q->next)
            sum += q->by_state[s];
        if (sum != au->states[s])
            differ(au, "queues count %" PRIu64 " %s, but there are %" PRIu64, sum,
                   ledger_state_names[s], au->states[s]);
    }
}

static void check_rows(struct audit *au, const struct store_audit *rows)
{
    const struct store_counts *c = &rows->counters;
    uint64_t ended = (uint64_t)(c->done + c->failed + c->cancelled + c->expired + c->dead);

    if ((uint64_t)c->submitted != ended + rows->open)
        differ(au,
               "store: %" PRIi64 " submitted, but %" PRIu64 " ended and %" PRIu64 " rows are open",
               c->submitted, ended, rows->open);
}

static void pack_account(struct pack *p, const char *name, const struct account *account,
                         uint64_t open)
{
    pack_str(p, name);
    pack_map(p, 2 + ENDS);
    pack_key_uint(p, "submitted", account->submitted);
    for (unsigned i = 0; i < ENDS; i++)
        pack_key_uint(p, ledger_state_names[ends[i]], account->ended[ends[i]]);
    pack_key_uint(p, "open", open);
}

static void pack_rows(struct pack *p, const struct store_audit *rows)
{
    pack_str(p, "store");
    if (!rows) {
        pack_nil(p);
        return;
    }
    const struct store_counts *c = &rows->counters;
    pack_map(p, 2 + ENDS);
    pack_key_int(p, "submitted", c->submitted);
    pack_key_int(p, "done", c->done);
    pack_key_int(p, "failed", c->failed);
    pack_key_int(p, "cancelled", c->cancelled);
    pack_key_int(p, "expired", c->expired);
    pack_key_int(p, "dead", c->dead);
    pack_key_uint(p, "open", rows->open);
}

void audit_answer(struct ledger *l, struct ask *a, const struct store_audit *rows)
{
    struct audit au = {0};
    struct pack *p = &a->result;

    walk(l, &au);
    check_account(&au, "durable tasks", &l->kept, au.open[1]);
    check_account(&au, "tasks in memory", &l->fleeting, au.open[0]);
    check_queues(l, &au);
    if (rows)
        check_rows(&au, rows);
    else if (l->store)
        differ(&au, "the store could not be asked: %s", store_error_text(l->store_error));
    pack_init(p);
    pack_map(p, 5);
    pack_key_bool(p, "balanced", au.count == 0);
    pack_account(p, "kept", &l->kept, au.open[1]);
    pack_account(p, "fleeting", &l->fleeting, au.open[0]);
    pack_rows(p, rows);
    pack_str(p, "differences");
    pack_array(p, au.count);
    for (uint32_t i = 0; i < au.count; i++)
        pack_str(p, au.differences[i]);
    ask_finish(l, a);
}

/* With a store the answer comes when its rows are counted (records.c). */
void audit_serve(struct ledger *l, struct ask *a)
{
    struct store_op *op = l->store ? rows_op_new(l, STORE_COUNT, 0) : NULL;

    if (!op) {
        audit_answer(l, a, NULL);
        return;
    }
    op->owner = a;
    store_push(l->store, op);
}
