#include "sim/promises.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/postgres.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { SHOWN = 120 /* bytes of a value in a finding */ };

struct sim_task sim_tasks[SIM_TASKS_MAX];
uint32_t sim_task_count;

static struct sim_task *find(struct span id)
{
    for (uint32_t n = 0; n < sim_task_count; n++)
        if (span_is(id, sim_tasks[n].id))
            return &sim_tasks[n];
    return NULL;
}

struct sim_task *sim_task_of_serial(uint64_t serial)
{
    for (uint32_t n = 0; serial > 0 && n < sim_task_count; n++)
        if (sim_tasks[n].serial == serial)
            return &sim_tasks[n];
    return NULL;
}

static struct sim_task *add(struct span id)
{
    if (sim_task_count == SIM_TASKS_MAX)
        return NULL;
    struct sim_task *t = &sim_tasks[sim_task_count++];
    *t = (struct sim_task){.certain = true, .closed_at = SIM_NEVER};
    require(id.len < SIM_ID, "an id is too long");
    memcpy(t->id, id.at, id.len);
    return t;
}

/* `tasks.kept_bytes` (64 MiB) holds about 70,000 tasks of `echo`, fewer of larger ones. */
enum { MANY = 20000 };

static uint32_t submitted;

uint32_t sim_submitted(void)
{
    return submitted;
}

bool sim_hour_is_over(void)
{
    return sim_clock_leapt() || sim_now() > SIM_MS(3600 * 1000);
}

bool sim_may_be_forgotten(void)
{
    return sim_hour_is_over() || submitted > MANY;
}

/* --- Joins --- */

struct sim_task *sim_saw_submit(struct span result, const char *run)
{
    struct span id = sim_member_text(result, "id");
    bool joins = sim_member_true(result, "coalesced");
    struct sim_task *t = find(id);
    submitted++;
    if (joins && !*run)
        sim_finding("kept: a submission without `coalesce` joined a run");
    if (!t) {
        t = add(id);
        if (!t)
            return NULL;
        t->certain = !joins; /* else the answer of the first was lost */
    }
    strncpy(t->run, run, sizeof t->run - 1);
    t->joined++;
    t->durable = span_is(sim_member_text(result, "durable"), "fsync");
    return t;
}

void sim_saw_cancel(struct sim_task *t, struct span result)
{
    bool cancelled = sim_member_true(result, "cancelled");
    if (cancelled && !*t->run)
        sim_saw_end(t);
    if (sim_hour_is_over()) /* it may have become due, and ended */
        t->certain = false;
    if (!*t->run || !t->certain)
        return;
    bool last = t->joined == 1;
    if (cancelled && t->joined > 1)
        sim_finding("joins: run %s (%s) was cancelled, and %u submissions still wanted it", t->id,
                    t->run, t->joined);
    if (!cancelled && last)
        sim_finding("joins: run %s (%s) was not cancelled by the last that wanted it", t->id,
                    t->run);
    if (t->joined > 0) /* else the end of the run was still being written */
        t->joined--;
}

void sim_lost(const char *run)
{
    for (uint32_t n = 0; *run && n < sim_task_count; n++)
        if (strcmp(sim_tasks[n].run, run) == 0)
            sim_tasks[n].certain = false;
}

/* --- Kept --- */

bool sim_has_ended(struct span result)
{
    static const char *const ends[] = {"done", "failed", "cancelled", "expired", "dead"};
    struct span state = sim_member_text(result, "state");
    for (size_t n = 0; n < sizeof ends / sizeof *ends; n++)
        if (span_is(state, ends[n]))
            return true;
    return false;
}

void sim_forget_said(void)
{
    for (uint32_t n = 0; n < sim_task_count; n++) {
        free(sim_tasks[n].said);
        sim_tasks[n].said = NULL;
    }
}

void sim_note_said(struct sim_task *t, struct span result)
{
    free(t->said);
    t->said = malloc(result.len);
    require(t->said != NULL, "no memory for an answer");
    memcpy(t->said, result.at, result.len);
    t->said_len = result.len;
}

