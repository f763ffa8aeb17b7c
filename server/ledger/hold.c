/* Limits and buckets, and the tables that they are found in. */
#include "server/ledger/hold.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "server/ledger/slots.h"

struct names {
    struct hold_key **chains; /* `size` */
    uint32_t size, count;
};

struct hold_table {
    struct names limits, buckets;
    uint64_t seed[2];
};

/* --- The tables --- */

struct hold_table *hold_table_new(const uint64_t seed[2])
{
    struct hold_table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (struct hold_table){.limits = {.chains = slots_new(), .size = SLOTS_FIRST},
                             .buckets = {.chains = slots_new(), .size = SLOTS_FIRST},
                             .seed = {seed[0], seed[1]}};
    if (t->limits.chains && t->buckets.chains)
        return t;
    hold_table_free(t);
    return NULL;
}

void hold_table_free(struct hold_table *t)
{
    if (!t)
        return;
    assert(t->limits.count == 0 && t->buckets.count == 0);
    free(t->limits.chains);
    free(t->buckets.chains);
    free(t);
}

static uint64_t hash_of(const struct hold_table *t, const struct tenant *tenant, struct span name)
{
    const uint64_t seed[2] = {t->seed[0] ^ (uintptr_t)tenant, t->seed[1]};
    return siphash(seed, name);
}

static struct hold_key *find(const struct names *n, uint64_t hash, const struct tenant *tenant,
                             struct span name)
{
    struct hold_key *k = n->chains[slots_at(hash, n->size)];
    while (k && !(k->hash == hash && k->tenant == tenant && span_equal(k->name, name)))
        k = k->next;
    return k;
}

static void put(struct names *n, struct hold_key *k)
{
    struct hold_key **chain = &n->chains[slots_at(k->hash, n->size)];
    k->next = *chain;
    *chain = k;
}

static void grow(struct names *n)
{
    struct hold_key **chains = slots_grow(n->chains, n->size);
    if (!chains)
        return;
    struct hold_key **split = &chains[slots_split(n->size)];
    struct hold_key *k = *split, *next;
    *split = NULL;
    n->chains = chains;
    n->size++;
    for (; k; k = next) {
        next = k->next;
        put(n, k);
    }
}

/* A limit or bucket of `bytes`, zeroed but for its key. */
static void *add(struct names *n, size_t bytes, uint64_t hash, const struct tenant *tenant,
                 struct span name)
{
    struct hold_key *k = calloc(1, bytes + name.len);
    if (!k)
        return NULL;
    uint8_t *copy = (uint8_t *)k + bytes;
    memcpy(copy, name.at, name.len);
    *k = (struct hold_key){.hash = hash, .name = span_of(copy, name.len), .tenant = tenant};
    if (n->count >= n->size)
        grow(n);
    put(n, k);
    n->count++;
    return k;
}

static void drop(struct names *n, struct hold_key *k)
{
    struct hold_key **at = &n->chains[slots_at(k->hash, n->size)];
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    n->count--;
    free(k);
}

/* --- Limits --- */

struct limit *hold_limit(struct hold_table *t, struct tenant *tenant, struct span name,
                         uint32_t max)
{
    uint64_t hash = hash_of(t, tenant, name);
    struct limit *l = (struct limit *)find(&t->limits, hash, tenant, name);
    if (!l && !(l = add(&t->limits, sizeof *l, hash, tenant, name)))
        return NULL;
    l->max = max;
    l->refs++;
    return l;
}

void hold_limit_drop(struct hold_table *t, struct limit *l)
{
    if (--l->refs > 0)
        return;
    assert(l->waiting.count == 0);
    drop(&t->limits, &l->key);
}

static bool has_slot(const struct limit *l)
{
    return l->taken < l->max;
}

static void grant_slot(struct limit *l, struct entry *e)
{
    l->taken++;
    entry_set(e, ENTRY_HOLDS_SLOT);
}

bool limit_take(struct limit *l, struct entry *e)
{
    assert(!entry_is(e, ENTRY_HOLDS_SLOT));
    if (l->waiting.count == 0 && has_slot(l)) {
        grant_slot(l, e);
        return true;
    }
    entry_push(&l->waiting, e);
    return false;
}

