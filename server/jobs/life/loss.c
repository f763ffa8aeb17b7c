#include "server/jobs/life/loss.h"

#include <stdio.h>

#include "base/utf8.h"
#include "server/jobs/life/backoff.h"
#include "server/jobs/sched/queueing.h"

enum { COUNTS_ALONE = 3, JITTER = 50 /* percent */, WHY_MAX = 160 };
static const ao_time pause_first = AO_S(1), pause_most = AO_S(60);

static uint8_t added(uint8_t to, unsigned more)
{
    return (uint8_t)(to + more < UINT8_MAX ? to + more : UINT8_MAX);
}

static void count(struct scheduler *s, struct job *job, enum attempt_loss loss)
{
    size_t was = job_bytes(job);
    struct job_more *more = job_more(job);
    if (!more)
        return;
    more->losses = added(more->losses, loss == LOSS_ALONE && more->lost > 0 ? COUNTS_ALONE : 1);
    more->lost = added(more->lost, 1);
    table_weigh(s->table, job, was);
}

static void go_on_at_once(struct scheduler *s, struct job *job)
{
    job->due = 0;
    job_schedule(s, job, true);
}

static void go_on(struct scheduler *s, struct job *job)
{
    unsigned lost = job->more ? job->more->lost : 0;
    if (lost <= 1) {
        go_on_at_once(s, job);
        return;
    }
    uint64_t random = activator_random(s->table->activator);
    ao_time wait = backoff_wait(pause_first, pause_most, JITTER, lost - 1, random);
    job->due = table_time_after(s->table, wait);
    job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_LOST);
}

static void die(struct scheduler *s, struct job *job, const char *why)
{
    char text[JOB_TEXT_MAX];
    snprintf(text, sizeof text,
             "%u workers were lost one after another while they had it; the last: %s",
             job->more->lost, why);
    job_end(s, job, JOB_DEAD, error_name(ERGON_E_WORKER_LOST), text);
}

/* While the server stops, workers are lost because of that; and what was never sent brought nobody
 * down. */
static bool says_something(const struct scheduler *s, const struct attempt_end *r)
{
    return r->loss != LOSS_UNSENT && !s->stopping;
}

void loss_settle(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    char why[WHY_MAX];
    struct span cut = utf8_cut(r->why, sizeof why - 1);
    snprintf(why, sizeof why, "%.*s", (int)cut.len, (const char *)cut.at);
    if (job_is(job, JOB_CANCEL)) {
        job_end(s, job, JOB_CANCELLED, NULL, NULL);
        return;
    }
    job_note(s->table, job, JOB_EVENT_INTERRUPTED, why[0] ? why : NULL);
    if (!says_something(s, r)) {
        go_on_at_once(s, job);
        return;
    }
    count(s, job, r->loss);
    if (s->settings->losses > 0 && job_losses(job) >= s->settings->losses) {
        die(s, job, why);
        return;
    }
    job_set_error(s, job, error_name(ERGON_E_WORKER_LOST), why);
    go_on(s, job);
}
