#include "server/jobs/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/jobs/actors/module_calls.h"
#include "server/jobs/clock.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/effects.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/attempts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/operations/waiters.h"
#include "server/jobs/ownership.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/rates.h"
#include "server/jobs/persist/recover.h"
#include "server/jobs/read_back.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/verbs/audit.h"
#include "server/jobs/verbs/queues.h"
#include "server/jobs/verbs/steer.h"

static uint64_t system_suspended(void *arg)
{
    (void)arg;
    return clock_suspended();
}

static uint64_t system_wall(void *arg)
{
    (void)arg;
    return clock_wall();
}

/* --- The objects --- */

static bool take_back_writes(struct jobs *jobs)
{
    bool all = journal_take(jobs) < JOURNAL_BATCH;
    effects_apply(jobs);
    return all;
}

/* `idle`: no operation is left. */
static enum ao_verdict go_on(struct jobs *jobs, bool idle)
{
    jobs->work = 0; /* earlier clients are not put off by those that come now */
    idle &= waiters_go_on(jobs);
    effects_apply(jobs);
    idle &= take_back_writes(jobs);
    idle &= scheduler_go_on(&jobs->sched);
    effects_apply(jobs);
    idle &= sweep_go_on(jobs);
    effects_apply(jobs);
    idle &= audit_go_on(jobs);
    idle &= subsystems_step(jobs);
    idle &= room_trim(jobs);
    effects_apply(jobs);
    return idle ? AO_DONE : AO_AGAIN;
}

static enum ao_verdict jobs_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, ao);
    jobs->work = 0;
    return go_on(jobs, channels_take(jobs, effects_apply));
}

static const struct ao_class jobs_class = {.name = "jobs", .step = jobs_step};

static enum ao_verdict node_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, ao);
    jobs->work = 0;
    bool idle = ownership_serve(jobs);
    if (jobs->ownership.state == OWNERSHIP_OWNER) {
        enum ao_verdict verdict = go_on(jobs, idle);
        ownership_notice(jobs);
        return verdict;
    }
    idle &= take_back_writes(jobs);
    ownership_notice(jobs);
    idle &= ownership_go_on(jobs);
    return idle ? AO_DONE : AO_AGAIN;
}

static const struct ao_class node_class = {.name = "jobs", .step = node_step};

enum { RETRY_MS = 1000 };

static enum ao_verdict retry_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, journal.retry);
    bool queues = queues_save(jobs), subsystems = subsystems_save(jobs);
    bool others = queues || subsystems;
    ao_time again = others && jobs->journal.unsaved == 0 ? AO_MS(RETRY_MS) : journal_resave(jobs);
    effects_apply(jobs);
    if (again == AO_NEVER)
        return AO_DONE;
    ao_sleep_for(self, again);
    return AO_PARK;
}

static const struct ao_class retry_class = {.name = "store retry", .step = retry_step};

/* --- Limits that a reload brought --- */

/* jobs_set_limits() writes them down in `new_limits`, and posts an object on the jobs' activator,
 * which takes them over in a step of its own: so no operation sees two of them.  What is beyond a
 * limit that was lowered stays: nothing is accepted until there is less again, but tasks that have
 * ended are forgotten, in small steps.  The least that a kept task counts for (core/kept.h) stays
 * that of the start: it only orders the tenants. */

static void write_down(struct new_limits *n, const struct jobs_limits *limits)
{
    uint64_t words[NEW_LIMITS_WORDS];

    memcpy(words, limits, sizeof words);
    for (size_t i = 0; i < NEW_LIMITS_WORDS; i++)
        counter_set(&n->words[i], words[i]);
}

static void read_back(const struct new_limits *n, struct jobs_limits *out)
{
    uint64_t words[NEW_LIMITS_WORDS];

    for (size_t i = 0; i < NEW_LIMITS_WORDS; i++)
        words[i] = counter_read(&n->words[i]);
    memcpy(out, words, sizeof words);
}

/* What is kept beyond is forgotten by the jobs' own step. */
static enum ao_verdict take_over(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, new_limits.ao);

    read_back(&jobs->new_limits, &jobs->options.settings.limits);
    ao_activate(&jobs->ao);
    return AO_DONE;
}

static const struct ao_class new_limits_class = {.name = "limits of tasks", .step = take_over};

