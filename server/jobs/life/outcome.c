#include "server/jobs/life/outcome.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proto/pack.h"
#include "server/jobs/core/history_reload.h"
#include "server/jobs/core/refusal.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"
#include "server/jobs/sched/result_refs.h"
#include "server/tasks/task.h"
#include "server/tasks/turn.h"

static ao_time doubled(ao_time backoff, ao_time max, uint32_t times)
{
    for (; times > 0 && backoff > 0 && backoff < max; times--)
        backoff = backoff > max / 2 ? max : backoff * 2;
    return backoff < max ? backoff : max;
}

ao_time backoff_wait(ao_time backoff, ao_time max, uint8_t jitter, uint32_t n, uint64_t random)
{
    ao_time wait = doubled(backoff, max, n > 0 ? n - 1 : 0);
    ao_time chance = wait / 100 * jitter + wait % 100 * jitter / 100;
    return chance == 0 ? wait : wait - random % chance;
}

bool backoff_is_permanent(const char *code)
{
    static const char *const permanent[] = {"NO_METHOD", "BAD_PARAMS", "TOO_LARGE",
                                            "TOO_DEEP",  "DENIED",     "NO_EXECUTOR"};
    if (!code)
        return false;
    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
        if (strcmp(code, permanent[i]) == 0)
            return true;
    return strncmp(code, "PERMANENT", strlen("PERMANENT")) == 0;
}

/* --- Loss --- */

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

/* It has failed for good. */
static void give_up(struct scheduler *s, struct job *job, enum job_state state, const char *code,
                    const char *text)
{
    if (job->is_message && s->messages.gives_up(s->messages.arg, job, code, text))
        return;
    job_end(s, job, state, code, text);
    if (job->is_message)
        s->messages.gave_up(s->messages.arg, job);
}

static void die(struct scheduler *s, struct job *job, const char *why)
{
    char text[JOB_TEXT_MAX];
    snprintf(text, sizeof text,
             "%u workers were lost one after another while they had it; the last: %s",
             job->more->lost, why);
    give_up(s, job, JOB_DEAD, error_name(ERGON_E_WORKER_LOST), text);
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
    assert(!job->attempt_task && !job->list && r->loss != LOSS_NONE);
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

/* --- Outcome --- */

/* NULL without memory. */
static struct blob *keep(struct outcome *outcome)
{
    if (!outcome->block || outcome->block != outcome->result.at)
        return blob_copy(outcome->result);
    struct blob *result = blob_take(outcome->block, outcome->result.len);
    if (result)
        outcome->block = NULL;
    return result;
}

/* False without memory for even the least. */
static bool take_result(struct scheduler *s, struct job *job, struct outcome *outcome)
{
    size_t was = job_bytes(job);
    job_result_free(job); /* of the attempts before */
    struct job_result *end = job_result_of(job);
    if (end && outcome->result.len <= job_policy(job).keep_size)
        end->result = keep(outcome);
    if (end)
        end->cut = !end->result;
    table_weigh(s->table, job, was);
    return end != NULL;
}

/* --- A failure --- */

/* No fault of the task: it goes on with the next attempt. */
static void interrupted(struct scheduler *s, struct job *job)
{
    job_note(s->table, job, JOB_EVENT_INTERRUPTED, NULL);
    job->due = 0;
    job_schedule(s, job, true);
}

static void try_again(struct scheduler *s, struct job *job)
{
    struct job_policy policy = job_policy(job);
    ao_time wait = backoff_wait(policy.backoff, policy.backoff_max, policy.backoff_jitter,
                                job->failures, activator_random(s->table->activator));
    job->due = table_time_after(s->table, wait);
    job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_RETRY);
}

/* Without memory the event has no traceback. */
static void note_failure(struct scheduler *s, struct job *job, enum job_event what,
                         const char *line, struct span traceback)
{
    struct pack data;
    pack_init(&data);
    if (traceback.len > 0)
        pack_span(&data, traceback);
    job_note_event(s->table, job,
                   (struct history_event){.what = (uint8_t)what,
                                          .reason = job->reason,
                                          .text = span_text(line),
                                          .data = pack_bytes(&data)});
    pack_fini(&data);
}

void outcome_failed(struct scheduler *s, struct job *job, enum job_event what, const char *code,
                    const char *text, struct span traceback)
{
    char line[JOB_LINE_MAX];
    assert(!job->attempt_task && !job->list && job_is_open(job));
    snprintf(line, sizeof line, "%s: %s", code, text);
    job->failures += job->failures < JOB_COUNT_MAX;
    note_failure(s, job, what, line, traceback);
    if (job->retries == 0 || backoff_is_permanent(code)) {
        give_up(s, job, JOB_FAILED, code, text);
    } else if (job->failures > job->retries) {
        give_up(s, job, JOB_DEAD, code, text);
    } else {
        job_set_error(s, job, code, text);
        try_again(s, job);
    }
}

void outcome_timed_out(struct scheduler *s, struct job *job, const char *text)
{
    if (job->is_message && !s->messages.counts(s->messages.arg, job, NULL, true))
        interrupted(s, job);
    else
        outcome_failed(s, job, JOB_EVENT_TIMED_OUT, error_name(ERGON_E_DEADLINE), text,
                       (struct span){0});
}

/* --- An attempt that came home --- */

static void run_again(struct scheduler *s, struct job *job, ao_time after)
{
    job->due = table_time_after(s->table, after);
    job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_AGAIN);
}

/* A handler that saw that it is to stop may have left its work undone, whatever it answers; so may
 * one whose own requests were refused for that, and that failed with the code of the refusal. */
