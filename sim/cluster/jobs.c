#include "sim/cluster/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "server/jobs/core/ids.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/cluster/nodes.h"
#include "sim/pg/faults.h"
#include "sim/postgres.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { JOBS_MAX = 1024, ATTEMPTS_MAX = 8192, RECENT = 24, LATE_MS = 1000, LOST_MOST = 20 };

static struct sim_job jobs[JOBS_MAX];
static uint32_t job_count;
static struct attempt {
    char id[SIM_JOB_ID];
    uint64_t number, at, epoch; /* epoch: the owner's */
} attempts[ATTEMPTS_MAX];
static uint32_t attempt_count;
static uint32_t troubles;
static uint64_t excused_until;

struct sim_job *sim_job_new(void)
{
    if (job_count == JOBS_MAX)
        return NULL;
    struct sim_job *j = &jobs[job_count++];
    j->serial = job_count;
    j->ended_at = SIM_NEVER;
    j->changes = sim_nodes_changes();
    return j;
}

struct sim_job *sim_job_of(uint64_t serial)
{
    return serial > 0 && serial <= job_count ? &jobs[serial - 1] : NULL;
}

struct sim_job *sim_job_any(void)
{
    uint64_t most = job_count < RECENT ? job_count : RECENT;
    return most > 0 ? &jobs[job_count - 1 - sim_below(SIM_DEEDS, most)] : NULL;
}

uint32_t sim_job_count(void)
{
    return job_count;
}

/* --- What is excused --- */

void sim_jobs_excuse(bool begins)
{
    troubles += begins ? 1 : UINT32_MAX;
    excused_until = sim_now() + SIM_MS(LATE_MS);
}

bool sim_jobs_excused_since(uint64_t time)
{
    return troubles > 0 || (excused_until > 0 && excused_until >= time);
}

/* --- Submissions --- */

static enum sim_level level_of(struct span text)
{
    static const char *const names[] = {"none", "async", "fsync", "replicated"};
    for (int n = 0; n < 4; n++)
        if (span_is(text, names[n]))
            return (enum sim_level)n;
    sim_finding("submit: a task is durable as %.*s", (int)text.len, text.at);
}

static bool apart;

void sim_jobs_apart(void)
{
    apart = true;
}

static void check_ahead(const struct sim_job *j)
{
    if (j->ahead > 0 && j->refused == 0)
        sim_finding("attempts: attempt %" PRIu64 " of task %s (%" PRIu64
                    ") began two ahead of its row",
                    j->ahead, j->id, j->serial);
}

static void check_id(const struct sim_job *j)
{
    for (uint32_t n = 0; n < job_count && !apart; n++)
        if (&jobs[n] != j && strcmp(jobs[n].id, j->id) == 0)
            sim_finding("once: id %s is of submission %" PRIu64 " and of %" PRIu64, j->id,
                        jobs[n].serial, j->serial);
}

static void take_id(struct sim_job *j, struct span result)
{
    struct span id = sim_member_text(result, "id");
    require(id.len > 0 && id.len < SIM_JOB_ID, "a submission without an id");
    enum sim_level level = level_of(sim_member_text(result, "durable"));
    bool is_other = j->acknowledged && !span_is(id, j->id);
    if (is_other && j->level >= SIM_FSYNC && !j->forgotten)
        sim_finding("once: the key of submission %" PRIu64 " is of task %s, and now of %.*s",
                    j->serial, j->id, (int)id.len, id.at);
    if (is_other) /* the first was lost, as its level allows */
        j->ended_at = SIM_NEVER;
    memcpy(j->id, id.at, id.len);
    j->id[id.len] = '\0';
    if (!j->acknowledged)
        j->known_at = sim_now();
    if (level >= SIM_FSYNC && (!j->acknowledged || is_other || j->level < SIM_FSYNC))
        j->epoch = sim_nodes_epoch();
    j->acknowledged = true;
    j->level = level;
    if (level >= SIM_FSYNC)
        check_ahead(j);
    check_id(j);
}

void sim_job_answered(struct sim_job *j, const struct sim_request *r)
{
    j->asked--;
    if (r->answered && r->error.len == 0 && r->answered_at < j->id_at)
        return; /* of an owner before */
    if (r->answered && r->error.len == 0) {
        take_id(j, r->result);
        j->id_at = r->answered_at;
    } else if (!r->answered || sim_error_is(r, "UNSURE")) {
        j->unsure = true;
    } else {
        j->refused++;
    }
    sim_tell("submission %" PRIu64 ": %s (%d) %.*s", j->serial, j->id, (int)j->level,
             (int)r->error.len, r->error.at);
}

/* --- Ends --- */

static void check_result(const struct sim_job *j, struct span task)
{
    struct reader r = reader_of(sim_member(task, "result"));
    struct span text;
    char wanted[40];
    if (!span_is(sim_member_text(task, "state"), "done") || !read_text(&r, &text))
        return;
    snprintf(wanted, sizeof wanted, "%" PRIu64 "-%" PRIu64, j->serial,
             sim_member_uint(task, "attempt"));
    bool is_own = text.len >= strlen(wanted) && memcmp(text.at, wanted, strlen(wanted)) == 0;
    if (span_is(sim_member_text(task, "method"), "work.job") && !is_own)
        sim_finding("ends: task %s of submission %" PRIu64 " ended by attempt %" PRIu64
                    ", and has the result %.*s",
                    j->id, j->serial, sim_member_uint(task, "attempt"), (int)text.len, text.at);
}

