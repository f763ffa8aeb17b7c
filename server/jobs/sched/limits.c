/* Limits and buckets, and the tables that they are found in. */
#include "server/jobs/sched/limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "server/jobs/core/slots.h"

struct names {
    struct limit_key **chains; /* `size` */
    uint32_t size, count;
};

struct limit_table {
    struct names limits, buckets;
    uint64_t seed[2];
};

/* --- The tables --- */

struct limit_table *limit_table_new(const uint64_t seed[2])
{
    struct limit_table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (struct limit_table){.limits = {.chains = slots_new(), .size = SLOTS_FIRST},
                              .buckets = {.chains = slots_new(), .size = SLOTS_FIRST},
                              .seed = {seed[0], seed[1]}};
    if (t->limits.chains && t->buckets.chains)
        return t;
    limit_table_free(t);
    return NULL;
}

void limit_table_free(struct limit_table *t)
{
    if (!t)
        return;
    assert(t->limits.count == 0 && t->buckets.count == 0);
    free(t->limits.chains);
    free(t->buckets.chains);
    free(t);
}

static uint64_t hash_of(const struct limit_table *t, const struct tenant *tenant, struct span name)
{
    const uint64_t seed[2] = {t->seed[0] ^ (uintptr_t)tenant, t->seed[1]};
    return siphash(seed, name);
}

static struct limit_key *find(const struct names *n, uint64_t hash, const struct tenant *tenant,
                              struct span name)
{
    struct limit_key *k = n->chains[slots_at(hash, n->size)];
    while (k && !(k->hash == hash && k->tenant == tenant && span_equal(k->name, name)))
        k = k->next;
    return k;
}

static void put(struct names *n, struct limit_key *k)
{
    struct limit_key **chain = &n->chains[slots_at(k->hash, n->size)];
    k->next = *chain;
    *chain = k;
}

static void grow(struct names *n)
{
    struct limit_key **chains = slots_grow(n->chains, n->size);
    if (!chains)
        return;
    struct limit_key **split = &chains[slots_split(n->size)];
    struct limit_key *k = *split, *next;
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
    struct limit_key *k = calloc(1, bytes + name.len);
    if (!k)
        return NULL;
    uint8_t *copy = (uint8_t *)k + bytes;
    memcpy(copy, name.at, name.len);
    *k = (struct limit_key){.hash = hash, .name = span_of(copy, name.len), .tenant = tenant};
    if (n->count >= n->size)
        grow(n);
    put(n, k);
    n->count++;
    return k;
}

static void drop(struct names *n, struct limit_key *k)
{
    struct limit_key **at = &n->chains[slots_at(k->hash, n->size)];
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    n->count--;
    free(k);
}

/* --- Limits --- */

struct limit *limit_get(struct limit_table *t, struct tenant *tenant, struct span name,
                        uint32_t max)
{
    uint64_t hash = hash_of(t, tenant, name);
    struct limit *limit = (struct limit *)find(&t->limits, hash, tenant, name);
    if (!limit && !(limit = add(&t->limits, sizeof *limit, hash, tenant, name)))
        return NULL;
    limit->max = max;
    limit->refs++;
    return limit;
}

void limit_unref(struct limit_table *t, struct limit *limit)
{
    if (--limit->refs > 0)
        return;
    assert(limit->waiting.count == 0);
    drop(&t->limits, &limit->key);
}

static bool has_slot(const struct limit *limit)
{
    return limit->taken < limit->max;
}

static void grant_slot(struct limit *limit, struct job *job)
{
    limit->taken++;
    job_mark(job, JOB_HAS_PERMIT);
}

bool limit_take(struct limit *limit, struct job *job)
{
    assert(!job_is(job, JOB_HAS_PERMIT));
    if (limit->waiting.count == 0 && has_slot(limit)) {
        grant_slot(limit, job);
        return true;
    }
    job_list_push(&limit->waiting, job);
    return false;
}

struct job *limit_give(struct limit *limit, struct job *job)
{
    if (job && job_is(job, JOB_HAS_PERMIT)) {
        limit->taken--;
        job_unmark(job, JOB_HAS_PERMIT);
    }
    struct job *next = has_slot(limit) ? job_list_pop(&limit->waiting) : NULL;
    if (next)
        grant_slot(limit, next);
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

struct bucket *bucket_get(struct limit_table *t, struct tenant *tenant, struct span name,
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

void bucket_unref(struct limit_table *t, struct bucket *b)
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

static void grant_token(struct bucket *b, struct job *job)
{
    b->held++;
    job_mark(job, JOB_HAS_TOKEN);
}

bool bucket_take(struct bucket *b, struct job *job, ao_time now)
{
    assert(!job_is(job, JOB_HAS_TOKEN));
    if (b->waiting.count == 0 && has_token(b, now)) {
        grant_token(b, job);
        return true;
    }
    job_list_push(&b->waiting, job);
    return false;
}

void bucket_give(struct bucket *b, struct job *job)
{
    if (job_is(job, JOB_HAS_TOKEN))
        b->held--;
    job_unmark(job, JOB_HAS_TOKEN);
}

void bucket_use(struct bucket *b, struct job *job, ao_time now)
{
    assert(job_is(job, JOB_HAS_TOKEN));
    bucket_give(b, job);
    b->full_at = now + missing(b, now) + b->every;
}

struct job *bucket_next(struct bucket *b, ao_time now)
{
    struct job *job = has_token(b, now) ? job_list_pop(&b->waiting) : NULL;
    if (job)
        grant_token(b, job);
    return job;
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
