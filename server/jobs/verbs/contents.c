#include "server/jobs/verbs/contents.h"

#include <stdlib.h>

#include "proto/job_options.h"
#include "server/jobs/core/message.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/table.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/sched/lines.h"

/* See jobs_worked(): a piece is about 100 ns. */
enum {
    PIECE_NS = 100,
    COPIED_A_PIECE = 256, /* bytes of new memory that are written */
    OPTIONS_WORK = 8,
    BYTES_A_VISIT = 4096 /* looked at by a search */
};

static const char *why_hidden(bool secret, unsigned sees)
{
    if (secret)
        return "secret";
    return sees & SEES_CONTENTS ? NULL : "denied";
}

const char *contents_hidden(const struct operation *op, const struct job *job)
{
    return why_hidden(job->queue->secret, operation_sees(op, job));
}

const char *contents_hidden_in(const struct operation *op, const struct job_queue *queue,
                               const struct rights_object *object)
{
    return why_hidden(queue && queue->secret, operation_sees_object(op, object));
}

/* --- Options --- */

struct options {
    struct pack pack;
    uint32_t pairs;
};

static void add_number(struct options *o, const char *name, uint64_t v)
{
    pack_key_uint(&o->pack, name, v);
    o->pairs++;
}

static void add_duration(struct options *o, const char *name, ao_time ns)
{
    add_number(o, name, ns / AO_MS(1) + (ns % AO_MS(1) > 0));
}

static void add_name(struct options *o, const char *name, struct span text)
{
    if (text.len == 0)
        return;
    pack_key_span(&o->pack, name, text);
    o->pairs++;
}

