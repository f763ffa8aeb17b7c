#include "server/jobs/cron/crons.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/siphash.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"

enum {
    CATCH_UP_MOST = 1000,
    SAVED_AHEAD = 256 /* that are written once more, a try */
};

/* --- Names --- */

static uint64_t hash_of(const struct job_table *table, const struct tenant *tenant,
                        struct span name)
{
    const uint64_t seed[2] = {table->seed[0] ^ (uintptr_t)tenant, table->seed[1]};
    return siphash(seed, name);
}

static struct cron_name *find(const struct crons *all, const struct tenant *tenant,
                              struct span name, uint64_t hash)
{
    struct hash_link *link = hash_first(&all->names, hash);
    for (; link; link = hash_next(link)) {
        struct cron_name *n = (struct cron_name *)link;
        if (n->tenant == tenant && span_equal(n->name, name))
            return n;
    }
    return NULL;
}

struct cron_name *crons_find(const struct jobs *jobs, struct span tenant, struct span name)
{
    struct tenant *t = table_tenant_find(&jobs->table, tenant);
    return t ? find(jobs->crons, t, name, hash_of(&jobs->table, t, name)) : NULL;
}

uint32_t crons_of(const struct jobs *jobs, struct span tenant)
{
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    return t ? t->crons : 0;
}

static struct cron_name *make(struct crons *all, struct tenant *tenant, struct span name,
                              uint64_t hash)
{
    struct cron_name *n = calloc(1, sizeof *n + name.len);
    if (!n)
        return NULL;
    if (name.len > 0)
        memcpy(n + 1, name.at, name.len);
    n->name = span_of(n + 1, name.len);
    n->tenant = tenant;
    n->link.hash = hash;
    hash_add(&all->names, &n->link);
    counter_add(&all->count, 1);
    tenant->crons++;
    tenant->jobs++;
    return n;
}

bool crons_name(struct jobs *jobs, struct cron *c)
{
    struct tenant *tenant = table_tenant(&jobs->table, c->spec.task.tenant);
    if (!tenant)
        return false;
    uint64_t hash = hash_of(&jobs->table, tenant, c->spec.name);
    struct cron_name *n = find(jobs->crons, tenant, c->spec.name, hash);
    if (!n)
        n = make(jobs->crons, tenant, c->spec.name, hash);
    if (!n)
        return false;
    n->crons++;
    c->named = n;
    table_weigh_other(&jobs->table, tenant, 0, c->bytes);
    return true;
}

static void unname(struct jobs *jobs, struct cron *c)
{
    struct cron_name *n = c->named;
    assert(n && n->crons > 0);
    struct tenant *tenant = n->tenant;
    c->named = NULL;
    table_weigh_other(&jobs->table, tenant, c->bytes, 0);
    if (--n->crons > 0)
        return;
    assert(!n->placed && !n->arriving);
    hash_remove(&jobs->crons->names, &n->link);
    free(n);
    counter_add(&jobs->crons->count, (uint64_t)-1);
    tenant->crons--;
    table_tenant_unref(&jobs->table, tenant);
}

void crons_refuse(struct jobs *jobs, struct cron *c)
{
    if (c->named)
        unname(jobs, c);
    ao_fini(&c->timer);
    cron_drop(c);
}

/* --- On their way --- */

void crons_arrive(struct cron *c)
{
    c->next = c->named->arriving;
    c->named->arriving = c;
}

void crons_arrived(struct cron *c)
{
    struct cron **at = &c->named->arriving;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = NULL;
}

/* --- In place --- */

/* A walk whose next cron this is goes on behind it. */
static void take_out(struct crons *all, struct cron *c)
{
    for (struct cron_walk *w = all->walks; w; w = w->next)
        if (w->at == c)
            w->at = c->next;
    *(c->prev ? &c->prev->next : &all->first) = c->next;
    *(c->next ? &c->next->prev : &all->last) = c->prev;
    c->prev = c->next = NULL;
    c->named->placed = NULL;
    if (c->unsaved)
        LIST_REMOVE(c, by_unsaved);
    c->unsaved = false;
}

