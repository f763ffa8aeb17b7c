/* Crons: job specs that are submitted again and again, by calendar.
 *
 * A cron's task carries a key that names cron and time, and is put into the store before the cron's
 * own row moves on: after a crash between the two the same task is found instead of a second. */
#include "server/jobs/cron/cron.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/tracepoint.h"
#include "server/jobs/cron/crons.h"
#include "server/jobs/effects.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/persist/codec.h"

enum { NS_A_SECOND = 1000000000 };

static const ao_time again_after = AO_S(1);     /* a job spec was refused: BUSY, or the store */
static const ao_time longest_sleep = AO_S(300); /* the wall clock may be set meanwhile */

uint64_t cron_next_after(const struct cron *c, uint64_t unix_ns)
{
    int64_t at = schedule_next(&c->schedule, c->zone, (int64_t)(unix_ns / NS_A_SECOND));
    return at < 0 ? 0 : (uint64_t)at * NS_A_SECOND;
}

/* To the next time and what chance adds to it, or a part of that. */
static ao_time time_left(const struct jobs *jobs, const struct cron *c)
{
    uint64_t now = table_wall(&jobs->table), at = c->state.next_at + c->state.spread;
    ao_time wait = at > now ? at - now : 0;
    return wait < longest_sleep ? wait : longest_sleep;
}

void cron_arm(struct jobs *jobs, struct cron *c)
{
    if (c->state.next_at == 0 || c->state.paused)
        return;
    ao_sleep_for(&c->timer, time_left(jobs, c));
    jobs_watch_clock(jobs);
}

void cron_pause(struct jobs *jobs, struct cron *c, bool paused)
{
    if (c->state.paused == paused)
        return;
    c->state.paused = paused;
    feed_add_cron(&jobs->table.feed, c->named->tenant, c->spec.name, c->spec.task.method,
                  paused ? FEED_CRON_PAUSED : FEED_CRON_RESUMED, table_wall(&jobs->table));
    if (paused)
        ao_deactivate(&c->timer);
    else if (cron_missed(c, c->state.next_at, table_wall(&jobs->table)))
        c->state.next_at = 0;
    cron_plan(jobs, c);
    cron_arm(jobs, c);
}

/* What is left of its jitter, chance divides. */
static void set_next(struct jobs *jobs, struct cron *c, uint64_t at)
{
    uint64_t now = table_wall(&jobs->table);
    ao_time over = now > at ? now - at : 0, jitter = c->spec.jitter;

    c->state.next_at = at;
    c->state.spread =
        jitter > over ? over + activator_random(jobs->activator) % (jitter - over) : 0;
}

/* While it is paused it has no next time: so one that it has came before. */
void cron_plan(struct jobs *jobs, struct cron *c)
{
    uint64_t now = table_wall(&jobs->table);

    if (c->state.next_at == 0 || c->state.next_at > now)
        set_next(jobs, c, c->state.paused ? 0 : cron_next_after(c, now));
}

bool cron_missed(const struct cron *c, uint64_t at, uint64_t now)
{
    return at + c->spec.jitter <= now;
}

void cron_wait_for(struct jobs *jobs, struct cron *c, uint64_t at)
{
    uint64_t now = table_wall(&jobs->table);

    set_next(jobs, c, cron_missed(c, at, now) ? cron_next_after(c, now - c->spec.jitter) : at);
}

void cron_succeed(struct jobs *jobs, struct cron *c)
{
    c->state = c->named->placed->state;
    if (c->state.spread > c->spec.jitter)
        c->state.spread = c->spec.jitter;
    cron_plan(jobs, c);
}

static bool write_row(struct jobs *jobs, struct cron *c, const struct store_table *table,
                      write_done *done, void *arg)
{
    struct store_op *write = jobs->store && c->spec.task.durable != DURABLE_NONE
                                 ? codec_row_new(jobs, STORE_ROW_PUT, table, 0, done)
                                 : NULL;
    if (!write)
        return false;
    write->tag = (uintptr_t)arg;
    write->owner = c; /* counted, so that its bytes stay until the operation is back */
    c->refs++;
    *(struct store_cron *)write->row = (struct store_cron){.name = c->spec.name,
                                                           .method = c->spec.task.method,
                                                           .schedule = c->spec.schedule,
                                                           .zone = c->spec.zone,
                                                           .tenant = c->spec.task.tenant,
                                                           .made_by = c->spec.made_by,
                                                           .params = c->spec.task.params,
                                                           .options = c->spec.options,
                                                           .next_at = c->state.next_at,
                                                           .last_at = c->state.last_at,
                                                           .last_task = c->state.last_task,
                                                           .paused = c->state.paused,
                                                           .durable = c->spec.task.durable};
    store_push(jobs->store, write);
    return true;
}

