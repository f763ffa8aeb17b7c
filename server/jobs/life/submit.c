#include "server/jobs/life/submit.h"

#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/names.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/ending.h"
#include "server/tasks/registry.h"

static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));
static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
    return error;
}

static enum ergon_error no_memory(char *text, size_t size)
{
    return refuse(ERGON_E_MEMORY, text, size, "%s", error_meaning(ERGON_E_MEMORY));
}

/* --- Does it exist already? --- */

static bool find_existing(struct jobs *jobs, const struct job_spec *spec, struct submitted *out)
{
    const struct span everywhere = {0};
    if (spec->key.len > 0)
        out->job = key_find(&jobs->table.keys, spec->tenant, everywhere, spec->key);
    out->duplicate = out->job != NULL;
    if (!out->job && spec->coalesce.len > 0) {
        out->job = key_find(&jobs->table.shared, spec->tenant, spec->method, spec->coalesce);
        out->coalesced = out->job != NULL;
    }
    return out->job != NULL;
}

static enum ergon_error check_store(const struct jobs *jobs, const struct job_spec *spec,
                                    char *text, size_t size)
{
    if (spec->durable == DURABLE_NONE || jobs_store_usable(jobs))
        return ERGON_OK;
    if (!jobs->store)
        return refuse(ERGON_E_STORE, text, size,
                      "this server has no store, so no task can be durable; configure `store`, or "
                      "submit with durable: none");
    return refuse(ERGON_E_STORE, text, size, "%s", store_error_text(jobs->journal.error));
}

static void leave_memory(struct jobs *jobs, struct job *job, const struct job_spec *spec)
{
    table_set_durable(&jobs->table, job, DURABLE_ASYNC);
    job_mark(job, JOB_SUBMITTING | (spec->durable == DURABLE_FSYNC ? JOB_FROM_MEMORY : 0));
    job_effect(&jobs->table, job, EFFECT_HISTORY);
}