void crons_unlink(struct jobs *jobs, struct cron *c)
{
    take_out(jobs->crons, c);
    unname(jobs, c);
    ao_retire(&c->timer); /* frees it, when nothing else refers to it */
}

void crons_link(struct jobs *jobs, struct cron *c)
{
    struct crons *all = jobs->crons;
    struct cron *before = c->named->placed;
    c->prev = before ? before : all->last;
    c->next = before ? before->next : NULL;
    *(c->prev ? &c->prev->next : &all->first) = c;
    *(c->next ? &c->next->prev : &all->last) = c;
    if (before)
        crons_unlink(jobs, before);
    c->named->placed = c;
}

void crons_walk_begin(struct crons *all, struct cron_walk *walk)
{
    *walk = (struct cron_walk){.next = all->walks, .at = all->first};
    all->walks = walk;
}

struct cron *crons_walk_next(struct cron_walk *walk)
{
    struct cron *c = walk->at;
    if (c)
        walk->at = c->next;
    return c;
}

void crons_walk_end(struct crons *all, struct cron_walk *walk)
{
    struct cron_walk **at = &all->walks;
    while (*at != walk)
        at = &(*at)->next;
    *at = walk->next;
}

/* --- The clock --- */

static void leapt(struct jobs *jobs, int64_t by)
{
    uint64_t now = table_wall(&jobs->table);
    for (struct cron *c = jobs->crons->first; c; c = c->next) {
        if (ao_current() == &c->timer || ao_state(&c->timer) != AO_STATE_SLEEPING)
            continue; /* it looks at the clock itself */
        ao_deactivate(&c->timer);
        if (by < 0)
            cron_plan(jobs, c); /* times come that have been before */
        else if (c->spec.catch_up == CRON_CATCH_NONE && cron_missed(c, c->state.next_at, now))
            cron_wait_for(jobs, c, c->state.next_at);
        cron_save(jobs, c);
        cron_arm(jobs, c);
    }
}

/* --- Written once more --- */

/* While the store fails only one is tried. */
static bool save(struct jobs *jobs)
{
    struct crons *all = jobs->crons;
    bool any = !LIST_EMPTY(&all->unsaved);
    for (int left = jobs_store_usable(jobs) ? SAVED_AHEAD : 1;
         left > 0 && !LIST_EMPTY(&all->unsaved); left--)
        cron_save(jobs, LIST_FIRST(&all->unsaved));
    return any;
}

static void flush(struct jobs *jobs)
{
    struct cron *next;
    for (struct cron *c = LIST_FIRST(&jobs->crons->unsaved); c; c = next) {
        next = LIST_NEXT(c, by_unsaved);
        cron_save(jobs, c);
    }
}

static void task_lost(struct jobs *jobs, const struct job *job)
{
    struct span name;
    uint64_t at;
    if (!cron_read_key(job->more->key.name, &name, &at))
        return;
    const struct cron_name *n =
        find(jobs->crons, job->tenant, name, hash_of(&jobs->table, job->tenant, name));
    if (n && n->placed && n->placed->state.fired > 0)
        cron_take_back(jobs, n->placed, at, (enum store_error)job->save_error);
}

/* --- After a start --- */

/* A row that cannot be used stays in the store as it is, and the log says why, unless a newer
 * server wrote it. */