/* Attempts that were given to workers that are lost have numbers; the task counts them until one
 * of them answers. */
static void check_skips(const struct sim_job *j, struct span task)
{
    uint64_t number = sim_member_uint(task, "attempt"), losses = sim_member_uint(task, "losses"),
             changes = sim_nodes_changes() - j->changes;
    if (j->level >= SIM_FSYNC && number > j->begun + losses + changes + LOST_MOST)
        sim_finding("attempts: task %s of submission %" PRIu64 " has attempt %" PRIu64
                    ", and %" PRIu32 " began, %" PRIu64
                    " were lost, and owners or nodes changed %" PRIu64 " times",
                    j->id, j->serial, number, j->begun, losses, changes);
}

void sim_job_saw(struct sim_job *j, struct span result, uint64_t asked)
{
    struct span state = sim_member_text(result, "state");
    bool ended = sim_has_ended(result);
    if (!span_is(sim_member_text(result, "id"), j->id)) /* of the task that its key had before */
        return;
    check_skips(j, result);
    j->open = !ended;
    if (apart) /* another node was asked, perhaps, for its own task of that id */
        return;
    if (j->level >= SIM_FSYNC && j->ended_at < asked && !j->retried && !j->forgotten &&
        !span_is(state, j->end))
        sim_finding("ends: task %s was %s, and is %.*s", j->id, j->end, (int)state.len, state.at);
    if (!ended || j->ended_at < SIM_NEVER)
        return;
    check_result(j, result);
    j->ended_at = sim_now();
    snprintf(j->end, sizeof j->end, "%.*s", (int)state.len, state.at);
    sim_tell("task %s of submission %" PRIu64 " is %s", j->id, j->serial, j->end);
}

/* --- Attempts --- */

static void check_number(const struct sim_job *j, const struct attempt *new)
{
    for (uint32_t n = 0; n < attempt_count; n++) {
        const struct attempt *a = &attempts[n];
        if (strcmp(a->id, new->id) != 0 || a->epoch < j->epoch)
            continue;
        if (a->number == new->number)
            sim_finding("attempts: attempt %" PRIu64 " of task %s (%" PRIu64 ") began twice",
                        a->number, a->id, j->serial);
        if (a->number > new->number && a->at + sim_slack() < new->at &&
            !sim_jobs_excused_since(a->at))
            sim_finding("attempts: attempt %" PRIu64 " of task %s (%" PRIu64
                        ") began after attempt %" PRIu64,
                        new->number, a->id, j->serial, a->number);
    }
}

/* So those numbers that only a lost board knew can be computed.  Whoever runs it again, or deletes
 * it, may change the row meanwhile; and a row that says `fsync` may be of a submission that is
 * refused, which leaves the task as durable as it was. */
static void check_row(struct sim_job *j, struct span id, uint64_t number)
{
    struct engine_owner owner;
    struct store_task row;
    uint64_t key;
    if (!sim_nodes_have_store() || j->retried || j->forgotten || !id_parse(id, &key) ||
        !pg_see_task(sim_postgres(), key, &row) || row.durable < SIM_FSYNC)
        return;
    pg_see_owner(sim_postgres(), &owner);
    if (number > row.attempt + 1 + (owner.boards - row.boards))
        j->ahead = number;
    if (j->acknowledged && j->level >= SIM_FSYNC)
        check_ahead(j);
}

static void note_attempt(const struct sim_job *j, struct span id, uint64_t number, uint64_t at)
{
    struct attempt new = {.number = number, .at = at, .epoch = sim_nodes_epoch()};
    require(id.len < SIM_JOB_ID, "an id is too long");
    memcpy(new.id, id.at, id.len);
    if (j->acknowledged && j->level >= SIM_FSYNC && span_is(id, j->id))
        check_number(j, &new);
    if (attempt_count < ATTEMPTS_MAX)
        attempts[attempt_count++] = new;
}

void sim_job_begins(uint64_t serial, struct span id, uint64_t number, uint64_t at)
{
    struct sim_job *j = sim_job_of(serial);
    require(j != NULL, "a handler of no submission");
    j->begun++;
    sim_tell("begins %" PRIu64 ", attempt %" PRIu64 " of %.*s", serial, number, (int)id.len, id.at);
    if (j->refused > 0 && !j->acknowledged && !j->unsure && j->asked == 0)
        sim_finding("refused: submission %" PRIu64 " was refused, and begins", serial);
    bool is_other = j->acknowledged && id.len > 0 && !span_is(id, j->id);
    if (is_other && j->level >= SIM_FSYNC && !j->forgotten && !sim_jobs_excused_since(j->known_at))
        sim_finding("once: submission %" PRIu64 " is task %s, and %.*s begins", serial, j->id,
                    (int)id.len, id.at);
    if (id.len > 0)
        check_row(j, id, number);
    if (id.len > 0)
        note_attempt(j, id, number, at);
    if (!is_other && j->level >= SIM_FSYNC && j->ended_at < SIM_NEVER && !j->retried &&
        j->ended_at + sim_slack() < at && !sim_jobs_excused_since(j->ended_at))
        sim_finding("ends: an attempt (%" PRIu64 ") of submission %" PRIu64
                    " began after its end was told",
                    number, serial);
}