bool cron_write(struct jobs *jobs, struct cron *c, write_done *done, void *arg)
{
    return write_row(jobs, c, &store_crons, done, arg);
}

bool cron_write_state(struct jobs *jobs, struct cron *c, write_done *done, void *arg)
{
    return write_row(jobs, c, &store_cron_states, done, arg);
}

void cron_drop(struct cron *c)
{
    assert(c->refs > 0);
    if (--c->refs > 0)
        return;
    zone_close(c->zone);
    free(c->memory);
    free(c);
}

/* One that was replaced or deleted meanwhile has no row. */
void cron_set_unsaved(struct jobs *jobs, struct cron *c)
{
    if (c->unsaved || !c->named || c->named->placed != c)
        return;
    c->unsaved = true;
    LIST_INSERT_HEAD(&jobs->crons->unsaved, c, by_unsaved);
    journal_try_later(jobs);
}

static void clear_unsaved(struct cron *c)
{
    if (c->unsaved)
        LIST_REMOVE(c, by_unsaved);
    c->unsaved = false;
}

/* Writes come back in order: one that worked has a later state than one that failed before. */
static void state_back(struct jobs *jobs, struct store_op *write)
{
    struct cron *c = write->owner;
    journal_notice(jobs, write);
    if (write->error == STORE_OK)
        clear_unsaved(c);
    else if (write->error != STORE_REFUSED)
        cron_set_unsaved(jobs, c);
    cron_drop(c);
}

void cron_save(struct jobs *jobs, struct cron *c)
{
    clear_unsaved(c);
    if (jobs->store && c->spec.task.durable != DURABLE_NONE &&
        !cron_write_state(jobs, c, state_back, NULL))
        cron_set_unsaved(jobs, c);
}

/* --- Its time has come --- */

static bool may_fire(struct jobs *jobs, struct cron *c)
{
    struct job *last = c->state.last_task ? table_find(&jobs->table, c->state.last_task) : NULL;

    if (!last || !job_state_open((enum job_state)last->state))
        return true;
    if (c->spec.overlap == CRON_SKIP)
        return false;
    if (c->spec.overlap == CRON_REPLACE)
        job_cancel(&jobs->sched, last);
    return true;
}

/* The name may be anything, and the time has no blank. */
static const char key_head[] = "cron ", key_middle[] = " at ";

static int put_key(const struct cron *c, uint64_t at, char *key, size_t size)
{
    return snprintf(key, size, "%s%.*s%s%" PRIu64, key_head, (int)c->spec.name.len,
                    (const char *)c->spec.name.at, key_middle, at / NS_A_SECOND);
}

static uint64_t read_digits(const uint8_t *from, const uint8_t *end)
{
    uint64_t number = 0;
    for (; from < end; from++)
        number = number * 10 + (uint64_t)(*from - '0');
    return number;
}

bool cron_read_key(struct span key, struct span *name, uint64_t *at)
{
    enum { HEAD = sizeof key_head - 1, MIDDLE = sizeof key_middle - 1 };
    const uint8_t *end = key.at + key.len, *digits = end;
    while (digits > key.at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == end || digits - key.at < HEAD + MIDDLE || memcmp(key.at, key_head, HEAD) != 0 ||
        memcmp(digits - MIDDLE, key_middle, MIDDLE) != 0)
        return false;
    *name = span_of(key.at + HEAD, (size_t)(digits - MIDDLE - key.at) - HEAD);
    *at = read_digits(digits, end) * NS_A_SECOND;
    return true;
}

bool cron_fire(struct jobs *jobs, struct cron *c, uint64_t at)
{
    struct job_spec spec = c->spec.task;
    struct submitted out;
    char key[CRON_NAME_MAX + 40];

    if (!may_fire(jobs, c)) {
        c->state.skipped++;
        return true;
    }
    spec.key = span_of(key, (size_t)put_key(c, at, key, sizeof key));
    c->state.error =
        job_submit(jobs, &spec, NULL, &out, c->state.error_text, sizeof c->state.error_text);
    if (c->state.error == ERGON_OK) {
        c->state.fired++;
        c->state.last_at = at;
        c->state.last_task = out.job->id;
        job_mark(out.job, JOB_CRON);
        if (tracepoint_watched(submit))
            job_trace_submit(out.job, 0);
        if (out.hardens)
            job_joined(out.job, &spec);
    }
    effects_apply(jobs); /* its row is on its way before that of the cron, which moves on */
    return c->state.error == ERGON_OK;
}

static void refuse_once(struct cron *c)
{
    char name[CRON_NAME_MAX + 1];

    snprintf(name, sizeof name, "%.*s", (int)c->spec.name.len, (const char *)c->spec.name.at);
    if (!c->state.refused)
        log_warn("a cron's task was refused; it is tried again", LOG_STR("cron", name),
                 LOG_STR("why", c->state.error_text));
    c->state.refused = true;
}

