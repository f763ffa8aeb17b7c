/* Backends: they run the calls of their links, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/pg/model_parts.h"

#define NOTICES_GONE UINT64_C(2000000000) /* client_connection_check_interval */

/* --- Locks of rows --- */

static bool is_same(const struct pg_lock *lock, int table, const struct pg_key *key)
{
    return lock->table == table && lock->key.len == key->len &&
           memcmp(lock->key.at, key->at, key->len) == 0;
}

static bool holds(const struct pg_backend *b, int table, const struct pg_key *key)
{
    for (int n = 0; n < b->lock_count; n++)
        if (is_same(&b->locks[n], table, key))
            return true;
    return false;
}

/* Another one has it, or waits for longer. */
static bool is_taken(const struct pg *pg, const struct pg_backend *b, int table,
                     const struct pg_key *key)
{
    for (const struct pg_backend *o = pg->backends; o; o = o->next) {
        if (o == b || o->machine != b->machine)
            continue;
        bool before = o->ticket && is_same(&o->waits, table, key) &&
                      (b->ticket == 0 || o->ticket < b->ticket);
        if (holds(o, table, key) || before)
            return true;
    }
    return false;
}

bool pg_lock(struct pg *pg, struct pg_backend *b, int table, const struct pg_key *key)
{
    b->has_xid = true;
    if (holds(b, table, key))
        return true;
    if (is_taken(pg, b, table, key)) {
        if (b->ticket == 0)
            b->ticket = ++pg->tickets;
        b->waits = (struct pg_lock){.table = table, .key = *key};
        return false;
    }
    require(b->lock_count < LOCKS_MAX, "a transaction of the model has too many locks");
    b->ticket = 0;
    b->locks[b->lock_count++] = (struct pg_lock){.table = table, .key = *key};
    return true;
}

/* --- Begin and end --- */

struct pg_backend *pg_backend_new(struct pg *pg, struct pg_link *link)
{
    struct pg_backend *b = calloc(1, sizeof *b), **at = &pg->backends;
    require(b != NULL, "no memory for a backend of the model");
    b->link = link;
    snprintf(b->node, sizeof b->node, "%s", link->node);
    b->machine = link->machine;
    b->number = ++pg->begun;
    b->gone_at = PG_NEVER;
    while (*at)
        at = &(*at)->next;
    *at = b;
    return b;
}

static void roll_back(struct pg_backend *b)
{
    pg_tables_clear(b->own, PG_TABLES);
    b->lock_count = 0;
    b->ticket = 0;
    b->has_xid = b->in_transaction = b->aborted = false;
}

void pg_backend_free(struct pg *pg, struct pg_backend *b)
{
    struct pg_backend **at = &pg->backends;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    if (b->link)
        b->link->backend = NULL;
    roll_back(b);
    pg_call_free(b->call);
    while (b->inbox) {
        struct pg_call *call = b->inbox;
        b->inbox = call->next;
        pg_call_free(call);
    }
    free(b);
}

/* --- A call --- */

static void reply(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct pg_link *link = b->link;
    b->call = NULL;
    b->phase = PHASE_IDLE;
    if (!link) {
        pg_call_free(call);
        return;
    }
    uint64_t at = pg->clock + pg_chance(pg, pg->shape.net);
    call->next = NULL;
    call->arrives =
        link->outbox_last && link->outbox_last->arrives > at ? link->outbox_last->arrives : at;
    if (link->outbox_last)
        link->outbox_last->next = call;
    else
        link->outbox = call;
    link->outbox_last = call;
    pg->news = true;
}

/* It becomes visible, and its locks are free. */
static void finish(struct pg *pg, struct pg_backend *b)
{
    struct pg_machine *m = &pg->machines[b->machine];
    for (struct pg_record *r = m->first; r && b->has_xid; r = r->next)
        if (r->lsn == b->lsn && !r->visible) {
            pg_tables_apply(m->tables, r->changes);
            r->visible = true;
        }
    roll_back(b);
    reply(pg, b);
}

/* The driver and the engine rely on this, whatever the statements look at: a deposed owner changes
 * no row, and a batch that a settling has found unwritten is never written. */
static void check_owner(const struct pg_machine *m, const struct pg_backend *b)
{
    struct pg_key key = pg_owner_key();
    const struct pg_row *new = pg_table_find(&b->own[PG_OWNER], &key),
                        *old = pg_table_find(&m->tables[PG_OWNER], &key);
    struct pg_owner before, after;
    if (!new)
        return;
    for (const struct pg_record *r = m->first; r; r = r->next) {
        const struct pg_row *row = pg_table_find(&r->changes[PG_OWNER], &key);
        old = row ? row : old;
    }
    memcpy(&after, pg_row_bytes(new), sizeof after);
    memcpy(&before, pg_row_bytes(old), sizeof before);
    bool is_unit = b->call->kind == PG_UNIT;
    require(after.row.epoch >= before.row.epoch &&
                (!is_unit || after.row.epoch == b->call->unit.epoch),
            "a former owner has changed rows");
    require(!is_unit || m->settled != after.row.epoch || b->number >= m->settler,
            "what was settled as not written is written");
}