static bool new_limits_init(struct jobs *jobs)
{
    struct new_limits *n = &jobs->new_limits;

    write_down(n, &jobs->options.settings.limits);
    ao_init(&n->ao, &new_limits_class, jobs->activator);
    n->handle = ao_handle_new(&n->ao);
    return n->handle != NULL;
}

static void new_limits_fini(struct jobs *jobs)
{
    struct new_limits *n = &jobs->new_limits;

    ao_deactivate(&n->ao);
    ao_fini(&n->ao);
    if (n->handle)
        ao_handle_unref(n->handle);
}

void jobs_set_limits(struct jobs *jobs, const struct jobs_limits *limits)
{
    write_down(&jobs->new_limits, limits);
    ao_post(jobs->new_limits.handle, AO_POST_ACTIVATE);
}

static void new_limits_show(const struct jobs *jobs, struct jobs_info *out)
{
    read_back(&jobs->new_limits, &out->limits);
}

/* --- Made --- */

static bool set_weights(struct jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->options.tenant_count; i++) {
        const struct jobs_tenant *configured = &jobs->options.tenants[i];
        struct tenant *t = table_tenant(&jobs->table, span_text(configured->name));
        if (!t)
            return false;
        t->weight = configured->weight;
    }
    return true;
}

/* Executors of this process run attempts of each handler, though its pool may have workers, too. */
static void note_handlers(struct jobs *jobs)
{
    const struct registry *r = jobs->options.registry;
    for (uint32_t i = 0; i < registry_count(r); i++) {
        const struct method *m = registry_at(r, i);
        if (m && method_attempts_here(m) && (m->joined || m->spread))
            admission_set_idle(&jobs->sched, job_source_pool(m), false);
    }
}

static bool init_parts(struct jobs *jobs)
{
    const struct jobs_options *o = &jobs->options;
    const struct jobs_limits *limits = &o->settings.limits;
    bool taken = new_limits_init(jobs);
    table_init(&jobs->table,
               &(struct job_table_options){.activator = jobs->activator,
                                           .timer_class = &job_timer_class,
                                           .registry = o->registry,
                                           .wall = o->wall ? o->wall : system_wall,
                                           .wall_arg = o->wall_arg,
                                           .leapt = clock_leapt,
                                           .history_max = o->settings.history,
                                           .kept_least = limits->kept_bytes /
                                                         (limits->max ? limits->max : 1)});
    bool sched =
        scheduler_init(&jobs->sched, &(struct scheduler_options){.table = &jobs->table,
                                                                 .tasks = jobs->tasks,
                                                                 .ao = &jobs->ao,
                                                                 .settings = &o->settings,
                                                                 .keeps_rates = o->store != NULL,
                                                                 .tracer = o->tracer}) == 0;
    if (sched)
        note_handlers(jobs);
    return taken && sched && ownership_init(jobs) && set_weights(jobs);
}

static void set_levels(struct jobs *jobs)
{
    struct jobs_options *o = &jobs->options;
    if (!durable_is_awaited(o->default_durable))
        o->default_durable = DURABLE_FSYNC;
    if (!jobs->store)
        return;
    jobs->most = (uint8_t)store_level_most(jobs->store);
    if (jobs->most < o->store_require)
        jobs->most = DURABLE_ASYNC;
}

struct jobs *jobs_new(const struct jobs_options *options, char *error, size_t size)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) {
        snprintf(error, size, "no memory for the tasks that are kept");
        return NULL;
    }
    jobs->options = *options;
    if (!options->suspended)
        jobs->options.suspended = system_suspended;
    jobs->tasks = options->tasks;
    jobs->store = options->store;
    set_levels(jobs);
    jobs->activator = tasks_manager_activator(options->tasks);
    waiters_init(jobs);
    jobs->postponed.prev = jobs->postponed.next = &jobs->postponed;
    ao_init(&jobs->ao, options->cluster ? &node_class : &jobs_class, jobs->activator);
    ao_init(&jobs->clock_watch, &clock_watch_class, jobs->activator);
    ao_init(&jobs->journal.retry, &retry_class, jobs->activator);
    jobs->task_lost = subsystems_task_lost;
    codec_init(jobs);
    bool made = init_parts(jobs);
    /* The file is read before the clock, whatever the compiler's order of arguments. */
    uint64_t last = jobs->store && !options->cluster ? store_last_id(jobs->store) : 0;
    jobs->table.next_id = id_first(table_wall(&jobs->table), last);
    error[0] = '\0';
    if (!made || !subsystems_init(jobs, error, size) || !module_calls_open(jobs->actors)) {
        if (!error[0])
            snprintf(error, size, "no memory for the tables of the tasks that are kept");
        jobs_free(jobs);
        return NULL;
    }
    source_connect(jobs);
    return jobs;
}

