#include "sim/attempts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/deeds.h"
#include "sim/limits.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/schedule.h"
#include "sim/sems.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { ATTEMPTS_MAX = 8192, LOSSES_MAX = 9, TEXT = 64, NOTICED_MS = 1000, WHAT_SHIFT = 32 };

static struct sim_attempt attempts[ATTEMPTS_MAX];
static uint32_t attempt_count;
static uint64_t last_serial, died; /* when the node did, last */

uint64_t sim_serial(enum sim_serial what)
{
    return ++last_serial | (uint64_t)what << WHAT_SHIFT;
}

bool sim_serial_is(uint64_t serial, enum sim_serial what)
{
    return serial >> WHAT_SHIFT == what;
}

static bool same_task(const struct sim_attempt *a, const struct sim_attempt *b)
{
    return a->serial > 0 ? a->serial == b->serial : *a->id && strcmp(a->id, b->id) == 0;
}

/* --- Numbers --- */

static void check_number(const struct sim_attempt *a)
{
    const struct sim_task *t = sim_task_of_serial(a->serial);
    bool in_order =
        !a->held && !sim_serial_is(a->serial, SIM_WITH_TIMEOUT) && !(t && t->retries > 0);
    uint64_t before = 0;
    for (const struct sim_attempt *e = attempts; e < a; e++) {
        if (!same_task(a, e))
            continue;
        if (e->number == a->number)
            sim_finding("attempts: attempt %" PRIu64 " of task %s was given out twice", a->number,
                        a->id);
        if (in_order && e->began < a->began && e->number > a->number)
            sim_finding("attempts: attempt %" PRIu64 " of task %s began after attempt %" PRIu64,
                        a->number, a->id, e->number);
        before += e->began < a->began && !e->held;
    }
    if (in_order && a->number <= before)
        sim_finding("attempts: attempt %" PRIu64 " of task %s began after %" PRIu64 " others",
                    a->number, a->id, before);
}

static void check_call(const struct sim_attempt *a)
{
    for (const struct sim_attempt *e = attempts; e < a; e++)
        if (same_task(a, e))
            sim_finding("calls: the call of serial %" PRIu64 " was given out twice", a->serial);
}

static void check_open(const struct sim_attempt *a)
{
    const struct sim_task *t = sim_task_of_serial(a->serial);
    if (t && !a->held && t->closed_at < SIM_NEVER && t->closed_at + sim_slack() < a->began)
        sim_finding("ends: attempt %" PRIu64 " of task %s began after its %s", a->number, t->id,
                    t->end_seen ? "end had been told" : "cancel had been answered");
}

/* --- Losses --- */

/* The attempt before this one. */
static const struct sim_attempt *before(const struct sim_attempt *a)
{
    const struct sim_attempt *best = NULL;
    for (const struct sim_attempt *e = attempts; e < attempts + attempt_count; e++)
        if (e != a && same_task(a, e) && e->began < a->began && (!best || e->began > best->began))
            best = e;
    return best;
}

static void check_losses(const struct sim_attempt *a)
{
    const struct sim_task *t = sim_task_of_serial(a->serial);
    uint32_t count = 0, alone = 0;
    uint64_t first = 0;
    if (!t || t->meddled || sim_serial_is(a->serial, SIM_WITH_TIMEOUT))
        return;
    const struct sim_attempt *last = before(a);
    for (const struct sim_attempt *e = last; e && e->over == SIM_LOST; e = before(e)) {
        count++;
        alone += e->alone;
        first = e->ended;
    }
    if (count > 0 && sim_memory_failed_within(sim_now() - first)) /* it may not have been counted */
        return;
    uint32_t weight = count + 2 * (alone > 0 ? alone - 1 : 0); /* the first counts one, always */
    if (weight >= LOSSES_MAX)
        sim_finding("losses: task %s begins again after %u losses in a row, %u of them alone",
                    t->id, count, alone);
    if (count >= 2 && !sim_clock_leapt() && a->began - last->ended < SIM_MS(500))
        sim_finding("losses: task %s begins again %" PRIu64 " us after its loss number %u", t->id,
                    (a->began - last->ended) / 1000, count);
}

