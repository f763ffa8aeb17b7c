/* What holds a job back by a key: limits (at most n of a key run) and buckets (at most n starts of
 * a key in a time).  Thread: the jobs'.  Pure: the time is passed in.
 *
 * A permit is granted in order of arrival, and stands reserved for whom it was granted to until
 * that one has ended or given it back: so a limit is never exceeded, nor idle while somebody waits.
 * The token bucket holds `rate` tokens and gains one every rate_per / rate.  A token that was taken
 * stays in the bucket until its start: so however long tasks stand in the queue with their tokens,
 * no more start together than the bucket holds. */
#ifndef ERGON_JOBS_LIMITS_H
#define ERGON_JOBS_LIMITS_H

#include "server/jobs/core/job.h"

struct scheduler;

struct limit_table; /* of limits and buckets by tenant and key */

/* What a limit, or a bucket, is found by. */
struct limit_key {
    struct hash_link link; /* first */
    struct span name;      /* behind the limit, or bucket, in its memory */
    const struct tenant *tenant;
};

struct limit {
    struct limit_key key; /* first */
    uint32_t max;         /* as the newest spec of this key says */
    uint32_t taken;       /* more than `max` while those run that began before it was lowered */
    uint32_t refs;        /* jobs that name it */
    struct job_list waiting;
};

struct bucket {
    struct limit_key key; /* first */
    uint32_t size;        /* tokens that it holds */
    ao_time every;        /* ns a token */
    ao_time full_at;      /* when it would be full: the GCRA's theoretical arrival time */
    uint32_t held;        /* tokens that jobs have, and have not used */
    uint32_t refs;
    struct job_list waiting;
    struct ao timer;             /* sleeps until the next token while somebody waits */
    struct scheduler *scheduler; /* whose timer it is; NULL: not made yet */
};

/* The seed is secret, since keys come from strangers. */
struct limit_table *limit_table_new(const uint64_t seed[2]); /* NULL without memory */
void limit_table_free(struct limit_table *t);                /* all were dropped; NULL is fine */

/* Finds the limit, or bucket, of this name, or makes it; the caller has a reference.  The size
 * that the newest spec names counts from now on: after this call limit_give(limit, NULL) until
 * NULL, or bucket_next(), since a larger one may have room for a job that waits.  A bucket keeps
 * the tokens that it has.  The timer and scheduler of a new bucket are zero: admission.c makes
 * them.  NULL without memory. */
struct limit *limit_get(struct limit_table *t, struct tenant *tenant, struct span name,
                        uint32_t max);
struct bucket *bucket_get(struct limit_table *t, struct tenant *tenant, struct span name,
                          uint32_t rate, ao_time per, ao_time now);
/* Gives the reference back; the last one frees the limit, or bucket.  Only a job with a reference
 * waits in it or has something of it: so the last one finds nobody there.  The caller has finished
 * a bucket's timer before. */
void limit_unref(struct limit_table *t, struct limit *limit);
void bucket_unref(struct limit_table *t, struct bucket *b);

/* True: the job has a permit now (JOB_HAS_PERMIT).  False: it stands in `waiting`. */
bool limit_take(struct limit *limit, struct job *job);
/* Gives the job's permit back, and grants free ones: returns a job that has got one now, taken out
 * of `waiting` and to be queued again; the caller calls it again with NULL, until it returns
 * NULL. */
struct job *limit_give(struct limit *limit, struct job *job);

/* True: a token is the job's (JOB_HAS_TOKEN).  False: it stands in `waiting`. */
bool bucket_take(struct bucket *b, struct job *job, ao_time now);
/* Its start, or that it does not start.  bucket_refill() is another one then. */
void bucket_use(struct bucket *b, struct job *job, ao_time now);
void bucket_give(struct bucket *b, struct job *job);
/* Gives a token that is there now to the job that waits longest; returns that job, taken out of
 * `waiting`.  NULL: there is no token, or nobody waits. */
struct job *bucket_next(struct bucket *b, ao_time now);
/* When the next token is there to be taken; AO_NEVER: not before a job has used its token or given
 * it back. */
ao_time bucket_refill(const struct bucket *b, ao_time now);
/* When the token for the n-th who waits (from 0) comes, if jobs that have tokens use them now. */
ao_time bucket_refill_at(const struct bucket *b, uint32_t n, ao_time now);

#endif
