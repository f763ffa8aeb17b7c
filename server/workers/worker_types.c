/* The types of actors of a registration: {TYPE: {schema, reads, idle, ...}}. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "server/rpc/spec_options.h"
#include "server/workers/workers.h"

/* One type while it is read. */
struct reading {
    struct rpc_request *rq;
    struct worker *worker;
    struct worker_type *type;
    struct span reads; /* raw array; empty: none */
};

static bool read_within(struct reader *r, uint32_t *out, uint64_t least, uint64_t most)
{
    struct reader before = *r;
    uint64_t n;

    if (read_uint(r, &n) && n >= least && n <= most) {
        *out = (uint32_t)n;
        return true;
    }
    *r = before;
    return false;
}

static bool read_count(struct reader *r, void *out)
{
    return read_within(r, out, 0, UINT32_MAX);
}

static bool read_messages(struct reader *r, void *out)
{
    return read_within(r, out, 1, ACTOR_MESSAGES_MAX);
}

static bool read_positive(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns > 0;
}

static bool read_bytes(struct reader *r, void *out)
{
    uint64_t bytes;
    bool good = read_size(r, &bytes) && bytes >= 1 && bytes <= UINT32_MAX;
    if (good)
        *(uint32_t *)out = (uint32_t)bytes;
    return good;
}

static bool read_state(struct reader *r, void *out)
{
    return read_bytes(r, out) && *(uint32_t *)out <= ACTOR_STATE_MOST;
}

static bool read_durable(struct reader *r, void *out)
{
    uint8_t *durable = out;
    struct span level;
    bool good = read_text(r, &level) && (span_is(level, "none") || span_is(level, "fsync"));
    if (good)
        *durable = span_is(level, "none") ? ACTOR_DURABLE_NONE : ACTOR_DURABLE_FSYNC;
    return good;
}

static bool read_pipeline(struct reader *r, void *out)
{
    bool pipeline;
    uint8_t *to = out;
    if (!read_bool(r, &pipeline))
        return false;
    *to = pipeline;
    return true;
}

static bool read_on_failure(struct reader *r, void *out)
{
    struct span name;
    uint8_t *what = out;
    if (!read_text(r, &name))
        return false;
    for (*what = ACTOR_RESETS; *what != ACTOR_SKIPS; --*what)
        if (span_is(name, actor_on_failure_name(*what)))
            return true;
    return span_is(name, actor_on_failure_name(ACTOR_SKIPS));
}

static bool read_intensity(struct reader *r, void *out)
{
    return read_within(r, out, 0, ACTOR_INTENSITY_MAX);
}

static bool read_supervisor(struct reader *r, void *out)
{
    struct span name;
    if (!read_text(r, &name) || !utf8_is_name(name, ACTOR_NAME_MAX) ||
        actor_type_of_name(name).len == 0)
        return false;
    memcpy(out, name.at, name.len); /* the rest of it is zero */
    return true;
}

static bool read_names(struct reader *r, void *out)
{
    struct reader before = *r;
    uint32_t count;
    if (!read_array(r, &count))
        return false;
    *r = before;
    return read_any(r, out);
}

static bool read_policy(struct reading *g, struct reader *r)
{
    struct actor_policy *p = &g->type->policy;
    const struct option options[] = {
        {"schema", read_count, &p->schema, "a number"},
        {"reads", read_names, &g->reads, "an array of names of its methods, without the type"},
        {"durable", read_durable, &p->durable, "\"none\" or \"fsync\""},
        {"pipeline", read_pipeline, &p->pipeline, "true or false"},
        {"idle", read_positive, &p->idle, "a duration, more than 0"},
        {"retries", read_count, &p->retries, "a number"},
        {"call_retries", read_count, &p->call_retries, "a number"},
        {"backoff", option_duration, &p->backoff, "a duration"},
        {"backoff_max", option_duration, &p->backoff_max, "a duration"},
        {"timeout", read_positive, &p->timeout, "a duration, more than 0"},
        {"messages", read_messages, &p->messages, "a number from 1 to 100000"},
        {"mailbox", read_bytes, &p->mailbox, "a size: bytes, or text such as \"64k\""},
        {"state", read_state, &p->state, "a size of at most 1 MiB"},
        {"on_failure", read_on_failure, &p->on_failure, "\"skip\", \"stop\" or \"reset\""},
        {"intensity", read_intensity, &p->intensity, "a number from 0 to 1000"},
        {"window", read_positive, &p->window, "a duration, more than 0"},
        {"supervisor", read_supervisor, p->supervisor, "a name TYPE/KEY"},
    };
    return rpc_read_options(g->rq, r, options, sizeof options / sizeof *options);
}