/* What it fired since then it finds by its keys. */
void cron_take_back(struct jobs *jobs, struct cron *c, uint64_t at, enum store_error error)
{
    c->state.fired--;
    c->state.last_at = c->state.last_task = 0;
    c->state.error = ERGON_E_STORE;
    snprintf(c->state.error_text, sizeof c->state.error_text, "%s", store_error_text(error));
    refuse_once(c);
    if (c->state.next_at == 0 || at < c->state.next_at) {
        c->state.next_at = at;
        c->state.spread = 0;
    }
    cron_save(jobs, c);
    if (c->state.paused || ao_current() == &c->timer)
        return;
    ao_deactivate(&c->timer);
    ao_sleep_for(&c->timer, again_after);
}

/* The cron catches up on times missed while no server ran only if its catch_up says so. */
static void go_on_after(struct jobs *jobs, struct cron *c, uint64_t at)
{
    uint64_t next = cron_next_after(c, at);

    if (c->spec.catch_up == CRON_CATCH_ALL)
        set_next(jobs, c, next);
    else
        cron_wait_for(jobs, c, next);
}

static enum ao_verdict cron_step(struct ao *self)
{
    struct cron *c = ao_of(self, struct cron, timer);
    struct jobs *jobs = c->jobs;
    uint64_t at = c->state.next_at;

    if (jobs->sched.stopping)
        return AO_DONE; /* what comes now comes while the server is down */
    uint64_t now = table_wall(&jobs->table);
    if (now >= at + c->state.spread) {
        if (!cron_fire(jobs, c, at)) {
            refuse_once(c);
            ao_sleep_for(self, again_after);
            return AO_PARK;
        }
        histogram_note(&jobs->crons->late, now - (at + c->state.spread), 1);
        c->state.refused = false;
        go_on_after(jobs, c, at);
        cron_save(jobs, c);
    }
    if (c->state.next_at == 0)
        return AO_DONE;
    ao_sleep_for(self, time_left(jobs, c));
    return AO_PARK;
}

static void cron_retired(struct ao *self)
{
    ao_fini(self);
    cron_drop(ao_of(self, struct cron, timer));
}

static const struct ao_class cron_class = {
    .name = "cron", .step = cron_step, .retired = cron_retired};

/* --- Made --- */

/* One block of memory for everything that the spec's spans point at. */
struct copy {
    uint8_t *at;
};

static void keep(struct copy *copy, struct span *s)
{
    if (s->len > 0)
        memcpy(copy->at, s->at, s->len);
    s->at = copy->at;
    copy->at += s->len;
}

static bool keep_spec(struct cron *c, const struct cron_spec *spec)
{
    c->spec = *spec;
    struct job_spec *t = &c->spec.task;
    struct span *spans[] = {&c->spec.name, &c->spec.schedule, &c->spec.zone, &c->spec.options,
                            &t->method,    &t->actor,         &t->params,    &t->tenant,
                            &t->coalesce,  &t->limit_key,     &t->rate_key,  &c->spec.made_by};
    size_t size = 1;

    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        size += spans[i]->len;
    struct copy copy = {malloc(size)};
    c->memory = copy.at;
    c->bytes = sizeof *c + size;
    if (!copy.at)
        return false;
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        keep(&copy, spans[i]);
    return true;
}

struct cron *cron_new(struct jobs *jobs, const struct cron_spec *spec, enum ergon_error *error,
                      char *text, size_t size)
{
    struct cron *c = calloc(1, sizeof *c);

    *error = ERGON_E_MEMORY;
    snprintf(text, size, "%s", error_meaning(ERGON_E_MEMORY));
    if (!c)
        return NULL;
    c->refs = 1;
    c->jobs = jobs;
    if (!keep_spec(c, spec))
        goto failed;
    *error = ERGON_E_BAD_PARAMS;
    if (spec->name.len > CRON_NAME_MAX) {
        snprintf(text, size, "the name of a cron has at most %d bytes", CRON_NAME_MAX);
        goto failed;
    }
    if (!schedule_parse(c->spec.schedule, &c->schedule, text, size))
        goto failed;
    c->zone = zone_open(c->spec.zone);
    if (!c->zone) {
        snprintf(text, size, "there is no time zone \"%.*s\"; \"Europe/Berlin\" is one",
                 (int)(spec->zone.len < 64 ? spec->zone.len : 64), (const char *)spec->zone.at);
        goto failed;
    }
    cron_plan(jobs, c);
    if (c->state.next_at > 0) {
        ao_init(&c->timer, &cron_class, jobs->activator);
        return c;
    }
    snprintf(text, size, "the schedule never comes: no such day is in any of its months");
failed:
    cron_drop(c);
    return NULL;
}