/* --- What workers see --- */

/* The server died, and may have closed the connection before. */
static void give_up(struct sim_attempt *a)
{
    uint64_t closed = sim_net_ended_at(a->link);
    sim_attempt_over(a, SIM_ABANDONED, closed < died ? closed : died);
}

static struct sim_attempt *add(const struct sim_link *link, uint64_t byte)
{
    if (attempt_count == ATTEMPTS_MAX)
        return NULL;
    struct sim_attempt *a = &attempts[attempt_count++];
    *a = (struct sim_attempt){.link = link, .ended = SIM_NEVER};
    a->began = sim_net_written_at(link, byte, &a->held);
    if (a->began <= died) /* it was read after that */
        give_up(a);
    return a;
}

static void copy_text(char *out, size_t size, struct span text)
{
    size_t len = text.len < size ? text.len : size - 1;
    if (len > 0)
        memcpy(out, text.at, len);
    out[len] = '\0';
}

struct sim_attempt *sim_attempt_began(const struct sim_link *link, uint64_t byte,
                                      struct span method, struct span params, bool alone)
{
    struct reader r = reader_of(params);
    uint32_t count;
    struct span limit = {0}, part = {0};
    char name[SIM_NAME];
    struct sim_attempt *a = add(link, byte);
    if (!a)
        return NULL;
    bool good = read_array(&r, &count) && count >= 4 && read_uint(&r, &a->serial) &&
                read_text(&r, &limit) && read_uint(&r, &a->take);
    for (uint32_t n = 3; good && n < count; n++)
        good = read_any(&r, &part); /* the last is the context */
    require(good, "a worker was given other parameters");
    struct span id = sim_member_text(part, "task");
    if (id.len > 0)
        a->number = sim_member_uint(part, "attempt");
    copy_text(a->id, sizeof a->id, id);
    copy_text(a->limit, sizeof a->limit, limit);
    a->alone = alone;
    if (id.len > 0) {
        check_number(a);
        check_open(a);
        check_losses(a);
        copy_text(name, sizeof name, method);
        if (!a->held)
            sim_check_pause(name, a->began);
    } else {
        check_call(a);
    }
    return a;
}

void sim_attempt_in_part(const struct sim_link *link, uint64_t byte, struct span bytes, bool alone,
                         enum sim_over how)
{
    struct reader r = reader_of(bytes);
    uint32_t parts, count;
    uint64_t type, id, serial;
    struct span method;
    if (!read_array(&r, &parts) || !read_uint(&r, &type) || type != 0 || !read_uint(&r, &id) ||
        !read_text(&r, &method) || !read_array(&r, &count) || !read_uint(&r, &serial))
        return;
    struct sim_attempt *a = add(link, byte);
    if (!a)
        return;
    a->serial = serial;
    a->alone = alone;
    sim_tell("attempt of %" PRIu64 " in part", serial);
    if (sim_serial_is(serial, SIM_OF_CALL))
        check_call(a);
    else
        check_losses(a);
    sim_attempt_over(a, how, sim_now());
}

void sim_attempt_over(struct sim_attempt *a, enum sim_over how, uint64_t at)
{
    if (!a || a->over != SIM_RUNS)
        return;
    a->over = how;
    a->ended = at;
}

/* The next attempt begins when the file knows of the loss: without one it may not have known. */
static bool is_last(const struct sim_attempt *a)
{
    for (const struct sim_attempt *e = attempts; e < attempts + attempt_count; e++)
        if (same_task(a, e) && e->began > a->began)
            return false;
    return true;
}

void sim_attempts_node_died(void)
{
    died = sim_now();
    for (struct sim_attempt *a = attempts; a < attempts + attempt_count; a++) {
        if (a->over == SIM_RUNS)
            give_up(a);
        if (a->over == SIM_LOST && (a->ended + SIM_MS(NOTICED_MS) > died || is_last(a)))
            a->over = SIM_ABANDONED;
    }
}