struct entry *limit_give(struct limit *l, struct entry *e)
{
    if (e && entry_is(e, ENTRY_HOLDS_SLOT)) {
        l->taken--;
        entry_clear(e, ENTRY_HOLDS_SLOT);
    }
    struct entry *next = has_slot(l) ? entry_pop(&l->waiting) : NULL;
    if (next)
        grant_slot(l, next);
    return next;
}

/* --- Buckets --- */

/* How far `full_at` may lie ahead while one token is still there. */
static ao_time tolerance(const struct bucket *b)
{
    return (b->size - 1) * b->every;
}

static ao_time missing(const struct bucket *b, ao_time now)
{
    return b->full_at > now ? b->full_at - now : 0;
}

/* Times that count tokens, of one size to those of another; exact to one ns. */
static ao_time scaled(ao_time time, ao_time every, ao_time was_every)
{
    return (ao_time)((unsigned __int128)time * every / was_every);
}

/* The tokens that it has stay; so to change the size to and fro gains nothing. */
static void resize(struct bucket *b, uint32_t size, ao_time every, ao_time now)
{
    if (b->size == size && b->every == every)
        return;
    ao_time whole = (ao_time)size * every, was = (ao_time)b->size * b->every, has = whole;
    if (b->size > 0) /* less than none after it was lowered */
        has = was > missing(b, now) ? scaled(was - missing(b, now), every, b->every) : 0;
    b->size = size;
    b->every = every;
    b->full_at = has < whole ? now + (whole - has) : now;
}

struct bucket *hold_bucket(struct hold_table *t, struct tenant *tenant, struct span name,
                           uint32_t rate, ao_time per, ao_time now)
{
    rate = rate > 0 ? rate : 1;
    uint64_t hash = hash_of(t, tenant, name);
    struct bucket *b = (struct bucket *)find(&t->buckets, hash, tenant, name);
    if (!b && !(b = add(&t->buckets, sizeof *b, hash, tenant, name)))
        return NULL;
    resize(b, rate, per > rate ? per / rate + (per % rate > 0) : 1, now);
    b->refs++;
    return b;
}

void hold_bucket_drop(struct hold_table *t, struct bucket *b)
{
    if (--b->refs > 0)
        return;
    assert(b->waiting.count == 0);
    drop(&t->buckets, &b->key);
}

/* With the tokens that are held taken for used. */
static ao_time missing_of(const struct bucket *b, ao_time now)
{
    return missing(b, now) + b->held * b->every;
}

static bool has_token(const struct bucket *b, ao_time now)
{
    return missing_of(b, now) <= tolerance(b);
}

static void grant_token(struct bucket *b, struct entry *e)
{
    b->held++;
    entry_set(e, ENTRY_HOLDS_TOKEN);
}

bool bucket_take(struct bucket *b, struct entry *e, ao_time now)
{
    assert(!entry_is(e, ENTRY_HOLDS_TOKEN));
    if (b->waiting.count == 0 && has_token(b, now)) {
        grant_token(b, e);
        return true;
    }
    entry_push(&b->waiting, e);
    return false;
}

void bucket_give(struct bucket *b, struct entry *e)
{
    if (entry_is(e, ENTRY_HOLDS_TOKEN))
        b->held--;
    entry_clear(e, ENTRY_HOLDS_TOKEN);
}

void bucket_use(struct bucket *b, struct entry *e, ao_time now)
{
    assert(entry_is(e, ENTRY_HOLDS_TOKEN));
    bucket_give(b, e);
    b->full_at = now + missing(b, now) + b->every;
}

struct entry *bucket_next(struct bucket *b, ao_time now)
{
    struct entry *e = has_token(b, now) ? entry_pop(&b->waiting) : NULL;
    if (e)
        grant_token(b, e);
    return e;
}

ao_time bucket_refill(const struct bucket *b, ao_time now)
{
    return b->held < b->size ? bucket_refill_at(b, 0, now) : AO_NEVER;
}

ao_time bucket_refill_at(const struct bucket *b, uint32_t n, ao_time now)
{
    ao_time ahead = missing_of(b, now) + n * b->every;
    return ahead > tolerance(b) ? now + ahead - tolerance(b) : now;
}
