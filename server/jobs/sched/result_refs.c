#include "server/jobs/sched/result_refs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "proto/scanner.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/tasks/job_source.h"

enum { PARTS = 8 };

static const char ref_key[] = "$result";

/* --- The walk --- */

static bool may_name(struct span params)
{
    return result_refs_can_be_in(params) &&
           memmem(params.at, params.len, ref_key, sizeof ref_key - 1) != NULL;
}

struct ref_walk {
    struct reader r;
    uint32_t looks; /* values that may still be looked at */
};

static struct ref_walk walk_of(struct span params)
{
    return (struct ref_walk){.r = reader_of(params), .looks = REFS_LOOK};
}

static bool is_ref(struct reader *r)
{
    struct reader at = *r;
    struct span key;
    uint32_t pairs;
    if (!read_map(&at, &pairs) || pairs != 1 || !read_text(&at, &key) || !span_is(key, ref_key))
        return false;
    *r = at;
    return true;
}

static bool pass_head(struct reader *r)
{
    uint32_t count;
    struct span raw;
    return read_map(r, &count) || read_array(r, &count) || read_any(r, &raw);
}

/* The next map of this one key: `before` is what lies between it and the one before, `named` what
 * it names, raw.  False: there is none, or it looked too long; `before` is what is left. */
static bool walk_next_ref(struct ref_walk *w, struct span *before, struct span *named)
{
    const uint8_t *from = w->r.at, *here = from;
    while (!reader_at_end(&w->r) && w->looks > 0) {
        here = w->r.at;
        w->looks--;
        if (is_ref(&w->r)) {
            *before = span_of(from, (size_t)(here - from));
            return read_any(&w->r, named);
        }
        if (!pass_head(&w->r))
            break;
    }
    *before = span_of(from, (size_t)(w->r.end - from));
    return false;
}

static bool id_of(struct span named, uint64_t *id)
{
    struct reader r = reader_of(named);
    struct span text;
    return read_text(&r, &text) && id_parse(text, id);
}

/* --- As it is submitted --- */

static bool comes_after(const struct job_spec *spec, uint64_t id)
{
    for (uint32_t i = 0; i < spec->after_count; i++)
        if (spec->after[i] == id)
            return true;
    return false;
}

static enum ergon_error check_one(const struct job_spec *spec, struct span named, char *text,
                                  size_t size)
{
    char name[ID_TEXT_SIZE];
    uint64_t id;
    if (!id_of(named, &id))
        snprintf(text, size,
                 "{\"$result\": ID} in parameters expects the id of a task, as a string");
    else if (!comes_after(spec, id))
        snprintf(text, size,
                 "the parameters name the result of task %s ({\"$result\": \"%s\"}), so `after` "
                 "has to name that task, too",
                 id_text(id, name), name);
    else
        return ERGON_OK;
    return ERGON_E_BAD_PARAMS;
}

enum ergon_error result_refs_check(const struct job_spec *spec, char *text, size_t size)
{
    if (!may_name(spec->params))
        return ERGON_OK;
    struct ref_walk w = walk_of(spec->params);
    struct span before, named;
    enum ergon_error wrong = ERGON_OK;
    uint32_t count = 0;
    while (wrong == ERGON_OK && count <= REFS_MOST && walk_next_ref(&w, &before, &named)) {
        wrong = check_one(spec, named, text, size);
        count++;
    }
    if (wrong != ERGON_OK || (count <= REFS_MOST && reader_at_end(&w.r)))
        return wrong;
    snprintf(text, size,
             "parameters with \"$result\" in them may name at most %d results, and have at most %d "
             "values; put what is large into one string or binary",
             REFS_MOST, REFS_LOOK);
    return ERGON_E_TOO_LARGE;
}

/* --- What it names is held --- */

/* The next task that the parameters name, and that is there. */
static struct job *next_named(const struct scheduler *s, struct ref_walk *w)
{
    struct span before, named;
    uint64_t id;
    while (walk_next_ref(w, &before, &named)) {
        struct job *on = id_of(named, &id) ? table_find(s->table, id) : NULL;
        if (on)
            return on;
    }
    return NULL;
}

/* False without memory. */
static bool can_be_held(struct scheduler *s, struct job *on)
{
    size_t was = job_bytes(on);
    bool can = job_more(on) != NULL;
    table_weigh(s->table, on, was);
    return can;
}