static bool take_up(struct jobs *jobs, const struct store_cron *row)
{
    struct cron_spec spec = {
        .name = row->name, .schedule = row->schedule, .zone = row->zone, .made_by = row->made_by};
    enum ergon_error error;
    char text[JOB_TEXT_MAX];
    job_spec_init(&spec.task);
    spec.task.method = row->method;
    spec.task.params = row->params;
    spec.task.tenant = row->tenant;
    spec.task.durable = jobs->options.default_durable; /* unless its options say otherwise */
    if (row->options.len > 0 && !jobs->options.read_cron_options(row->options, &spec))
        return true; /* of a newer server: left in the store as it is */
    /* It has a row: so it is that of a message, which is as durable as its actor. */
    if (spec.task.durable == DURABLE_NONE)
        spec.task.durable = jobs->options.default_durable;
    struct cron *c = cron_new(jobs, &spec, &error, text, sizeof text);
    if (!c) {
        log_error("a cron of the store cannot be used", LOG_STR("why", text));
        return error != ERGON_E_MEMORY;
    }
    if (!crons_name(jobs, c)) {
        crons_refuse(jobs, c);
        return false;
    }
    c->state = (struct cron_state){.next_at = row->next_at,
                                   .last_at = row->last_at,
                                   .last_task = row->last_task,
                                   .paused = row->paused != 0};
    crons_link(jobs, c);
    return true;
}

static unsigned most_to_catch_up(const struct cron *c)
{
    static const unsigned most[] = {
        [CRON_CATCH_NONE] = 0, [CRON_CATCH_ONE] = 1, [CRON_CATCH_ALL] = CATCH_UP_MOST};

    return most[c->spec.catch_up];
}

/* What was missed while the server was down. */
static void catch_up(struct jobs *jobs, struct cron *c)
{
    uint64_t now = table_wall(&jobs->table), at;

    cron_plan(jobs, c);
    at = c->state.next_at;
    if (c->state.paused || at == 0 || at >= now)
        return;
    for (unsigned left = most_to_catch_up(c);
         left > 0 && cron_missed(c, at, now) && cron_fire(jobs, c, at); left--)
        at = cron_next_after(c, at);
    if (c->state.error == ERGON_OK)
        cron_wait_for(jobs, c, at);
    else
        c->state.next_at = at; /* tried again, also after a start with its module, or an executor */
    cron_save(jobs, c);
}

static void start(struct jobs *jobs)
{
    for (struct cron *c = jobs->crons->first; c; c = c->next) {
        catch_up(jobs, c);
        cron_arm(jobs, c);
    }
}

/* --- The subsystem --- */

static bool init(struct jobs *jobs, char *error, size_t size)
{
    (void)error;
    (void)size;
    jobs->crons = calloc(1, sizeof *jobs->crons);
    if (jobs->crons)
        hash_table_init(&jobs->crons->names);
    return jobs->crons != NULL;
}

static void fini(struct jobs *jobs)
{
    struct crons *all = jobs->crons;
    struct cron *c;
    while (all && (c = all->first)) {
        take_out(all, c);
        unname(jobs, c);
        ao_deactivate(&c->timer);
        ao_fini(&c->timer);
        c->refs = 1;
        cron_drop(c);
    }
    if (all)
        hash_table_fini(&all->names);
    free(all);
}

static bool recover(struct jobs *jobs, const void *row, const char **fault)
{
    *fault = row_check_cron(row);
    return !*fault && take_up(jobs, row);
}

static const struct subsystem_rows rows[] = {{&store_crons, recover}};

static bool follows_wall(const struct jobs *jobs)
{
    return counter_read(&jobs->crons->count) > 0;
}

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    out->crons = counter_read(&jobs->crons->count);
    histogram_read(&jobs->crons->late, &out->cron_late);
}

static const struct figure figures[] = {
    {"crons", FIGURE_AT(struct jobs_info, crons), NULL, "ergon_crons", false, NULL, "Crons."},
};

const struct subsystem subsystem_crons = {.init = init,
                                          .fini = fini,
                                          .rows = rows,
                                          .row_tables = sizeof rows / sizeof *rows,
                                          .start = start,
                                          .save = save,
                                          .flush = flush,
                                          .follows_wall = follows_wall,
                                          .clock_leapt = leapt,
                                          .task_lost = task_lost,
                                          .show = show,
                                          .figures = figures,
                                          .figure_count = sizeof figures / sizeof *figures};