/* The part of its name behind the type. */
static struct span short_name(const struct reading *g, struct span method)
{
    return span_behind(method, g->type->type.len + 1);
}

static bool is_named(struct span raw, struct span name)
{
    struct reader r = reader_of(raw);
    struct span one;
    uint32_t count = 0;
    if (raw.len > 0)
        read_array(&r, &count);
    for (; count > 0 && read_text(&r, &one); count--)
        if (span_equal(one, name))
            return true;
    return false;
}

/* Returns how many of its methods the registration has. */
static uint32_t mark_methods(struct reading *g)
{
    struct worker *w = g->worker;
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        if (!span_equal(actor_type_of_method(w->methods[i]), g->type->type))
            continue;
        struct span name = short_name(g, w->methods[i]);
        w->of_actors[i] = (uint8_t)(ACTOR_METHOD | (is_named(g->reads, name) ? ACTOR_READS : 0) |
                                    (span_is(name, "step") ? ACTOR_STEP : 0));
        count++;
    }
    return count;
}

/* Each of `reads` is a method of the registration. */
static bool check_reads(struct reading *g)
{
    struct reader r = reader_of(g->reads);
    struct span name = {0};
    uint32_t count = 0;

    if (g->reads.len > 0)
        read_array(&r, &count);
    for (; count > 0; count--) {
        bool found = read_text(&r, &name) && !span_is(name, "step");
        for (uint32_t i = 0; found && i < g->worker->count; i++)
            if (g->worker->of_actors[i] &&
                span_equal(actor_type_of_method(g->worker->methods[i]), g->type->type) &&
                span_equal(short_name(g, g->worker->methods[i]), name))
                goto next;
        rpc_refuse(g->rq, ERGON_E_BAD_PARAMS,
                   "`reads` of \"%.*s\" has to name methods of this registration, without the "
                   "type; \"%.*s\" is none",
                   (int)(g->type->type.len < 64 ? g->type->type.len : 64),
                   (const char *)g->type->type.at, (int)(name.len < 64 ? name.len : 64),
                   (const char *)name.at);
        return false;
    next:;
    }
    return true;
}

/* The server sends failures by its own rights, so the peer has to have that right, too. */
static bool may_report(struct reading *g)
{
    const char *to = g->type->policy.supervisor;
    struct span type = actor_type_of_name(span_text(to));
    char method[ACTOR_NAME_MAX + sizeof ".failed"];

    if (!to[0])
        return true;
    int len = snprintf(method, sizeof method, "%.*s.failed", (int)type.len, (const char *)type.at);
    if (conn_may(g->rq->conn, span_of(method, (size_t)len)))
        return true;
    rpc_refuse(g->rq, ERGON_E_DENIED, "`supervisor` needs the right to call \"%s\"", method);
    return false;
}

static bool read_type(struct reading *g, struct reader *r)
{
    g->reads = (struct span){0};
    g->type->policy = (struct actor_policy){ACTOR_POLICY_DEFAULTS};
    if (!read_text(r, &g->type->type)) {
        rpc_refuse_params(g->rq, "; a type of `actors` is a text");
        return false;
    }
    if (!read_policy(g, r) || !may_report(g))
        return false;
    if (mark_methods(g) > 0)
        return check_reads(g);
    rpc_refuse(g->rq, ERGON_E_BAD_PARAMS,
               "`actors` names the type \"%.*s\", of which this registration has no method",
               (int)(g->type->type.len < 64 ? g->type->type.len : 64),
               (const char *)g->type->type.at);
    return false;
}

bool worker_types_read(struct rpc_request *rq, struct span raw, struct worker *w,
                       struct worker_types *types)
{
    struct reader r = reader_of(raw);
    struct reading g = {.rq = rq, .worker = w};
    uint32_t pairs = 0;

    if (raw.len == 0 || !read_map(&r, &pairs) || pairs == 0)
        return true;
    if (pairs > w->count) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "`actors` names more types than there are methods");
        return false;
    }
    w->of_actors = (uint8_t *)(w->offers + w->count) + w->count;
    types->of = calloc(pairs, sizeof *types->of);
    for (; types->of && types->count < pairs; types->count++) {
        g.type = &types->of[types->count];
        if (!read_type(&g, &r))
            return false;
    }
    if (types->of)
        return true;
    rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return false;
}
