#include "server/jobs/sched/admission.h"

/* --- Tokens --- */

/* Who stands first gets its token when it is there. */
static void await_token(struct scheduler *s, struct bucket *b)
{
    if (ao_current() == &b->timer)
        return;
    ao_deactivate(&b->timer);
    if (b->waiting.count > 0)
        ao_sleep_until(&b->timer, bucket_refill(b, table_now(s->table)));
}

static enum ao_verdict bucket_due(struct ao *self)
{
    struct bucket *b = ao_of(self, struct bucket, timer);
    struct scheduler *s = b->scheduler;
    struct job *job;
    while ((job = bucket_next(b, table_now(s->table))))
        job_list_push(&s->granted, job);
    ao_activate(s->ao);
    if (b->waiting.count == 0)
        return AO_DONE;
    ao_sleep_until(self, bucket_refill(b, table_now(s->table)));
    return AO_PARK;
}

static const struct ao_class bucket_timer_class = {.name = "bucket", .step = bucket_due};

static void release_token(struct scheduler *s, struct job *job)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    bucket_give(job->more->bucket, job);
    await_token(s, job->more->bucket);
}

void admission_start(struct scheduler *s, struct job *job)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    bucket_use(job->more->bucket, job, table_now(s->table));
    await_token(s, job->more->bucket);
}

/* --- Permits --- */

static void give_permit(struct scheduler *s, struct limit *limit, struct job *job)
{
    for (struct job *next = limit_give(limit, job); next; next = limit_give(limit, NULL))
        job_list_push(&s->granted, next);
}

void admission_release_permit(struct scheduler *s, struct job *job)
{
    if (job_is(job, JOB_HAS_PERMIT))
        give_permit(s, job->more->limit, job);
}

void admission_release_orphan(struct scheduler *s, struct job *job)
{
    bool has_one = job_is(job, JOB_HAS_PERMIT);
    if (!job->more || !job->more->limit)
        return;
    job_mark(job, JOB_HAS_PERMIT);
    give_permit(s, job->more->limit, job);
    if (has_one)
        job_mark(job, JOB_HAS_PERMIT);
}

/* --- Joined and left --- */

static bool join_bucket(struct scheduler *s, struct job *job, const struct job_spec *spec)
{
    struct bucket *b = bucket_get(s->limits, job->tenant, spec->rate_key, spec->rate,
                                  spec->rate_per, table_now(s->table));
    job->more->bucket = b;
    if (!b)
        return false;
    if (!b->scheduler) {
        b->scheduler = s;
        ao_init(&b->timer, &bucket_timer_class, s->table->activator);
    }
    await_token(s, b); /* another size may have brought one nearer */
    return true;
}

bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec)
{
    if (spec->limit_key.len > 0) {
        job->more->limit = limit_get(s->limits, job->tenant, spec->limit_key, spec->limit);
        if (!job->more->limit)
            return false;
        give_permit(s, job->more->limit, NULL); /* it may have been raised */
    }
    return spec->rate_key.len == 0 || join_bucket(s, job, spec);
}

void admission_leave(struct scheduler *s, struct job *job)
{
    struct limit *limit = job->more->limit;
    struct bucket *b = job->more->bucket;
    job->more->limit = NULL;
    job->more->bucket = NULL;
    if (limit)
        limit_unref(s->limits, limit);
    if (!b)
        return;
    if (b->refs == 1) {
        ao_deactivate(&b->timer);
        ao_fini(&b->timer);
    }
    bucket_unref(s->limits, b);
}

/* --- Both --- */

void admission_release(struct scheduler *s, struct job *job)
{
    release_token(s, job);
    admission_release_permit(s, job);
}

bool admission_take(struct scheduler *s, struct job *job)
{
    struct job_more *more = job->more;
    if (!more)
        return true;
    if (more->limit && !job_is(job, JOB_HAS_PERMIT) && !limit_take(more->limit, job)) {
        job_set_state(s->table, job, JOB_WAITING, JOB_WHY_LIMIT);
        release_token(s, job); /* nor a token while it waits for a permit */
        return false;
    }
    if (!more->bucket || job_is(job, JOB_HAS_TOKEN) ||
        bucket_take(more->bucket, job, table_now(s->table)))
        return true;
    await_token(s, more->bucket);
    job_set_state(s->table, job, JOB_WAITING, JOB_WHY_RATE);
    admission_release_permit(s, job); /* no permit is kept while it waits for a token */
    return false;
}