static bool is_interrupted(const struct scheduler *s, const struct attempt_end *r)
{
    const struct outcome *o = r->outcome;
    enum ergon_error error = o->code ? error_find(o->code) : o->error;
    return s->stopping && (r->cancel_seen || error == ERGON_E_CANCELLED ||
                           error == ERGON_E_DRAINING || error == ERGON_E_UNSURE);
}

static void failed(struct scheduler *s, struct job *job, const struct outcome *outcome)
{
    char text[JOB_TEXT_MAX];
    const char *code = outcome->code ? outcome->code : error_name(outcome->error);
    struct span cut = utf8_cut(outcome->text, sizeof text - 1); /* task_fail() has cleaned it */
    snprintf(text, sizeof text, "%.*s", (int)cut.len, (const char *)cut.at);
    if (outcome->error == ERGON_E_DEADLINE && job->deadline <= table_now(s->table))
        job_end(s, job, JOB_EXPIRED, code, "its deadline passed before it was done");
    else if (outcome->error == ERGON_E_DEADLINE)
        outcome_failed(s, job, JOB_EVENT_TIMED_OUT, code, text, outcome->result);
    else
        outcome_failed(s, job, JOB_EVENT_ATTEMPT_FAILED, code, text, outcome->result);
}

static void drop_result(struct scheduler *s, struct job *job)
{
    size_t was = job_bytes(job);
    job_result_free(job);
    table_weigh(s->table, job, was);
}

static bool changes_more(const struct job *job, const struct attempt_turn *turn)
{
    return job->is_message || (turn && turn->changes.messages.count > 0);
}

/* Takes its changes of its actor, or its submissions.  False: it goes on, or has failed by that. */
static bool take_changes(struct scheduler *s, struct job *job, struct attempt_turn *turn)
{
    struct refusal why = {.error = ERGON_E_BAD_CHANGES};
    enum message_verdict verdict = s->messages.takes(s->messages.arg, job, turn, &why);
    if (verdict == MESSAGE_ENDS)
        return true;
    drop_result(s, job);
    if (verdict == MESSAGE_VOID)
        interrupted(s, job);
    if (verdict == MESSAGE_BAD)
        outcome_failed(s, job, JOB_EVENT_ATTEMPT_FAILED, error_name(why.error), why.text,
                       (struct span){0});
    return false;
}

static void succeeded(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    if (!take_result(s, job, r->outcome))
        outcome_failed(s, job, JOB_EVENT_ATTEMPT_FAILED, "MEMORY", "no memory for its result",
                       (struct span){0});
    else if (!changes_more(job, r->turn) || take_changes(s, job, r->turn))
        job_end(s, job, JOB_DONE, NULL, NULL);
}

static bool counts(const struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    bool failed = !r->again && r->outcome->error != ERGON_OK && !is_interrupted(s, r);
    return !job->is_message || s->messages.counts(s->messages.arg, job, r->turn, failed);
}

void outcome_returned(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    assert(!job->attempt_task && !job->list && r->attempt == job->attempt);
    loss_forget(job);
    if (job_is(job, JOB_CANCEL)) {
        job_end(s, job, JOB_CANCELLED, NULL, NULL);
    } else if (!counts(s, job, r)) {
        interrupted(s, job);
    } else if (r->again) {
        run_again(s, job, r->after);
    } else if (is_interrupted(s, r)) {
        interrupted(s, job);
    } else if (r->outcome->error == ERGON_OK) {
        succeeded(s, job, r);
    } else {
        failed(s, job, r->outcome);
    }
}

/* --- What people do to it --- */

bool job_cancel(struct scheduler *s, struct job *job)
{
    struct job_more *more = job->more;
    if (!job_is_open(job))
        return job_is(job, JOB_ENDING) && job->ending == JOB_CANCELLED;
    if (more && more->coalesce.name.len > 0 && more->waiters > 1) {
        more->waiters--;
        job_rewrite(job);
        job_effect(s->table, job, EFFECT_WRITE);
        return false;
    }
    job_mark(job, JOB_CANCEL);
    if (more)
        key_remove(&s->table->shared, &more->coalesce); /* a later submission gets another run */
    if (!job->attempt_task || out_recall(s, job)) {
        job_end(s, job, JOB_CANCELLED, NULL, NULL);
        return true;
    }
    attempt_flag(s->tasks, job->attempt_task, ATTEMPT_CANCEL); /* it ends when this has returned */
    job_effect(s->table, job, EFFECT_WRITE); /* also when the server dies before */
    return true;
}

/* One that has passed is dropped: else the task would expire at once. */
static void set_deadline_again(struct job_table *table, struct job *job)
{
    if (job->deadline_at > table_wall(table)) {
        job->deadline = table_time_of(table, job->deadline_at);
    } else if (job->deadline_at > 0) {
        job->deadline_at = 0;
        job_rewrite(job);
    }
}

bool job_retry(struct scheduler *s, struct job *job)
{
    const struct dependent any = {0};
    char text[JOB_TEXT_MAX];
    if (job_state_open((enum job_state)job->state) || job->state == JOB_DONE)
        return false;
    if (job->in_batch)
        s->members.reopened(s->members.arg, job);
    table_account(s->table, job)->ended[job->state]--;
    retention_remove(s->table, job);
    dependencies_finish(s, job);
    history_complete(s->table, job);
    job_note(s->table, job, JOB_EVENT_RETRIED, NULL);
    job_unmark(job, JOB_CANCEL);
    job->failures = 0;
    job->crashes = 0;
    loss_forget(job);
    job->due = table_now(s->table);
    job->ended = 0;
    set_deadline_again(s->table, job);
    dependencies_settle(s, job);
    /* Without memory what it names may be forgotten before it begins; then it fails, and says so.
     */
    result_refs_hold(s, job, &any, text, sizeof text);
    job_schedule(s, job, false);
    return true;
}
