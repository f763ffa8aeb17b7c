#include "server/jobs/sched/dependencies.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/ids.h"

/* Room for all that it may wait for, as its spec says; NULL without memory. */
static struct dependencies *edges_of(struct job_more *more)
{
    if (more->after)
        return more->after;
    uint32_t room = more->after_count + more->after_any_count;
    struct dependencies *after = malloc(sizeof *after + room * sizeof after->of[0]);
    if (!after)
        return NULL;
    *after = (struct dependencies){.room = room};
    return more->after = after;
}

/* At the end, so that they go on in the order in which they came. */
static void link_on(struct dependency **first, struct dependency *edge)
{
    if (*first) {
        edge->prev_on = (*first)->prev_on;
        edge->prev_on->next_on = edge;
    } else {
        *first = edge;
    }
    (*first)->prev_on = edge;
}

static bool link_one(struct job *job, struct job *on, bool any)
{
    struct job_more *of = job_more(on);
    struct dependencies *after = of ? edges_of(job->more) : NULL;
    if (!after)
        return false;
    assert(after->count < after->room && on->id < job->id); /* so there is no circle */
    struct dependency *edge = &after->of[after->count++];
    *edge = (struct dependency){.waits = job, .on = on, .any = any};
    after->open++;
    link_on(&of->dependents, edge);
    return true;
}

static void unlink_on(struct dependency *edge)
{
    struct dependency **first = &edge->on->more->dependents;
    if (edge->next_on)
        edge->next_on->prev_on = edge->prev_on;
    else
        (*first)->prev_on = edge->prev_on;
    if (*first == edge)
        *first = edge->next_on;
    else
        edge->prev_on->next_on = edge->next_on;
    edge->on = NULL;
}

static void free_edges(struct job_more *more)
{
    free(more->after);
    more->after = NULL;
}

struct dependency *dependency_behind(const struct job *job, const struct dependency *behind)
{
    struct dependencies *after = job->more ? job->more->after : NULL;
    uint32_t i = behind ? (uint32_t)(behind - after->of) + 1 : 0;
    while (after && i < after->count && !after->of[i].on)
        i++;
    return after && i < after->count ? &after->of[i] : NULL;
}

static bool is_open(const struct job *job)
{
    return job->state == JOB_NEW || job_state_open((enum job_state)job->state);
}

static enum ergon_error unknown(uint64_t id, bool any, char *text, size_t size)
{
    char name[ID_TEXT_SIZE];
    snprintf(text, size, "%s: no task %s: it never existed, or was forgotten",
             any ? "after_any" : "after", id_text(id, name));
    return ERGON_E_NOT_FOUND;
}

enum ergon_error dependencies_link(struct scheduler *s, struct job *job, uint64_t id, bool any,
                                   char *text, size_t size)
{
    char name[ID_TEXT_SIZE];
    struct job *on = table_find(s->table, id);
    if (!on)
        return unknown(id, any, text, size);
    if (!is_open(on)) {
        if (on->state != JOB_DONE && !any && job->more->after_failed == 0)
            job->more->after_failed = on->id;
        return ERGON_OK;
    }
    if (job->durable != DURABLE_NONE && on->durable == DURABLE_NONE) {
        snprintf(text, size,
                 "%s: task %s is kept in memory only, and a durable one would not know how it "
                 "ended; make both durable, or neither",
                 any ? "after_any" : "after", id_text(id, name));
        return ERGON_E_BAD_PARAMS;
    }
    size_t was = job_bytes(on);
    bool linked = link_one(job, on, any);
    table_weigh(s->table, on, was); /* it may have grown by its `more` alone */
    return linked ? ERGON_OK : ERGON_E_MEMORY;
}

static enum ergon_error join(struct scheduler *s, struct job *job, const struct job_spec *spec,
                             const struct dependent *rights, bool any, char *text, size_t size)
{
    const uint64_t *ids = any ? spec->after_any : spec->after;
    uint32_t count = any ? spec->after_any_count : spec->after_count;
    enum ergon_error wrong = ERGON_OK;
    for (uint32_t i = 0; i < count && wrong == ERGON_OK; i++) {
        const struct job *on = table_find(s->table, ids[i]);
        bool hidden = on && rights->may_wait && !rights->may_wait(rights->arg, job, on);
        wrong = hidden ? unknown(ids[i], any, text, size)
                       : dependencies_link(s, job, ids[i], any, text, size);
    }
    return wrong;
}

enum ergon_error dependencies_join(struct scheduler *s, struct job *job,
                                   const struct job_spec *spec, const struct dependent *rights,
                                   char *text, size_t size)
{
    enum ergon_error wrong = join(s, job, spec, rights, false, text, size);
    return wrong == ERGON_OK ? join(s, job, spec, rights, true, text, size) : wrong;
}

static struct span key_of(const struct job *job)
{
    return job->more ? job->more->key.name : (struct span){0};
}

/* Rights go by tenant, queue and key: a principal that may know the one job may know the other.
 * The text is kept with the job, for all its readers, so only then does it name another. */
