/* Slots and tokens: what limits and buckets grant to entries, and get back. */
#include "server/ledger/ledger_parts.h"

/* --- Tokens --- */

/* Who stands first gets its token when it is there. */
static void await_token(struct ledger *l, struct bucket *b)
{
    if (ao_current() == &b->timer)
        return;
    ao_deactivate(&b->timer);
    if (b->waiting.count > 0)
        ao_sleep_until(&b->timer, bucket_refill(b, ledger_now(l)));
}

static enum ao_verdict bucket_due(struct ao *self)
{
    struct bucket *b = ao_of(self, struct bucket, timer);
    struct ledger *l = b->ledger;
    struct entry *e;
    while ((e = bucket_next(b, ledger_now(l))))
        ledger_queue_up(l, e, true);
    if (b->waiting.count == 0)
        return AO_DONE;
    ao_sleep_until(self, bucket_refill(b, ledger_now(l)));
    return AO_PARK;
}

const struct ao_class ledger_bucket_class = {.name = "bucket", .step = bucket_due};

static void release_token(struct ledger *l, struct entry *e)
{
    if (!entry_is(e, ENTRY_HOLDS_TOKEN))
        return;
    bucket_give(e->more->bucket, e);
    await_token(l, e->more->bucket);
}

void holding_start(struct ledger *l, struct entry *e)
{
    if (!entry_is(e, ENTRY_HOLDS_TOKEN))
        return;
    bucket_use(e->more->bucket, e, ledger_now(l));
    await_token(l, e->more->bucket);
}

/* --- Slots --- */

static void give_slot(struct ledger *l, struct limit *limit, struct entry *e)
{
    for (struct entry *next = limit_give(limit, e); next; next = limit_give(limit, NULL))
        ledger_queue_up(l, next, true);
}

void ledger_release_slot(struct ledger *l, struct entry *e)
{
    if (entry_is(e, ENTRY_HOLDS_SLOT))
        give_slot(l, e->more->limit, e);
}

/* The entry may have got another slot meanwhile. */
void holding_release_stray(struct ledger *l, struct entry *e)
{
    struct limit *limit = e->more ? e->more->limit : NULL;
    bool has_one = entry_is(e, ENTRY_HOLDS_SLOT);
    if (!limit)
        return;
    entry_set(e, ENTRY_HOLDS_SLOT);
    struct entry *next = limit_give(limit, e);
    if (has_one)
        entry_set(e, ENTRY_HOLDS_SLOT);
    for (; next; next = limit_give(limit, NULL))
        ledger_queue_up(l, next, true);
}

/* --- Joined and left --- */

static bool join_bucket(struct ledger *l, struct entry *e, const struct order *o)
{
    struct bucket *b =
        hold_bucket(l->holds, e->tenant, o->rate_key, o->rate, o->rate_per, ledger_now(l));
    e->more->bucket = b;
    if (!b)
        return false;
    if (!b->ledger) {
        b->ledger = l;
        ao_init(&b->timer, &ledger_bucket_class, l->activator);
    }
    await_token(l, b); /* another size may have brought one nearer */
    return true;
}

bool holding_join(struct ledger *l, struct entry *e, const struct order *o)
{
    if (o->limit_key.len > 0) {
        e->more->limit = hold_limit(l->holds, e->tenant, o->limit_key, o->limit);
        if (!e->more->limit)
            return false;
        give_slot(l, e->more->limit, NULL); /* it may have been raised */
    }
    return o->rate_key.len == 0 || join_bucket(l, e, o);
}

void holding_leave(struct ledger *l, struct entry *e)
{
    struct bucket *b = e->more->bucket;
    if (e->more->limit)
        hold_limit_drop(l->holds, e->more->limit);
    if (!b)
        return;
    if (b->refs == 1) {
        ao_deactivate(&b->timer);
        ao_fini(&b->timer);
    }
    hold_bucket_drop(l->holds, b);
}

/* --- Both --- */

void holding_release(struct ledger *l, struct entry *e)
{
    release_token(l, e);
    ledger_release_slot(l, e);
}

bool holding_take(struct ledger *l, struct entry *e)
{
    struct entry_more *more = e->more;
    if (!more)
        return true;
    if (more->limit && !entry_is(e, ENTRY_HOLDS_SLOT) && !limit_take(more->limit, e)) {
        ledger_turn(l, e, LEDGER_WAITING, LEDGER_WHY_LIMIT);
        release_token(l, e); /* nor a token while it waits for a slot */
        return false;
    }
    if (!more->bucket || entry_is(e, ENTRY_HOLDS_TOKEN) ||
        bucket_take(more->bucket, e, ledger_now(l)))
        return true;
    await_token(l, more->bucket);
    ledger_turn(l, e, LEDGER_WAITING, LEDGER_WHY_RATE);
    ledger_release_slot(l, e); /* no slot is kept while it waits for a token */
    return false;
}