/* Makes the job as durable as who joins it wants: fsync when that is on disk, see the journal. */
static enum ergon_error harden(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                               char *text, size_t size)
{
    if (spec->durable <= job->durable || job_is(job, JOB_HARDENING))
        return ERGON_OK;
    enum ergon_error wrong = check_store(jobs, spec, text, size);
    if (wrong == ERGON_OK && job->durable == DURABLE_NONE)
        wrong = dependencies_check_durable(job, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (job->durable == DURABLE_NONE)
        leave_memory(jobs, job, spec);
    if (spec->durable == DURABLE_FSYNC)
        job_mark(job, JOB_HARDENING);
    job_effect(&jobs->table, job, EFFECT_WRITE);
    return ERGON_OK;
}

static ao_time keep_of(ao_time keep)
{
    return keep == SPEC_KEEP_UNSAID ? SPEC_KEEP : keep;
}

/* Who is answered a task that is there already wants it kept as long as one of its own. */
static void keep_for(struct job *job, const struct job_spec *spec)
{
    struct job_more *more = job->more; /* it has a name, so it has these */
    if (!job_is_open(job))
        return;
    if (keep_of(more->keep) < keep_of(spec->keep))
        more->keep = spec->keep;
    if (more->keep_size < spec->keep_size)
        more->keep_size = spec->keep_size;
}

void job_joined(struct jobs *jobs, struct job *job, const struct job_spec *spec, bool coalesced)
{
    keep_for(job, spec);
    if (coalesced && job_is_open(job))
        job_note(&jobs->table, job, JOB_EVENT_JOINED, NULL);
}

static enum ergon_error join(struct jobs *jobs, const struct job_spec *spec, struct submitted *out,
                             char *text, size_t size)
{
    struct job *job = out->job;
    enum ergon_error wrong = harden(jobs, job, spec, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (out->coalesced)
        job->more->waiters++;
    out->hardens = spec->durable == DURABLE_FSYNC && job_is(job, JOB_HARDENING);
    if (!out->hardens)
        job_joined(jobs, job, spec, out->coalesced);
    return ERGON_OK;
}

/* --- May it be taken? --- */

static size_t weight_of(const struct job_spec *spec)
{
    return sizeof(struct job) + spec->params.len + spec->key.len + spec->coalesce.len +
           spec->limit_key.len + spec->rate_key.len;
}

/* What has ended goes before something new is refused. */
static bool make_room(struct jobs *jobs, size_t weight)
{
    while (jobs->table.count >= jobs->options.tasks_max ||
           jobs->table.bytes + weight > jobs->options.bytes_max)
        if (!retention_evict(&jobs->sched))
            return false;
    return true;
}

/* May somebody hold `held`, while so much is `free`?  With a share of 80 %, four times as much as
 * is free: alone he gets 80 % of all, of two each gets four ninths, and whatever the others hold,
 * who comes later finds room. */
static bool is_shared(const struct jobs *jobs, uint64_t held, uint64_t free)
{
    uint32_t share = jobs->options.tenant_share;
    return share == 0 || share >= 100 ||
           (unsigned __int128)held * (100 - share) <= (unsigned __int128)free * share;
}

static uint64_t left_of(uint64_t most, uint64_t taken)
{
    return taken < most ? most - taken : 0;
}

/* What has ended does not count, since it makes room for what is new. */
static enum ergon_error check_share(struct jobs *jobs, const struct job_spec *spec, char *text,
                                    size_t size)
{
    const struct job_table *table = &jobs->table;
    const struct tenant *t = table_tenant_find(&jobs->table, spec->tenant);
    uint64_t weight = weight_of(spec), bytes = t ? t->open_bytes : 0, count = t ? t->open : 0;
    const char *limit =
        !is_shared(jobs, count + 1, left_of(jobs->options.tasks_max, table->open + 1)) ? "tasks.max"
        : !is_shared(jobs, bytes + weight,
                     left_of(jobs->options.bytes_max, table->open_bytes + weight))
            ? "tasks.bytes"
            : NULL;
    if (!limit)
        return ERGON_OK;
    return refuse(ERGON_E_BUSY, text, size,
                  "tenant \"%.*s\" has %" PRIu64 " open tasks of %" PRIu64
                  " bytes, which is its share of %s (tasks.tenant_share: %" PRIu32
                  " %%); let some end, or cancel some",
                  (int)(spec->tenant.len < 64 ? spec->tenant.len : 64),
                  (const char *)spec->tenant.at, count, bytes, limit, jobs->options.tenant_share);
}

/* What is larger than all may be together costs no other task its place. */
static enum ergon_error check_room(struct jobs *jobs, const struct job_spec *spec, char *text,
                                   size_t size)
{
    unsigned long long most = (unsigned long long)jobs->options.bytes_max;
    size_t weight = weight_of(spec);
    if (weight > most)
        return refuse(
            ERGON_E_TOO_LARGE, text, size,
            "the task takes %zu bytes, and all tasks together may take %llu (tasks.bytes)", weight,
            most);
    enum ergon_error wrong = check_share(jobs, spec, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (make_room(jobs, weight))
        return ERGON_OK;
    if (jobs->table.count >= jobs->options.tasks_max)
        return refuse(ERGON_E_BUSY, text, size,
                      "the server holds %llu tasks, and may not hold more (tasks.max); try again "
                      "later",
                      (unsigned long long)jobs->table.count);
    return refuse(
        ERGON_E_BUSY, text, size,
        "the server's tasks take %llu of at most %llu bytes (tasks.bytes); try again later",
        (unsigned long long)jobs->table.bytes, most);
}

static enum ergon_error check(struct jobs *jobs, const struct job_spec *spec, char *text,
                              size_t size)
{
    int len = (int)(spec->method.len < 64 ? spec->method.len : 64);
    const char *name = (const char *)spec->method.at;
    if (jobs->sched.stopping)
        return refuse(ERGON_E_DRAINING, text, size, "%s", error_meaning(ERGON_E_DRAINING));
    struct job_queue *q = table_queue_find(&jobs->table, spec->method);
    const struct method *m = q ? q->method : registry_find(jobs->options.registry, spec->method);
    if (!q && !m)
        return refuse(ERGON_E_NO_METHOD, text, size, "no handler offers \"%.*s\"", len, name);
    if (m && m->no_executor)
        return refuse(ERGON_E_NO_EXECUTOR, text, size,
                      "\"%.*s\" needs a %s executor, and the server has none", len, name,
                      m->handler->kind == ERGON_STEPPED ? "stepped" : "blocking");
    if (q && q->draining)
        return refuse(ERGON_E_DRAINING, text, size,
                      "the queue \"%.*s\" is being drained and takes no new tasks; queue.resume "
                      "opens it",
                      len, name);
    enum ergon_error full = check_room(jobs, spec, text, size);
    return full == ERGON_OK ? check_store(jobs, spec, text, size) : full;
}

/* --- A new one --- */

static void count_in(struct job_table *table, struct job *job, uint64_t one)
{
    table_account(table, job)->submitted += one;
    job->queue->submitted += one;
    counter_add(&table->submitted, one);
}

/* Its limit, its rate and what it comes after, which only a job with extras may have. */
static enum ergon_error hold_back(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                                  char *text, size_t size)
{
    if (!admission_join(&jobs->sched, job, spec))
        return ERGON_E_MEMORY;
    return dependencies_join(&jobs->sched, job, spec, text, size);
}

static enum ergon_error take_new(struct jobs *jobs, const struct job_spec *spec,
                                 struct submitted *out, char *text, size_t size)
{
    struct job_table *table = &jobs->table;
    struct job *job = job_new(table, spec, table->next_id);
    if (!job)
        return no_memory(text, size);
    enum ergon_error wrong = job->more ? hold_back(jobs, job, spec, text, size) : ERGON_OK;
    if (wrong != ERGON_OK) {
        scheduler_forget(&jobs->sched, job);
        job_free(table, job);
        return wrong == ERGON_E_MEMORY ? no_memory(text, size) : wrong;
    }
    table->next_id++;
    table_enter(table, job);
    table_enter_keys(table, job, true);
    count_in(table, job, 1);
    if (job->durable != DURABLE_NONE)
        job_mark(job, JOB_SUBMITTING);
    job_schedule(&jobs->sched, job, false);
    out->job = job;
    return ERGON_OK;
}

enum ergon_error job_submit(struct jobs *jobs, const struct job_spec *spec,
                            const struct submitter *who, struct submitted *out, char *text,
                            size_t size)
{
    *out = (struct submitted){0};
    bool exists = find_existing(jobs, spec, out);
    if (exists && who && !who->may_join(who->arg, out->job))
        return refuse(ERGON_E_DENIED, text, size,
                      "there is a task of this %s already, and it is none that you may submit; "
                      "choose another",
                      out->duplicate ? "key" : "coalesce key");
    if (exists)
        return join(jobs, spec, out, text, size);
    enum ergon_error error = check(jobs, spec, text, size);
    return error == ERGON_OK ? take_new(jobs, spec, out, text, size) : error;
}

/* --- Taken back --- */

void job_take_back(struct jobs *jobs, struct job *job, enum store_error error)
{
    struct job_table *table = &jobs->table;
    table_set_durable(table, job, DURABLE_NONE);
    job_unmark(job, JOB_SUBMITTING | JOB_DIRTY | JOB_ENDING);
    if (job->more)
        key_remove(&table->keys, &job->more->key); /* the same key can be tried again */
    job_end(&jobs->sched, job, JOB_FAILED, "STORE", store_error_text(error));
    table->in_memory.ended[JOB_FAILED]--;
    job->queue->failed--;
    count_in(table, job, (uint64_t)-1);
    job_effect(table, job, EFFECT_FORGET);
}