/* --- Results --- */

void sim_attempt_result(const struct sim_attempt *a, char *text, size_t size)
{
    snprintf(text, size, "r:%u", a ? (unsigned)(a - attempts) : ATTEMPTS_MAX);
}

static const struct sim_attempt *named_by(struct span text)
{
    char copy[TEXT];
    unsigned n;
    copy_text(copy, sizeof copy, text);
    const char *at = strstr(copy, "r:");
    return at && sscanf(at, "r:%u", &n) == 1 && n < attempt_count ? &attempts[n] : NULL;
}

static void check_sent(const struct sim_attempt *a, enum sim_over how, const char *what)
{
    if (a->over != how)
        sim_finding("results: %s of serial %" PRIu64 ", whose worker sent none such", what,
                    a->serial);
}

void sim_check_call(uint64_t serial, struct span error, struct span result)
{
    struct reader r = reader_of(result);
    struct span text = error;
    if (error.len == 0 && !read_text(&r, &text))
        sim_finding("results: a call was answered what no worker answers");
    const struct sim_attempt *a = named_by(text);
    if (!a)
        return;
    if (a->serial != serial)
        sim_finding("results: the call of serial %" PRIu64 " was answered for %" PRIu64, serial,
                    a->serial);
    check_sent(a, error.len > 0 ? SIM_FAILED : SIM_ANSWERED, "a call got an answer");
}

static void check_dead(const struct sim_task *t, struct span task, struct span error)
{
    if (error.len < 11 || memcmp(error.at, "WORKER_LOST", 11) != 0)
        return;
    if (sim_member_uint(task, "losses") < LOSSES_MAX || sim_member_uint(task, "attempt") < 4)
        sim_finding("losses: task %s is dead, and too few workers were lost", t->id);
}

void sim_check_work(const struct sim_task *t, struct span task)
{
    struct span state = sim_member_text(task, "state");
    struct span error = sim_member_text(task, "error"), result = sim_member_text(task, "result");
    bool done = span_is(state, "done");
    if (t->serial == 0)
        return;
    if (span_is(state, "dead"))
        check_dead(t, task, error);
    const struct sim_attempt *a = named_by(done ? result : error);
    if (!a)
        return;
    if (a->serial != t->serial || strcmp(a->id, t->id) != 0)
        sim_finding("results: task %s has the result of another (%s)", t->id, a->id);
    if (done && a->number != sim_member_uint(task, "attempt"))
        sim_finding("results: task %s is done by attempt %" PRIu64
                    ", and has the result of %" PRIu64,
                    t->id, sim_member_uint(task, "attempt"), a->number);
    check_sent(a, done ? SIM_ANSWERED : SIM_FAILED, "a task has what ends it");
}

/* --- Limits --- */

static uint64_t taken_at(const char *key, uint64_t time)
{
    uint64_t sum = 0;
    for (const struct sim_attempt *a = attempts; a < attempts + attempt_count; a++)
        if (*a->id && a->began <= time && a->ended > time && strcmp(a->limit, key) == 0)
            sum += a->take;
    return sum;
}

void sim_check_limits(void)
{
    for (const struct sim_attempt *a = attempts; a < attempts + attempt_count; a++) {
        uint64_t most =
            *a->id && *a->limit ? sim_limit_at(a->limit, a->began, a->held) : UINT64_MAX;
        uint64_t taken = 0;
        if (most < UINT64_MAX)
            taken = taken_at(a->limit, a->began) + sim_held_at(a->limit, a->began);
        if (taken > most)
            sim_finding("limits: %" PRIu64 " of at most %" PRIu64
                        " of limit %s are taken as attempt "
                        "%" PRIu64 " of task %s begins at %" PRIu64 " us",
                        taken, most, a->limit, a->number, a->id, a->began / 1000);
    }
    sim_check_holds(taken_at);
}