/* --- The store read back --- */

int jobs_recover(struct jobs *jobs, char *error, size_t size)
{
    struct read_back r;
    if (!jobs->store)
        return 0;
    if (jobs->options.cluster)
        return ownership_look_at_board(jobs, error, size);
    clock_hold(jobs, true);
    clock_recover(jobs);
    read_back_init(&r, jobs);
    if (recover_board(jobs, error, size) != 0)
        return -1;
    jobs->table.recovering = true;
    int result = store_load(jobs->store, &r.reader, error, size);
    jobs->table.recovering = false;
    result = read_back_end(&r, result, error, size);
    return result == 0 ? recover_begins(jobs, error, size) : result;
}

int jobs_start(struct jobs *jobs)
{
    if (!jobs->store) {
        queues_mark_handlers(jobs);
        return 0;
    }
    if (store_start(jobs->store, jobs->activator, &jobs->ao) != 0)
        return -1;
    if (jobs->options.cluster)
        return 0;
    clock_hold(jobs, false);
    recover_go_on(jobs, &(struct recover_pass){0}, UINT32_MAX);
    queues_mark_handlers(jobs);
    queues_save(jobs);
    effects_apply(jobs);
    subsystems_start(jobs);
    return 0;
}

/* --- Stopped and freed --- */

/* Nobody will answer them any more. */
static void answer_all(struct jobs *jobs)
{
    audit_stop(jobs);
    sweep_stop(jobs);
    sync_stop(jobs);
    queues_stop(jobs);
    waiters_dismiss(jobs);
    subsystems_dismiss(jobs);
}

static void commit_all(struct jobs *jobs)
{
    journal_flush(jobs);
    subsystems_flush(jobs);
    rates_flush(jobs);
    ownership_hand_over(jobs);
    if (jobs->options.cluster && !jobs->options.cluster->may_act(jobs->options.cluster->cluster))
        store_doubt(jobs->store); /* its last renewal has had no answer for seconds */
    store_stop(jobs->store);
    while (journal_take(jobs) > 0)
        effects_apply(jobs);
    bool owns = !jobs->options.cluster || jobs->ownership.state == OWNERSHIP_OWNER;
    if (owns && jobs->sched.board && jobs->journal.unsaved == 0 && jobs_store_usable(jobs))
        store_board_close(jobs->store); /* the file knows of all that ran */
}

void jobs_stop(struct jobs *jobs)
{
    channels_complete(jobs);
    effects_apply(jobs);
    attempts_end(&jobs->sched);
    effects_apply(jobs);
    if (jobs->store)
        commit_all(jobs);
    answer_all(jobs);
    channels_flush(jobs);
}

static void free_jobs(struct jobs *jobs)
{
    struct job *next;
    for (struct job *job = jobs->table.first; job; job = next) {
        next = job->all_next;
        scheduler_forget(&jobs->sched, job);
        job_free(&jobs->table, job);
    }
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    answer_all(jobs);
    channels_flush(jobs);
    channels_free(jobs);
    subsystems_fini(jobs);
    ownership_fini(jobs);
    free_jobs(jobs);
    ao_deactivate(&jobs->ao);
    ao_fini(&jobs->ao);
    ao_deactivate(&jobs->clock_watch);
    ao_fini(&jobs->clock_watch);
    ao_deactivate(&jobs->journal.retry);
    ao_fini(&jobs->journal.retry);
    new_limits_fini(jobs);
    scheduler_fini(&jobs->sched);
    event_batches_fini(&jobs->event_batches);
    board_free(jobs->sched.board);
    table_fini(&jobs->table);
    codec_fini(jobs);
    free(jobs);
}

/* --- What is shown --- */

#define AT(member) FIGURE_AT(struct jobs_info, member)

