#include "server/jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/jobs/cron/cron.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/channel.h"
#include "server/jobs/service/queues.h"

static uint64_t system_wall(void *arg)
{
    struct timespec now;
    (void)arg;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * AO_S(1) + (uint64_t)now.tv_nsec;
}

/* --- Time --- */

uint64_t jobs_wall(const struct jobs *jobs)
{
    return jobs->options.wall(jobs->options.wall_arg);
}

ao_time jobs_now(const struct jobs *jobs)
{
    return activator_now(jobs->activator);
}

static ao_time add(ao_time to, ao_time duration)
{
    return duration < AO_NEVER - to ? to + duration : AO_NEVER;
}

/* Both clocks are read at once: the time of the round may be seconds old while a large store is
 * read back, and what is due would come so much too early. */
uint64_t jobs_wall_of(const struct jobs *jobs, ao_time when)
{
    uint64_t wall = jobs_wall(jobs);
    ao_time now = activator_clock(jobs->activator);
    return when > now ? add(wall, when - now) : wall - (now - when);
}

ao_time jobs_time_of(const struct jobs *jobs, uint64_t unix_ns)
{
    uint64_t wall = jobs_wall(jobs);
    ao_time now = activator_clock(jobs->activator);
    return unix_ns > wall ? add(now, unix_ns - wall) : now;
}

ao_time jobs_time_after(const struct jobs *jobs, ao_time duration)
{
    return add(jobs_now(jobs), duration);
}

/* --- What many ask --- */

struct job *jobs_find(const struct jobs *jobs, uint64_t id)
{
    return id_find(&jobs->ids, id);
}

unsigned job_kind(const struct job *job)
{
    const struct method *m = job->queue->method;
    return m && m->handler->kind == ERGON_BLOCKING ? 1 : 0;
}

void jobs_weigh(struct jobs *jobs, const struct job *job, size_t was)
{
    size_t is = job_bytes(job);
    jobs->bytes += is - was;
    if (job->list == &jobs->ended)
        jobs->ended_bytes += is - was;
    counter_set(&jobs->shown_bytes, jobs->bytes);
}

/* --- The object --- */

static enum ao_verdict jobs_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, ao);
    bool idle = channels_take(jobs);
    idle &= journal_take(jobs);
    idle &= dependencies_go_on(jobs);
    idle &= queues_go_on(jobs);
    idle &= quarantine_go_on(jobs);
    idle &= audit_go_on(jobs);
    idle &= retention_trim(jobs);
    return idle ? AO_DONE : AO_AGAIN;
}

static const struct ao_class jobs_class = {.name = "ledger", .step = jobs_step};

static int init_tables(struct jobs *jobs)
{
    jobs->hash_seed[0] = activator_random(jobs->activator);
    jobs->hash_seed[1] = activator_random(jobs->activator);
    jobs->by_method =
        calloc(registry_count(jobs->options.registry) + 1, sizeof(struct job_queue *));
    jobs->holds = limit_table_new(jobs->hash_seed);
    if (!jobs->by_method || !jobs->holds || id_table_init(&jobs->ids) != 0 ||
        key_table_init(&jobs->keys, jobs->hash_seed) != 0 ||
        key_table_init(&jobs->shared, jobs->hash_seed) != 0)
        return -1;
    return names_init(jobs);
}

struct jobs *jobs_new(const struct jobs_options *options, char *error, size_t size)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) {
        snprintf(error, size, "no memory for the tasks that are kept");
        return NULL;
    }
    jobs->options = *options;
    if (!jobs->options.wall)
        jobs->options.wall = system_wall;
    jobs->tasks = options->tasks;
    jobs->store = options->store;
    jobs->activator = tasks_manager_activator(options->tasks);
    ao_init(&jobs->ao, &jobs_class, jobs->activator);
    ao_init(&jobs->retry, &journal_retry_class, jobs->activator);
    for (unsigned i = 0; i < JOB_KINDS; i++)
        fair_queue_init(&jobs->picks[i], options->ageing);
    jobs_cells_init(jobs);
    codec_init(jobs);
    jobs->crons = crons_new(jobs);
    if (!jobs->crons || init_tables(jobs) != 0) {
        snprintf(error, size, "no memory for the tables of the tasks that are kept");
        jobs_free(jobs);
        return NULL;
    }
    jobs->next_id = id_first(jobs_wall(jobs), jobs->store ? store_last_id(jobs->store) : 0);
    attempts_connect(jobs);
    return jobs;
}

int jobs_start(struct jobs *jobs)
{
    if (!jobs->store)
        return 0;
    if (store_start(jobs->store, jobs->activator, &jobs->ao) != 0)
        return -1;
    recover_go_on(jobs);
    crons_start(jobs);
    return 0;
}

/* Nobody will answer them any more. */
static void answer_all(struct jobs *jobs)
{
    audit_stop(jobs);
    waiters_dismiss(jobs);
}

static void commit_all(struct jobs *jobs)
{
    journal_flush(jobs);
    store_stop(jobs->store);
    while (!journal_take(jobs))
        ;
}

void jobs_stop(struct jobs *jobs)
{
    attempts_end(jobs);
    if (jobs->store)
        commit_all(jobs);
    answer_all(jobs);
    channels_flush(jobs);
}

static void free_entries(struct jobs *jobs)
{
    struct job *next;
    for (struct job *job = jobs->first; job; job = next) {
        next = job->all_next;
        job_free(jobs, job);
    }
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    answer_all(jobs);
    channels_flush(jobs);
    channels_free(jobs);
    crons_free(jobs->crons);
    free_entries(jobs);
    ao_deactivate(&jobs->ao);
    ao_fini(&jobs->ao);
    ao_deactivate(&jobs->retry);
    ao_fini(&jobs->retry);
    id_table_fini(&jobs->ids);
    key_table_fini(&jobs->keys);
    key_table_fini(&jobs->shared);
    limit_table_free(jobs->holds);
    names_fini(jobs);
    codec_fini(jobs);
    jobs_cells_fini(jobs);
    free(jobs->by_method);
    free(jobs);
}

static void show_store(const struct store *s, struct jobs_info *out)
{
    struct store_info info;
    store_info(s, &info);
    out->has_store = true;
    out->commits = info.commits;
    out->operations = info.operations;
    out->store_bytes = info.bytes;
    out->commit_ns = info.commit_ns;
    out->store_error = info.error == STORE_OK ? NULL : store_error_text(info.error);
}

void jobs_info(const struct jobs *jobs, struct jobs_info *out)
{
    *out = (struct jobs_info){.tasks = counter_read(&jobs->shown_tasks),
                              .bytes = counter_read(&jobs->shown_bytes),
                              .submitted = counter_read(&jobs->submitted),
                              .starts = counter_read(&jobs->starts),
                              .retries = counter_read(&jobs->retries),
                              .fenced = counter_read(&jobs->fenced)};
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        out->by_state[i] = counter_read(&jobs->by_state[i]);
    if (jobs->store)
        show_store(jobs->store, out);
}