static void same_member(const struct sim_task *t, struct span before, struct span after,
                        const char *key)
{
    char was[SHOWN], is[SHOWN];
    struct span state = sim_member_text(before, "state");
    if (span_equal(sim_member(before, key), sim_member(after, key)))
        return;
    sim_show(sim_member(before, key), was, sizeof was);
    sim_show(sim_member(after, key), is, sizeof is);
    sim_finding("kept: task %s was %.*s, and its `%s` was %s and is %s after the restart", t->id,
                (int)state.len, state.at, key, was, is);
}

/* A wall clock that is set back takes the deadlines along. */
static bool may_change(const char *key)
{
    return sim_clock_leapt() && strcmp(key, "deadline") == 0;
}

/* What is open may have gone on; this does not change by that. */
static void same_task(const struct sim_task *t, struct span before, struct span after)
{
    static const char *const fixed[] = {"method",  "priority", "tenant",  "key",
                                        "retries", "durable",  "created", "deadline"};
    static const char *const ended[] = {"state", "attempt", "failures", "crashes", "losses",
                                        "due",   "started", "ended",    "error",   "result"};
    for (size_t n = 0; n < sizeof fixed / sizeof *fixed; n++)
        if (!may_change(fixed[n]))
            same_member(t, before, after, fixed[n]);
    for (size_t n = 0; sim_has_ended(before) && n < sizeof ended / sizeof *ended; n++)
        same_member(t, before, after, ended[n]);
}

/* The question may have been on its way for long, and others may have seen the end since. */
void sim_compare_said(struct sim_task *t, uint32_t mark, struct span error, struct span result)
{
    if (!t->durable || t->forgotten)
        return;
    if (error.len > 0 && sim_may_be_forgotten())
        return;
    if (error.len > 0)
        sim_finding("kept: task %s was answered `fsync`, and now: %.*s", t->id, (int)error.len,
                    error.at);
    if (mark >> 1 == t->retries && (mark & 1) && !sim_has_ended(result))
        sim_finding("ends: task %s had ended, and has not after the restart", t->id);
    if (t->said)
        same_task(t, span_of(t->said, t->said_len), result);
}

/* --- Ends --- */

void sim_asked_retry(struct sim_task *t)
{
    t->retries++;
    t->retries_open++;
    t->meddled = true;
    t->end_seen = false;
    t->closed_at = SIM_NEVER;
}

void sim_saw_retry(struct sim_task *t)
{
    t->retries_open--;
}

void sim_saw_end(struct sim_task *t)
{
    if (t->retries == 0 && t->closed_at == SIM_NEVER)
        t->closed_at = sim_now();
}

/* An answer tells of a moment after the question: so it counts only if no retry was under way then
 * or since, and breaks the promise only if the end had been seen by then. */
uint32_t sim_end_mark(const struct sim_task *t)
{
    return t->retries_open == 0 ? t->retries << 1 | t->end_seen : UINT32_MAX;
}

void sim_saw_get(struct sim_task *t, uint32_t mark, struct span result)
{
    if (mark >> 1 != t->retries)
        return;
    if (sim_has_ended(result)) {
        sim_saw_end(t);
        t->end_seen = true;
    } else if (mark & 1) {
        sim_finding("ends: task %s had ended, and has not any more", t->id);
    }
}

/* Where tasks are in PostgreSQL, a start moves no due time when the clock was set back: another
 * machine's may be right. */
void sim_check_ended(const struct sim_task *t, struct span result)
{
    if (sim_postgres() && sim_clock_leapt())
        return;
    struct span state = sim_member_text(result, "state");
    struct span reason = sim_member_text(result, "reason");
    if (!*t->run && !sim_has_ended(result))
        sim_finding("ends: task %s is %.*s (%.*s) after a long calm", t->id, (int)state.len,
                    state.at, (int)reason.len, reason.at);
}