/* clang-format off */
static const struct figure figures[] = {
    {"kept", AT(tasks), "held", NULL, false, NULL, NULL},
    {"kept", AT(limits.max), "limit",
     "ergon_tasks_limit", false, NULL, "The most that are kept."},
    {"kept", AT(bytes), "bytes",
     "ergon_tasks_bytes", false, "bytes", "Memory that they take."},
    {"kept", AT(limits.bytes), "bytes_limit",
     "ergon_tasks_limit_bytes", false, "bytes", "The most that they may take."},
    {"kept", AT(kept_bytes), "ended_bytes",
     "ergon_tasks_ended_bytes", false, "bytes", "Of that, those that have ended."},
    {"kept", AT(limits.kept_bytes), "ended_bytes_limit", NULL, false, NULL, NULL},
    {"kept", AT(limits.tenant_share), "tenant_share", NULL, false, NULL, NULL},
    {"kept", AT(submitted), "submitted",
     "ergon_tasks_submitted", true, NULL, "Tasks that were submitted."},
    {"kept", AT(starts), "starts",
     "ergon_attempts", true, NULL, "Attempts that have begun."},
    {"kept", AT(retries), "retries",
     "ergon_retries", true, NULL, "Attempts beyond the first of a task."},
    {"kept", AT(fenced), "fenced",
     "ergon_fenced", true, NULL, "Answers of attempts that did not count any more."},
};
/* clang-format on */

const struct figure *jobs_figure(size_t n)
{
    const size_t own = sizeof figures / sizeof *figures;
    return n < own ? &figures[n] : subsystems_figure(n - own);
}

static void show_store(const struct store *s, struct jobs_info *out)
{
    struct store_info info;
    store_info(s, &info);
    out->has_store = true;
    out->store_engine = info.kind;
    out->store_level = (uint8_t)store_level(s);
    out->store_lag = info.lag;
    out->commits = info.commits;
    out->operations = info.operations;
    out->store_bytes = info.bytes;
    out->commit_ns = info.commit_ns;
    out->store_under_way = info.under_way;
    out->commit_times = info.commit_times;
    out->store_unfolded = info.unfolded;
    out->store_room_known = info.room_known;
    out->store_room = info.room;
    out->store_backup = info.backup;
    out->store_error = info.trouble == STORE_OK ? NULL : store_error_text(info.trouble);
    out->store_failing = info.error != STORE_OK;
}

void jobs_look(struct jobs *jobs)
{
    if (jobs->store)
        store_look(jobs->store);
}

void jobs_info(const struct jobs *jobs, struct jobs_info *out)
{
    *out = (struct jobs_info){.tasks = counter_read(&jobs->table.shown_tasks),
                              .bytes = counter_read(&jobs->table.shown_bytes),
                              .kept_bytes = counter_read(&jobs->table.kept.shown),
                              .submitted = counter_read(&jobs->table.submitted),
                              .starts = counter_read(&jobs->sched.starts),
                              .retries = counter_read(&jobs->sched.retries),
                              .fenced = counter_read(&jobs->sched.fenced)};
    subsystems_show(jobs, out);
    new_limits_show(jobs, out);
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        out->by_state[i] = counter_read(&jobs->table.by_state[i]);
    out->durable = counter_read(&jobs->table.shown_durable);
    if (jobs->store)
        show_store(jobs->store, out);
}

uint32_t jobs_tenants(const struct jobs *jobs, struct jobs_tenant_shown out[JOBS_TENANTS],
                      uint64_t *open)
{
    _Static_assert((int)JOBS_TENANTS == (int)TENANT_PLACES &&
                       sizeof out[0].name == (size_t)TENANT_NAME_SHOWN,
                   "the board fits");
    const struct tenant_board *board = &jobs->table.board;
    uint32_t count = 0;

    *open = counter_read(&board->open);
    for (unsigned i = 0; i < TENANT_PLACES; i++)
        count += tenant_board_read(board, i, out[count].name, &out[count].open);
    return count;
}

const struct job_queue *jobs_queue_info(const struct jobs *jobs, const struct job_queue *before,
                                        struct jobs_queue_info *out)
{
    const struct job_queue *q =
        before ? before->shown_next
               : atomic_load_explicit(&jobs->table.shown_queues, memory_order_acquire);
    if (!q)
        return NULL;
    *out = (struct jobs_queue_info){
        .method = (const char *)q->name.at,
        .paused = atomic_load_explicit(&q->paused, memory_order_relaxed),
        .draining = atomic_load_explicit(&q->draining, memory_order_relaxed),
        .submitted = counter_read(&q->submitted),
        .done = counter_read(&q->done),
        .failed = counter_read(&q->failed),
        .oldest = counter_read(&q->open.oldest)};
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        out->by_state[i] = counter_read(&q->by_state[i]);
    return q;
}
