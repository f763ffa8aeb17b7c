/* Limits and buckets, and the tables that they are found in. */
#include "server/jobs/sched/limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"

struct limit_table {
    struct hash_table limits, buckets;
    uint64_t seed[2];
};

/* --- The tables --- */

struct limit_table *limit_table_new(const uint64_t seed[2])
{
    struct limit_table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (struct limit_table){.seed = {seed[0], seed[1]}};
    hash_table_init(&t->limits);
    hash_table_init(&t->buckets);
    return t;
}

void limit_table_free(struct limit_table *t)
{
    if (!t)
        return;
    assert(t->limits.count == 0 && t->buckets.count == 0);
    hash_table_fini(&t->limits);
    hash_table_fini(&t->buckets);
    free(t);
}

/* What has this name, made with `bytes`, zeroed but for its key, when it is new; NULL without
 * memory. */
static void *get(struct limit_table *t, struct hash_table *names, size_t bytes,
                 const struct tenant *tenant, struct span name)
{
    const uint64_t seed[2] = {t->seed[0] ^ (uintptr_t)tenant, t->seed[1]};
    uint64_t hash = siphash(seed, name);
    for (struct hash_link *link = hash_first(names, hash); link; link = hash_next(link)) {
        struct limit_key *key = (struct limit_key *)link;
        if (key->tenant == tenant && span_equal(key->name, name))
            return key;
    }
    struct limit_key *key = calloc(1, bytes + name.len);
    if (!key)
        return NULL;
    uint8_t *copy = (uint8_t *)key + bytes;
    memcpy(copy, name.at, name.len);
    *key = (struct limit_key){.link.hash = hash, .name = span_of(copy, name.len), .tenant = tenant};
    hash_add(names, &key->link);
    return key;
}

static void drop(struct hash_table *names, struct limit_key *key)
{
    hash_remove(names, &key->link);
    free(key);
}

/* --- Limits --- */

struct limit *limit_get(struct limit_table *t, struct tenant *tenant, struct span name,
                        uint32_t max)
{
    struct limit *limit = get(t, &t->limits, sizeof *limit, tenant, name);
    if (!limit)
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

static bool has_room(const struct limit *limit)
{
    return limit->taken < limit->max;
}

static void grant_permit(struct limit *limit, struct job *job)
{
    limit->taken++;
    job_mark(job, JOB_HAS_PERMIT);
}

bool limit_take(struct limit *limit, struct job *job)
{
    assert(!job_is(job, JOB_HAS_PERMIT));
    if (limit->waiting.count == 0 && has_room(limit)) {
        grant_permit(limit, job);
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
    struct job *next = has_room(limit) ? job_list_pop(&limit->waiting) : NULL;
    if (next)
        grant_permit(limit, next);
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
    struct bucket *b = get(t, &t->buckets, sizeof *b, tenant, name);
    if (!b)
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