static enum ergon_error say_memory(const struct job *on, char *text, size_t size)
{
    char name[ID_TEXT_SIZE];
    snprintf(
        text, size,
        "the parameters name the result of task %s, which is kept in memory only, and a durable "
        "task may outlive it; make both durable, or neither",
        id_text(on->id, name));
    return ERGON_E_BAD_PARAMS;
}

/* `only` is set to the task that is named, if that is one and named once; else NULL. */
static enum ergon_error check_named(struct scheduler *s, struct job *job,
                                    const struct dependent *rights, struct job **only, char *text,
                                    size_t size)
{
    struct ref_walk w = walk_of(job_params(job));
    char name[ID_TEXT_SIZE];
    bool first = true;
    *only = NULL;
    for (struct job *on; (on = next_named(s, &w)); first = false) {
        *only = first ? on : NULL;
        if (rights->may_read && !rights->may_read(rights->arg, on)) {
            snprintf(text, size,
                     "the parameters name the result of task %s, which this principal may not "
                     "read: it may not call the method of that task",
                     id_text(on->id, name));
            return ERGON_E_DENIED;
        }
        if (job->durable != DURABLE_NONE && on->durable == DURABLE_NONE)
            return say_memory(on, text, size);
        if (!can_be_held(s, on))
            return ERGON_E_MEMORY;
    }
    return ERGON_OK;
}

enum ergon_error result_refs_check_durable(const struct scheduler *s, const struct job *job,
                                           char *text, size_t size)
{
    struct ref_walk w = walk_of(job_params(job));
    for (struct job *on; job_names_results(job) && (on = next_named(s, &w));)
        if (on->durable == DURABLE_NONE)
            return say_memory(on, text, size);
    return ERGON_OK;
}

bool result_refs_are_in(struct span params)
{
    if (!may_name(params))
        return false;
    struct ref_walk w = walk_of(params);
    struct span before, named;
    uint64_t id;
    return walk_next_ref(&w, &before, &named) && id_of(named, &id);
}

bool result_refs_find(struct scheduler *s, struct job *job)
{
    if (!result_refs_are_in(job_params(job)))
        return true;
    (void)s;
    if (!job_more(job)) /* the job is weighed as it enters the table */
        return false;
    job->more->names_results = true;
    return true;
}

static void count_reader(struct scheduler *s, struct job *on)
{
    if (on->more->readers++ == 0 && kept_has(&on->tenant->kept, on))
        tenant_count_read(s->table, on, true);
}

