/* Slots and tokens: what limits and buckets grant to jobs, and get back. */
#include "server/jobs/jobs_parts.h"

/* --- Tokens --- */

/* Who stands first gets its token when it is there. */
static void await_token(struct jobs *jobs, struct bucket *b)
{
    if (ao_current() == &b->timer)
        return;
    ao_deactivate(&b->timer);
    if (b->waiting.count > 0)
        ao_sleep_until(&b->timer, bucket_refill(b, jobs_now(jobs)));
}

static enum ao_verdict bucket_due(struct ao *self)
{
    struct bucket *b = ao_of(self, struct bucket, timer);
    struct jobs *jobs = b->jobs;
    struct job *job;
    while ((job = bucket_next(b, jobs_now(jobs))))
        job_enqueue(jobs, job, true);
    if (b->waiting.count == 0)
        return AO_DONE;
    ao_sleep_until(self, bucket_refill(b, jobs_now(jobs)));
    return AO_PARK;
}

const struct ao_class bucket_timer_class = {.name = "bucket", .step = bucket_due};

static void release_token(struct jobs *jobs, struct job *job)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    bucket_give(job->more->bucket, job);
    await_token(jobs, job->more->bucket);
}

void admission_start(struct jobs *jobs, struct job *job)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    bucket_use(job->more->bucket, job, jobs_now(jobs));
    await_token(jobs, job->more->bucket);
}

/* --- Slots --- */

static void give_slot(struct jobs *jobs, struct limit *limit, struct job *job)
{
    for (struct job *next = limit_give(limit, job); next; next = limit_give(limit, NULL))
        job_enqueue(jobs, next, true);
}

void admission_release_permit(struct jobs *jobs, struct job *job)
{
    if (job_is(job, JOB_HAS_PERMIT))
        give_slot(jobs, job->more->limit, job);
}

/* The job may have got another slot meanwhile. */
void admission_release_orphan(struct jobs *jobs, struct job *job)
{
    struct limit *limit = job->more ? job->more->limit : NULL;
    bool has_one = job_is(job, JOB_HAS_PERMIT);
    if (!limit)
        return;
    job_mark(job, JOB_HAS_PERMIT);
    struct job *next = limit_give(limit, job);
    if (has_one)
        job_mark(job, JOB_HAS_PERMIT);
    for (; next; next = limit_give(limit, NULL))
        job_enqueue(jobs, next, true);
}

/* --- Joined and left --- */

static bool join_bucket(struct jobs *jobs, struct job *job, const struct job_spec *spec)
{
    struct bucket *b = bucket_get(jobs->holds, job->tenant, spec->rate_key, spec->rate,
                                  spec->rate_per, jobs_now(jobs));
    job->more->bucket = b;
    if (!b)
        return false;
    if (!b->jobs) {
        b->jobs = jobs;
        ao_init(&b->timer, &bucket_timer_class, jobs->activator);
    }
    await_token(jobs, b); /* another size may have brought one nearer */
    return true;
}

bool admission_join(struct jobs *jobs, struct job *job, const struct job_spec *spec)
{
    if (spec->limit_key.len > 0) {
        job->more->limit = limit_get(jobs->holds, job->tenant, spec->limit_key, spec->limit);
        if (!job->more->limit)
            return false;
        give_slot(jobs, job->more->limit, NULL); /* it may have been raised */
    }
    return spec->rate_key.len == 0 || join_bucket(jobs, job, spec);
}

void admission_leave(struct jobs *jobs, struct job *job)
{
    struct bucket *b = job->more->bucket;
    if (job->more->limit)
        limit_unref(jobs->holds, job->more->limit);
    if (!b)
        return;
    if (b->refs == 1) {
        ao_deactivate(&b->timer);
        ao_fini(&b->timer);
    }
    bucket_unref(jobs->holds, b);
}

/* --- Both --- */

void admission_release(struct jobs *jobs, struct job *job)
{
    release_token(jobs, job);
    admission_release_permit(jobs, job);
}

bool admission_take(struct jobs *jobs, struct job *job)
{
    struct job_more *more = job->more;
    if (!more)
        return true;
    if (more->limit && !job_is(job, JOB_HAS_PERMIT) && !limit_take(more->limit, job)) {
        job_set_state(jobs, job, JOB_WAITING, JOB_WHY_LIMIT);
        release_token(jobs, job); /* nor a token while it waits for a slot */
        return false;
    }
    if (!more->bucket || job_is(job, JOB_HAS_TOKEN) ||
        bucket_take(more->bucket, job, jobs_now(jobs)))
        return true;
    await_token(jobs, more->bucket);
    job_set_state(jobs, job, JOB_WAITING, JOB_WHY_RATE);
    admission_release_permit(jobs, job); /* no slot is kept while it waits for a token */
    return false;
}