static bool may_name(const struct job *job, const struct job *on)
{
    return on && on->tenant == job->tenant && on->queue == job->queue &&
           span_equal(key_of(on), key_of(job));
}

enum { NAME_SIZE = sizeof "task " + ID_TEXT_SIZE };

static const char *name_of(const struct job *job, const struct job *on, char buf[static NAME_SIZE])
{
    char id[ID_TEXT_SIZE];

    if (!may_name(job, on))
        return "a task";
    snprintf(buf, NAME_SIZE, "task %s", id_text(on->id, id));
    return buf;
}

enum ergon_error dependencies_check_durable(const struct job *job, char *text, size_t size)
{
    char id[ID_TEXT_SIZE], on[NAME_SIZE];
    for (const struct dependency *edge = NULL; (edge = dependency_behind(job, edge));)
        if (edge->on->durable == DURABLE_NONE) {
            snprintf(text, size,
                     "task %s, which is there already, cannot become durable, since it waits for "
                     "%s, which is kept in memory only",
                     id_text(job->id, id), name_of(job, edge->on, on));
            return ERGON_E_BAD_PARAMS;
        }
    return ERGON_OK;
}

/* --- What was waited for has ended --- */

static void release(struct scheduler *s, struct job *on, struct dependency *edge)
{
    struct job *waits = edge->waits;
    assert(waits->more->after && waits->more->after->open > 0);
    if (on->state != JOB_DONE && !edge->any && waits->more->after_failed == 0)
        waits->more->after_failed = on->id;
    unlink_on(edge);
    if (--waits->more->after->open == 0) {
        size_t was = job_bytes(waits);
        free_edges(waits->more);
        table_weigh(s->table, waits, was);
    }
    if ((!waits->more->after || waits->more->after_failed) && !waits->list && job_is_open(waits))
        job_list_push(&s->released, waits);
}

/* In small steps: a hundred thousand may wait for one task, and whole chains may end with it. */
void dependencies_ended(struct scheduler *s, struct job *job)
{
    if (!job->more || !job->more->dependents)
        return;
    assert(!job->more->releasing);
    job->more->releasing = true;
    job->more->next_releasing = NULL;
    *(s->releasing ? &s->releasing_last->more->next_releasing : &s->releasing) = job;
    s->releasing_last = job;
    ao_activate(s->ao);
}

static void leave_releasing(struct scheduler *s, struct job *job)
{
    struct job **link = &s->releasing, *before = NULL;
    for (; *link != job; link = &before->more->next_releasing)
        before = *link;
    *link = job->more->next_releasing;
    if (s->releasing_last == job)
        s->releasing_last = before;
    job->more->releasing = false;
}

/* At once: the job is about to be open again, and jobs that will wait for it then must not be mixed
 * up with these; or it is about to be forgotten. */
void dependencies_finish(struct scheduler *s, struct job *job)
{
    if (!job->more || !job->more->releasing)
        return;
    while (job->more->dependents)
        release(s, job, job->more->dependents);
    leave_releasing(s, job);
}

bool dependencies_release(struct scheduler *s, int budget)
{
    struct job *job;
    for (; (job = s->releasing) && budget > 0; budget--)
        if (job->more->dependents)
            release(s, job, job->more->dependents);
        else
            leave_releasing(s, job);
    return !job;
}

static void drop_edges(struct job *job)
{
    for (struct dependency *edge = NULL; (edge = dependency_behind(job, edge));)
        unlink_on(edge);
    if (job->more)
        free_edges(job->more);
}

void dependencies_unlink(struct scheduler *s, struct job *job)
{
    if (!job->more || !job->more->after)
        return;
    size_t was = job_bytes(job);
    drop_edges(job);
    table_weigh(s->table, job, was);
}

/* The bytes of the job do not count any more, or never did: nothing is weighed. */
void dependencies_forget(struct job *job)
{
    struct dependency *edge;
    drop_edges(job);
    while (job->more && (edge = job->more->dependents)) {
        unlink_on(edge);
        if (--edge->waits->more->after->open == 0)
            free_edges(edge->waits->more);
    }
}

static const char *how_it_ended(const struct job *on)
{
    if (on && on->state == JOB_CANCELLED)
        return "was cancelled";
    if (on && on->state == JOB_DEAD)
        return "is dead";
    return on && !is_open(on) ? job_state_names[on->state] : "ended otherwise";
}

/* A job that is run again by hand must not fail for the same reason, now or after a restart. */
void dependencies_settle(struct scheduler *s, struct job *job)
{
    struct job_more *more = job->more;
    size_t was = job_bytes(job);
    if (!more || !more->after_ids)
        return;
    free(more->after_ids);
    more->after_ids = NULL;
    more->after_count = more->after_any_count = 0;
    more->after_failed = 0;
    more->settled = true;
    table_weigh(s->table, job, was);
}

void dependencies_say(const struct scheduler *s, const struct job *job, char *text, size_t size)
{
    const struct job *on = table_find(s->table, job->more->after_failed);
    char name[NAME_SIZE];
    snprintf(text, size, "%s, which had to be done first, %s", name_of(job, on, name),
             how_it_ended(on));
}