enum ergon_error result_refs_hold(struct scheduler *s, struct job *job,
                                  const struct dependent *rights, char *text, size_t size)
{
    if (!job_names_results(job))
        return ERGON_OK;
    assert(!job->more->holds_results);
    struct job *only;
    enum ergon_error wrong = check_named(s, job, rights, &only, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    job->more->holds_results = true;
    if (only) {
        count_reader(s, only);
        return ERGON_OK;
    }
    struct ref_walk w = walk_of(job_params(job));
    for (struct job *on; (on = next_named(s, &w));)
        count_reader(s, on);
    return ERGON_OK;
}

static bool is_open(const struct job *job)
{
    return job->state == JOB_NEW || job_state_open((enum job_state)job->state);
}

/* Its time had passed: retention_forget(). */
static void come_to_an_end(struct scheduler *s, struct job *on)
{
    on->due = table_now(s->table);
    job_effect(s->table, on, EFFECT_TIMER);
}

static void let_go(struct scheduler *s, struct job *on)
{
    if (kept_has(&on->tenant->kept, on))
        tenant_count_read(s->table, on, false);
    if (on->due == AO_NEVER && !is_open(on))
        come_to_an_end(s, on);
}

/* The tasks that it holds are there, so the walk finds the same again. */
static void release(struct scheduler *s, struct job *job)
{
    struct ref_walk w = walk_of(job_params(job));
    for (struct job *on; (on = next_named(s, &w));) {
        assert(on->more && on->more->readers > 0);
        if (--on->more->readers == 0)
            let_go(s, on);
    }
    job->more->holds_results = false;
}

void result_refs_let_go(struct scheduler *s, struct job *job)
{
    if (!job_names_results(job))
        return;
    if (job->more->holds_results)
        release(s, job);
}

/* --- As it begins --- */

static enum ergon_error unknown(char *text, size_t size)
{
    snprintf(text, size,
             "a result that its parameters name is not known any more: its task was forgotten");
    return ERGON_E_NOT_FOUND;
}

/* Of one that was named; its task has ended well, or the job would not begin. */
static enum ergon_error result_of(const struct scheduler *s, struct span named, struct span *result,
                                  char *text, size_t size)
{
    uint64_t id = 0;
    const struct job *on = id_of(named, &id) ? table_find(s->table, id) : NULL;
    if (!on || (on->state == JOB_DONE && !on->end))
        return unknown(text, size);
    if (on->state != JOB_DONE) {
        snprintf(text, size, "a task whose result its parameters name was not done");
        return ERGON_E_AFTER;
    }
    if (on->end->cut) {
        snprintf(text, size,
                 "a result that its parameters name was larger than the `keep_size` of its task, "
                 "so it was not kept");
        return ERGON_E_TOO_LARGE;
    }
    *result = blob_bytes(on->end->result);
    return ERGON_OK;
}

/* The first of what the parameters are made of: results, and what lies before each. */
struct parts {
    struct span first[PARTS];
    uint32_t count; /* of all */
};

static void note_part(struct parts *parts, struct span part)
{
    if (parts->count < PARTS)
        parts->first[parts->count] = part;
    parts->count++;
}

/* Passes over the parameters as they are to be; `at` NULL: only their length and `parts` are
 * wanted. */
static enum ergon_error put_all(const struct scheduler *s, const struct job *job, uint8_t *at,
                                uint64_t *len, struct parts *parts, char *text, size_t size)
{
    struct ref_walk w = walk_of(job_params(job));
    struct span before, named;
    enum ergon_error wrong = ERGON_OK;
    bool more;
    *len = 0;
    do {
        struct span result = {0};
        more = walk_next_ref(&w, &before, &named);
        if (more)
            wrong = result_of(s, named, &result, text, size);
        *len += before.len + result.len;
        if (at) {
            span_put(before, &at);
            span_put(result, &at);
        } else {
            note_part(parts, before);
            note_part(parts, result);
        }
    } while (more && wrong == ERGON_OK);
    return wrong;
}

/* A second walk is only made where there are many. */
static void put_parts(const struct scheduler *s, const struct job *job, struct parts *parts,
                      uint8_t *at)
{
    char text[JOB_TEXT_MAX];
    uint64_t len;
    if (parts->count > PARTS) {
        put_all(s, job, at, &len, parts, text, sizeof text);
        return;
    }
    for (uint32_t n = 0; n < parts->count; n++)
        span_put(parts->first[n], &at);
}

static enum ergon_error make_room(const struct scheduler *s, uint64_t len, uint8_t **block,
                                  char *text, size_t size)
{
    uint64_t most = job_source_params_max(s->tasks);
    if (len > most) {
        snprintf(text, size,
                 "with the results that they name its parameters take %" PRIu64
                 " bytes, and a message may have %" PRIu64 " (limits.message)",
                 len, most);
        return ERGON_E_TOO_LARGE;
    }
    *block = malloc(len);
    return *block ? ERGON_OK : ERGON_E_MEMORY;
}

static bool is_too_deep(struct span raw)
{
    const struct scan_limits limits = {.message_max = UINT32_MAX, .depth_max = REFS_DEPTH};
    struct scanner scanner;
    scanner_init(&scanner);
    return scanner_run(&scanner, &limits, raw) == SCAN_TOO_DEEP;
}

enum ergon_error result_refs_fill(struct scheduler *s, struct job *job, char *text, size_t size)
{
    uint64_t len;
    uint8_t *block;
    assert(job_names_results(job));
    if (job->more->filled)
        return ERGON_OK;
    struct parts parts = {.count = 0};
    enum ergon_error wrong = put_all(s, job, NULL, &len, &parts, text, size);
    if (wrong == ERGON_OK)
        wrong = make_room(s, len, &block, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    put_parts(s, job, &parts, block);
    if (is_too_deep(span_of(block, len))) {
        free(block);
        snprintf(text, size,
                 "with the results that they name its parameters have more than %d levels",
                 REFS_DEPTH);
        return ERGON_E_TOO_DEEP;
    }
    size_t was = job_bytes(job);
    job->more->filled = blob_take(block, len);
    if (!job->more->filled)
        free(block);
    table_weigh(s->table, job, was);
    return job->more->filled ? ERGON_OK : ERGON_E_MEMORY;
}

void result_refs_unfill(struct scheduler *s, struct job *job)
{
    if (!job_names_results(job) || !job->more->filled || job->orphans > 0 || job->attempt_task)
        return;
    size_t was = job_bytes(job);
    blob_unref(job->more->filled);
    job->more->filled = NULL;
    table_weigh(s->table, job, was);
}