static void write_record(struct pg *pg, struct pg_backend *b)
{
    struct pg_machine *m = &pg->machines[b->machine];
    check_owner(m, b);
    if (b->call->kind == PG_SETTLE && b->call->rows > 0) {
        m->settled = b->call->epoch;
        m->settler = b->number;
        pg->settlings++;
    }
    struct pg_record *r = calloc(1, sizeof *r);
    require(r != NULL, "no memory for a commit of the model");
    r->lsn = b->lsn = ++m->lsn;
    memcpy(r->changes, b->own, sizeof b->own);
    memset(b->own, 0, sizeof b->own);
    for (int n = 0; n < PG_MACHINES; n++) {
        uint64_t last = m->last ? m->last->at[n] : 0;
        uint64_t at = pg->clock + pg_chance(pg, pg->shape.lag);
        r->at[n] = at > last ? at : last;
    }
    if (m->last)
        m->last->next = r;
    else
        m->first = r;
    m->last = r;
}

static void check_declared_dead(struct pg *pg, const struct pg_backend *b)
{
    const struct pg_call *call = b->call;
    struct pg_key key = pg_key_text(span_text(call->former));
    struct engine_node row;
    if (call->kind != PG_DECLARE_DEAD || call->rows == 0)
        return;
    memcpy(&row, pg_row_bytes(pg_table_find(&pg->machines[b->machine].tables[PG_NODES], &key)),
           sizeof row);
    require(row.renewals == call->renewals, "a node that renews is declared dead");
}

static void end_call(struct pg *pg, struct pg_backend *b)
{
    check_declared_dead(pg, b);
    bool failed = b->call->state[0] != '\0';
    if (failed && b->in_transaction) {
        b->aborted = true;
        reply(pg, b);
    } else if (b->in_transaction) {
        reply(pg, b);
    } else if (failed || b->aborted || b->call->kind == PG_ROLLBACK) {
        roll_back(b);
        reply(pg, b);
    } else if (b->has_xid) {
        b->phase = PHASE_FLUSHES;
        b->ready_at = pg->clock + pg_chance(pg, pg->shape.flush);
    } else {
        finish(pg, b);
    }
}

static bool is_struck(struct pg *pg)
{
    return pg->failure[0] && pg_chance(pg, pg->fails_one_in - 1) == 0;
}

static bool run(struct pg *pg, struct pg_backend *b)
{
    if (b->phase == PHASE_WORKS && is_struck(pg) && b->call->kind != PG_ROLLBACK)
        memcpy(b->call->state, pg->failure, sizeof b->call->state);
    else if (!pg_run(pg, b)) {
        bool waited = b->phase == PHASE_WAITS;
        b->phase = PHASE_WAITS;
        return !waited;
    }
    end_call(pg, b);
    return true;
}

static bool take_call(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->inbox;
    if (!call || call->arrives > pg->clock ||
        (b->link && !pg_passes(pg, b->node, b->machine, PG_TO_ENGINE)))
        return false;
    b->inbox = call->next;
    if (!b->inbox)
        b->inbox_last = NULL;
    b->call = call;
    b->phase = PHASE_WORKS;
    b->ready_at = pg->clock + pg_chance(pg, pg->shape.work);
    return true;
}

/* A backend whose client has gone runs what has arrived, and gives up to wait for a lock; it goes
 * on to wait for a standby. */
static bool leaves(const struct pg *pg, const struct pg_backend *b)
{
    if (b->gone_at > pg->clock)
        return false;
    if (b->phase == PHASE_WAITS)
        return pg->clock - b->gone_at >= NOTICES_GONE;
    return b->phase == PHASE_IDLE && !b->inbox;
}

bool pg_backend_step(struct pg *pg, struct pg_backend *b)
{
    const struct pg_machine *m = &pg->machines[b->machine];
    if (!m->up || m->frozen)
        return false;
    if (leaves(pg, b)) {
        pg_backend_free(pg, b);
        return true;
    }
    switch (b->phase) {
    case PHASE_IDLE:
        return take_call(pg, b);
    case PHASE_WORKS:
        return b->ready_at <= pg->clock && run(pg, b);
    case PHASE_WAITS:
        return run(pg, b);
    case PHASE_FLUSHES:
        if (b->ready_at > pg->clock)
            return false;
        write_record(pg, b);
        b->phase = PHASE_SYNCS;
        return true;
    case PHASE_SYNCS:
        if (pg->shape.synchronous && m->synced < b->lsn)
            return false;
        finish(pg, b);
        return true;
    }
    return false;
}

/* When it goes on by itself. */
uint64_t pg_backend_next(const struct pg *pg, const struct pg_backend *b)
{
    const struct pg_machine *m = &pg->machines[b->machine];
    if (!m->up || m->frozen)
        return PG_NEVER;
    if (b->phase == PHASE_WORKS || b->phase == PHASE_FLUSHES)
        return b->ready_at;
    if (b->phase == PHASE_WAITS)
        return b->gone_at == PG_NEVER ? PG_NEVER : b->gone_at + NOTICES_GONE;
    if (b->phase != PHASE_IDLE)
        return PG_NEVER;
    uint64_t next = b->inbox ? b->inbox->arrives : b->gone_at;
    return b->inbox && next <= pg->clock ? PG_NEVER : next; /* it is held up by a cut */
}

void pg_backend_cancel_wait(struct pg *pg, struct pg_backend *b)
{
    if (b->phase != PHASE_SYNCS)
        return;
    b->call->cancelled = true;
    finish(pg, b);
}