static void add_policy(struct options *o, const struct job_policy *policy)
{
#define X(name, c, kind, column, comment, unsaid)                                                  \
    if (policy->name != (unsaid) && job_options[JOB_OPTION_##name].type == JOB_OPTION_DURATION)    \
        add_duration(o, #name, policy->name);                                                      \
    else if (policy->name != (unsaid))                                                             \
        add_number(o, #name, policy->name);
    JOB_POLICY(X)
#undef X
}

static void add_limit(struct options *o, const struct job_more *more)
{
    const struct line *line = more->claim.line;
    bool takes = more->claim.want > 1;

    if (!line || !line->limit)
        return;
    pack_str(&o->pack, "limit");
    pack_map(&o->pack, 2u + takes);
    pack_key_span(&o->pack, "key", line->limit->key.name);
    pack_key_uint(&o->pack, "max", more->limit_max);
    if (takes)
        pack_key_uint(&o->pack, "take", more->claim.want);
    o->pairs++;
}

static void add_rate(struct options *o, const struct job_more *more)
{
    const struct line *line = more->claim.line;

    if (!line || !line->rate)
        return;
    pack_str(&o->pack, "rate");
    pack_map(&o->pack, 3);
    pack_key_span(&o->pack, "key", line->rate->key.name);
    pack_key_uint(&o->pack, "max", more->rate);
    pack_key_uint(&o->pack, "per", (more->rate_per + AO_MS(1) - 1) / AO_MS(1));
    o->pairs++;
}

/* The next of its `after`, or `after_any`, that is known and may be named, from *at on; NULL: that
 * was all. */
static const struct job *next_after(struct jobs *jobs, const struct operation *op,
                                    const struct job *job, bool any, uint32_t *at)
{
    const struct job_more *more = job->more;
    uint32_t end = any ? more->after_count + more->after_any_count : more->after_count;

    if (*at == 0 && any)
        *at = more->after_count;
    while (more->after_ids && *at < end) {
        const struct job *on = table_find(jobs_table(jobs), more->after_ids[(*at)++]);
        jobs_worked(jobs, 1);
        if (on && operation_may_name(op, job, on))
            return on;
    }
    return NULL;
}

static void add_ids(struct options *o, struct jobs *jobs, const struct operation *op,
                    const struct job *job, bool any)
{
    const struct job *on;
    uint32_t count = 0, at = 0;
    char text[ID_TEXT_SIZE];

    while (next_after(jobs, op, job, any, &at))
        count++;
    if (count == 0)
        return;
    pack_str(&o->pack, any ? "after_any" : "after");
    pack_array(&o->pack, count);
    for (at = 0; (on = next_after(jobs, op, job, any, &at));)
        pack_str(&o->pack, id_text(on->id, text));
    o->pairs++;
}

static void add_more(struct options *o, struct jobs *jobs, const struct operation *op,
                     const struct job *job)
{
    const struct job_more *more = job->more;

    add_policy(o, &more->policy);
    add_name(o, "key", more->key.name);
    add_name(o, "coalesce", more->coalesce.name);
    add_limit(o, more);
    add_rate(o, more);
    add_ids(o, jobs, op, job, false);
    add_ids(o, jobs, op, job, true);
}

/* As task.submit takes them, without those that are as by default for this caller, and without the
 * trace of the submitter. */
static void pack_options(struct jobs *jobs, const struct operation *op, const struct job *job,
                         struct pack *p)
{
    struct options o = {.pairs = 0};
    uint64_t deadline = job->deadline_at > job->created ? job->deadline_at - job->created : 0;

    jobs_worked(jobs, OPTIONS_WORK);
    pack_init(&o.pack);
    if (job->durable != DURABLE_ASYNC) {
        pack_key_str(&o.pack, "durable", job_durable_names[job->durable]);
        o.pairs++;
    }
    if (job->priority != SPEC_PRIORITY)
        add_number(&o, "priority", job->priority);
    if (job->timeout != AO_NEVER)
        add_duration(&o, "timeout", job->timeout);
    if (job->deadline_at > 0)
        add_duration(&o, "deadline", deadline);
    if (job->retries > 0)
        add_number(&o, "retries", job->retries);
    if (job->is_message)
        add_name(&o, "actor", message_actor(job));
    if (!span_equal(job->tenant->name, op->tenant))
        add_name(&o, "tenant", job->tenant->name);
    if (job->state == JOB_DELAYED && job->reason == JOB_WHY_DELAY)
        add_number(&o, "at", table_wall_of(jobs_table(jobs), job->due) / AO_MS(1));
    if (job->more)
        add_more(&o, jobs, op, job);
    pack_str(p, "options");
    pack_map(p, o.pairs);
    pack_raw(p, pack_bytes(&o.pack));
    p->failed |= o.pack.failed;
    pack_fini(&o.pack);
}

/* --- Parameters --- */

static void pack_text(struct jobs *jobs, const struct job *job, bool hidden, struct pack *p)
{
    char text[DISPLAY_MAX];
    uint32_t work = 0;

    pack_str(p, "params_text");
    if (hidden) {
        pack_nil(p);
        return;
    }
    size_t len = display_value(job_params(job), text, &work);
    pack_span(p, span_of(text, len));
    jobs_worked(jobs, work / PIECE_NS);
}

static bool are_long(const struct job *job)
{
    return job->params_len > CONTENTS_AT_ONCE;
}

bool contents_are_long(const struct operation *op, const struct job *job)
{
    return are_long(job) && !contents_hidden(op, job);
}

static void pack_params(struct jobs *jobs, const struct job *job, bool hidden, struct pack *p)
{
    pack_str(p, "params");
    if (hidden) {
        pack_nil(p);
    } else if (!are_long(job)) {
        pack_raw(p, job_params(job));
        jobs_worked(jobs, job->params_len / COPIED_A_PIECE);
    }
}

unsigned contents_pairs(unsigned parts)
{
    unsigned text = (parts & VIEW_PARAMS_TEXT) != 0, value = (parts & VIEW_PARAMS) != 0;

    return text + value + (text | value ? 2 : 0) + (parts & VIEW_OPTIONS ? 1 : 0);
}

void contents_pack(struct jobs *jobs, const struct operation *op, const struct job *job,
                   unsigned parts, struct pack *p)
{
    if (parts & VIEW_OPTIONS)
        pack_options(jobs, op, job, p);
    if (!(parts & (VIEW_PARAMS_TEXT | VIEW_PARAMS)))
        return;
    const char *hidden = contents_hidden(op, job);
    pack_key_uint(p, "params_size", job->params_len);
    pack_key_str(p, "params_hidden", hidden);
    if (parts & VIEW_PARAMS_TEXT)
        pack_text(jobs, job, hidden != NULL, p);
    if (parts & VIEW_PARAMS)
        pack_params(jobs, job, hidden != NULL, p);
}

/* --- Long parameters --- */

static bool give(struct contents_copy *copy, size_t len, struct pack *p)
{
    struct blob *blob = copy->at ? blob_take(copy->at, len) : NULL;

    if (!blob) {
        p->failed = true;
        return true;
    }
    copy->at = NULL;
    pack_blob(p, blob);
    blob_unref(blob);
    return true;
}

bool contents_copy(struct jobs *jobs, const struct job *job, struct contents_copy *copy,
                   struct pack *p)
{
    size_t left = job->params_len - copy->done;
    size_t len = left < CONTENTS_AT_ONCE ? left : CONTENTS_AT_ONCE;

    if (!copy->at)
        copy->at = malloc(job->params_len);
    if (!copy->at)
        return give(copy, 0, p);
    memcpy(copy->at + copy->done, job->body + copy->done, len);
    copy->done += len;
    jobs_worked(jobs, len / COPIED_A_PIECE);
    return len == left && give(copy, copy->done, p);
}

/* --- Search --- */

enum search_outcome contents_find(struct jobs *jobs, const struct operation *op,
                                  const struct job *job, struct contents_search *s,
                                  uint32_t *visits)
{
    int64_t before = (int64_t)TURN_WORK * PIECE_NS, left = before;

    if (contents_hidden(op, job))
        return SEARCH_NO;
    if (s->id != job->id) {
        s->id = job->id;
        s->place = (struct search_place){0};
    }
    enum search_outcome outcome = search_value(&s->is, job_params(job), &s->place, &left);
    if (outcome != SEARCH_MORE)
        *visits += (uint32_t)(s->place.at / BYTES_A_VISIT);
    jobs_worked(jobs, (size_t)((before - left) / PIECE_NS));
    return outcome;
}
