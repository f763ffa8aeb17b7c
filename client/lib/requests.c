/* Requests for the server's methods: parameters and options, packed. */
#include "client/lib/pairs.h"

#include "proto/job_options.h"
#include "proto/reader.h"

#include <stdio.h>
#include <stdlib.h>

#include <ergon/client_connections.h>

struct ergon_request *request_new(const char *method, size_t parts)
{
    struct ergon_request *r = malloc(sizeof *r);
    if (r == NULL)
        return NULL;
    snprintf(r->method, sizeof r->method, "%s", method);
    r->refused = NULL;
    pack_init(&r->params);
    pack_array(&r->params, parts);
    return r;
}

void ergon_request_free(struct ergon_request *r)
{
    if (r == NULL)
        return;
    pack_fini(&r->params);
    free(r);
}

struct ergon_request *request_done(struct ergon_request *r)
{
    if (r == NULL || !r->params.failed)
        return r;
    ergon_request_free(r);
    return NULL;
}

struct ergon_raw request_params(const struct ergon_request *r)
{
    struct span bytes = pack_bytes(&r->params);
    return (struct ergon_raw){bytes.at, bytes.len};
}

struct ergon_request *request_of_name(const char *method, const char *name)
{
    struct ergon_request *r = request_new(method, 1);
    if (r != NULL)
        pack_str(&r->params, name);
    return request_done(r);
}

struct ergon_request *request_of_name_in(const char *method, const char *name, const char *tenant)
{
    struct ergon_request *r = request_new(method, 2);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pairs_init(&m);
    pairs_text(&m, "tenant", tenant);
    pairs_pack(&m, r);
    return request_done(r);
}

ergon_call_id ergon_client_ask(struct ergon_client *client, struct ergon_request *r,
                               uint32_t timeout_ms, ergon_answer_fn *fn, void *arg)
{
    ergon_call_id id = 0;
    if (r == NULL)
        return id;
    if (r->refused == NULL)
        id = ergon_client_call(client, r->method, request_params(r), timeout_ms, fn, arg);
    ergon_request_free(r);
    return id;
}

const char *ergon_request_method(const struct ergon_request *r)
{
    return r->method;
}

/* ---- why one is not sent ---- */

#define INVALID(why)                                                                               \
    {                                                                                              \
        .outcome = ERGON_END_INVALID, .code = "", .text = why                                      \
    }
static const struct ergon_answer
    unsized =
        INVALID("the options of a task tell no size: make them by ERGON_TASK(...), or set .size to "
                "sizeof(struct ergon_task_options)"),
    unsized_filter =
        INVALID("the filter tells no size: set .size to sizeof(struct ergon_task_filter)"),
    unsized_connections =
        INVALID("the filter tells no size: set .size to sizeof(struct ergon_connection_filter)"),
    unsized_cron = INVALID(
        "the options of a cron tell no size: set .size to sizeof(struct ergon_cron_options)"),
    no_map = INVALID("the further options of a task are no MessagePack map"),
    no_method = INVALID("a method has 1 to 256 bytes");
#undef INVALID

/* ---- maps of options ---- */

static void limit(struct pairs *m, const struct ergon_task_options *o)
{
    if (o->limit_key == NULL)
        return;
    m->count++;
    pack_str(&m->pack, "limit");
    pack_map(&m->pack, o->limit_take > 0 ? 3 : 2);
    pack_key_str(&m->pack, "key", o->limit_key);
    pack_key_uint(&m->pack, "max", o->limit_max);
    if (o->limit_take > 0)
        pack_key_uint(&m->pack, "take", o->limit_take);
}

static void rate(struct pairs *m, const struct ergon_task_options *o)
{
    if (o->rate_key == NULL)
        return;
    m->count++;
    pack_str(&m->pack, "rate");
    pack_map(&m->pack, 3);
    pack_key_str(&m->pack, "key", o->rate_key);
    pack_key_uint(&m->pack, "max", o->rate_max);
    pack_key_uint(&m->pack, "per", o->rate_per_ms);
}

/* Where the option of a row stands in struct ergon_task_options; its type says how the member is
 * called. */
#define MEMBER_NUMBER(name)   name
#define MEMBER_DURATION(name) name##_ms
#define MEMBER_SIZE(name)     name
#define MEMBER_MOMENT(name)   name##_ms
#define MEMBER_NAME(name)     name
#define MEMBER_LEVEL(name)    name
#define MEMBER_LIMIT(name)    name##_key
#define MEMBER_RATE(name)     name##_key
#define MEMBER_IDS(name)      name
#define MEMBER_TRACE(name)    name
#define MEMBER_STATE(name)    name
#define MEMBER_BATCH(name)    name
#define X(name, type, ...)    offsetof(struct ergon_task_options, MEMBER_##type(name)),
static const size_t PLACES[JOB_OPTION_COUNT] = {JOB_OPTIONS(X)};
#undef X

static void pairs_option(struct pairs *m, const struct job_option *option, const void *at,
                         const struct ergon_task_options *o)
{
    switch (option->type) {
    case JOB_OPTION_NUMBER:
    case JOB_OPTION_DURATION:
    case JOB_OPTION_SIZE:
    case JOB_OPTION_MOMENT:
        pairs_number(m, option->name, *(const uint64_t *)at);
        return;
    case JOB_OPTION_NAME:
    case JOB_OPTION_LEVEL:
    case JOB_OPTION_TRACE:
    case JOB_OPTION_STATE:
    case JOB_OPTION_BATCH:
        pairs_text(m, option->name, *(const char *const *)at);
        return;
    case JOB_OPTION_LIMIT:
        limit(m, o);
        return;
    case JOB_OPTION_RATE:
        rate(m, o);
        return;
    case JOB_OPTION_IDS:
        pairs_texts(m, option->name, *(const char *const *const *)at,
                    at == &o->after ? o->after_count : o->after_any_count);
        return;
    }
}

/* What the caller packed himself; empty: nothing. */
static void more(struct pairs *m, struct ergon_raw map)
{
    struct reader r = reader_of(span_of(map.at, map.len));
    uint32_t count;
    if (map.len == 0)
        return;
    if (!read_map(&r, &count)) {
        m->refused = &no_map;
    } else if (count > 0) {
        m->count += count;
        pack_raw(&m->pack, reader_rest(&r));
    }
}

static void pairs_task(struct pairs *m, const struct ergon_task_options *given)
{
    struct ergon_task_options o;
    if (!options_copy(&o, sizeof o, given))
        m->refused = &unsized;
    for (size_t i = 0; i < JOB_OPTION_COUNT; i++)
        pairs_option(m, &job_options[i], (const char *)&o + PLACES[i], &o);
    more(m, o.more);
}

/* ---- the requests, one function for each ---- */

void request_pack_params(struct ergon_request *r, struct ergon_raw params)
{
    if (params.len > 0)
        pack_raw(&r->params, span_of(params.at, params.len));
    else
        pack_array(&r->params, 0);
}

void request_pack_options(struct ergon_request *r, const struct ergon_task_options *options)
{
    struct pairs m;
    pairs_init(&m);
    pairs_task(&m, options);
    pairs_pack(&m, r);
}

static struct ergon_request *of_handler(const char *verb, const char *method,
                                        struct ergon_raw params,
                                        const struct ergon_task_options *options)
{
    struct ergon_request *r = request_new(verb, 3);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, method);
    request_pack_params(r, params);
    request_pack_options(r, options);
    return request_done(r);
}

struct ergon_request *ergon_request_raw(const char *method, struct ergon_raw params)
{
    size_t len = strlen(method);
    bool named = len >= 1 && len <= METHOD_NAME_MAX;
    struct ergon_request *r = request_new(named ? method : "", 0);
    if (r == NULL)
        return NULL;
    if (!named)
        r->refused = &no_method;
    if (params.len > 0) {
        msgpack_sbuffer_clear(&r->params.buffer);
        request_pack_params(r, params);
    }
    return request_done(r);
}

struct ergon_request *ergon_request_submit(const char *method, struct ergon_raw params,
                                           const struct ergon_task_options *options)
{
    return of_handler("task.submit", method, params, options);
}

struct ergon_request *ergon_request_call(const char *method, struct ergon_raw params,
                                         const struct ergon_task_options *options)
{
    return of_handler("task.call", method, params, options);
}

void request_pack_orders(struct ergon_request *r, const struct ergon_task_order *orders,
                         size_t count)
{
    pack_array(&r->params, count);
    for (size_t i = 0; i < count; i++) {
        pack_array(&r->params, 3);
        pack_str(&r->params, orders[i].method);
        request_pack_params(r, orders[i].params);
        request_pack_options(r, orders[i].options);
    }
}

struct ergon_request *ergon_request_submit_many(const struct ergon_task_order *orders, size_t count,
                                                const struct ergon_task_options *common)
{
    struct ergon_request *r = request_new("task.submit_many", 2);
    if (r == NULL)
        return NULL;
    request_pack_orders(r, orders, count);
    request_pack_options(r, common);
    return request_done(r);
}

struct ergon_request *ergon_request_cancel(const char *id)
{
    return request_of_name("task.cancel", id);
}

struct ergon_request *ergon_request_retry(const char *id)
{
    return request_of_name("task.retry", id);
}

struct ergon_request *ergon_request_forget(const char *id)
{
    return request_of_name("task.forget", id);
}

struct ergon_request *ergon_request_run_now(const char *id)
{
    return request_of_name("task.run_now", id);
}

struct ergon_request *ergon_request_change(const char *id, const struct ergon_task_options *options)
{
    struct ergon_request *r = request_new("task.change", 2);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, id);
    request_pack_options(r, options);
    return request_done(r);
}

struct ergon_request *ergon_request_explain(const char *id)
{
    return request_of_name("task.explain", id);
}

struct ergon_request *ergon_request_queues(void)
{
    return request_done(request_new("queue.list", 0));
}

struct ergon_request *ergon_request_queue_explain(const char *method)
{
    return request_of_name("queue.explain", method);
}

struct ergon_request *ergon_request_queue_tenants(const char *cursor)
{
    struct ergon_request *r = request_new("queue.tenants", 1);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    pairs_text(&m, "cursor", cursor);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_queue_pause(const char *method)
{
    return request_of_name("queue.pause", method);
}

struct ergon_request *ergon_request_queue_resume(const char *method)
{
    return request_of_name("queue.resume", method);
}

struct ergon_request *ergon_request_queue_drain(const char *method)
{
    return request_of_name("queue.drain", method);
}

struct ergon_request *ergon_request_crons(void)
{
    return request_done(request_new("cron.list", 0));
}

struct ergon_request *ergon_request_cron_delete(const char *name)
{
    return request_of_name("cron.delete", name);
}

struct ergon_request *ergon_request_cron_delete_of(const char *name, const char *tenant)
{
    return request_of_name_in("cron.delete", name, tenant);
}

struct ergon_request *ergon_request_cron_pause(const char *name, const char *tenant)
{
    return request_of_name_in("cron.pause", name, tenant);
}

struct ergon_request *ergon_request_cron_resume(const char *name, const char *tenant)
{
    return request_of_name_in("cron.resume", name, tenant);
}

struct ergon_request *ergon_request_cron_run(const char *name, const char *tenant)
{
    return request_of_name_in("cron.run", name, tenant);
}

struct ergon_request *ergon_request_audit(void)
{
    return request_done(request_new("server.audit", 0));
}

/* ---- with options of their own ---- */

struct ergon_request *ergon_request_get(const char *id, unsigned flags)
{
    struct ergon_request *r = request_new("task.get", 2);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, id);
    pairs_init(&m);
    pairs_flag(&m, "result", (flags & ERGON_ASK_NO_RESULT) != 0, false);
    pairs_flag(&m, "history", (flags & ERGON_ASK_HISTORY) != 0, true);
    pairs_flag(&m, "params", (flags & ERGON_ASK_PARAMS) != 0, true);
    pairs_flag(&m, "params_text", (flags & ERGON_ASK_PARAMS_TEXT) != 0, true);
    pairs_flag(&m, "options", (flags & ERGON_ASK_OPTIONS) != 0, true);
    pairs_flag(&m, "attempts", (flags & ERGON_ASK_ATTEMPTS) != 0, true);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_wait(const char *const *ids, size_t count, uint64_t wait_ms,
                                         unsigned flags)
{
    struct ergon_request *r = request_new("task.wait", 2);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_array(&r->params, count);
    for (size_t i = 0; i < count; i++)
        pack_str(&r->params, ids[i]);
    pairs_init(&m);
    pairs_number(&m, "timeout", wait_ms);
    pairs_flag(&m, "any", (flags & ERGON_ASK_ANY) != 0, true);
    pairs_flag(&m, "result", (flags & ERGON_ASK_NO_RESULT) != 0, false);
    pairs_pack(&m, r);
    return request_done(r);
}

static void pairs_filter(struct pairs *m, const struct ergon_task_filter *given,
                         struct ergon_task_filter *f)
{
    pairs_init(m);
    if (!options_copy(f, sizeof *f, given))
        m->refused = &unsized_filter;
    pairs_text(m, "state", f->state);
    pairs_text(m, "method", f->method);
    pairs_text(m, "tenant", f->tenant);
    pairs_text(m, "key", f->key);
    pairs_number(m, "older", f->older_ms);
    pairs_number(m, "newer", f->newer_ms);
    /* Also where the server refuses them: without them, more tasks would be meant. */
    pairs_text(m, "contains", f->contains);
    pairs_text(m, "actor", f->actor);
    pairs_text(m, "batch", f->batch);
}

struct ergon_request *ergon_request_list(const struct ergon_task_filter *given)
{
    struct ergon_request *r = request_new("task.list", 1);
    struct ergon_task_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_filter(&m, given, &f);
    pairs_number(&m, "limit", f.limit);
    pairs_text(&m, "cursor", f.cursor);
    pairs_flag(&m, "params_text", f.params_text, true);
    pairs_pack(&m, r);
    return request_done(r);
}

static struct ergon_request *of_filter(const char *verb, const struct ergon_task_filter *given,
                                       unsigned flags)
{
    struct ergon_request *r = request_new(verb, 1);
    struct ergon_task_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_filter(&m, given, &f);
    pairs_flag(&m, "all", flags & ERGON_MATCH_ALL, true);
    pairs_flag(&m, "dry_run", flags & ERGON_MATCH_DRY_RUN, true);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_cancel_matching(const struct ergon_task_filter *filter,
                                                    unsigned flags)
{
    return of_filter("task.cancel", filter, flags);
}

struct ergon_request *ergon_request_retry_matching(const struct ergon_task_filter *filter,
                                                   unsigned flags)
{
    return of_filter("task.retry", filter, flags);
}

struct ergon_request *ergon_request_forget_matching(const struct ergon_task_filter *filter,
                                                    unsigned flags)
{
    return of_filter("task.forget", filter, flags);
}

static void pairs_connections(struct pairs *m, const struct ergon_connection_filter *given,
                              struct ergon_connection_filter *f)
{
    pairs_init(m);
    if (!options_copy(f, sizeof *f, given))
        m->refused = &unsized_connections;
    pairs_number(m, "id", f->id);
    pairs_text(m, "principal", f->principal);
    pairs_flag(m, "nobody", f->nobody, true);
    pairs_text(m, "address", f->address);
    pairs_text(m, "listener", f->listener);
    pairs_number(m, "idle", f->idle_ms);
}

struct ergon_request *ergon_request_connections(const struct ergon_connection_filter *given)
{
    struct ergon_request *r = request_new("connection.list", 1);
    struct ergon_connection_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_connections(&m, given, &f);
    pairs_number(&m, "limit", f.limit);
    pairs_text(&m, "cursor", f.cursor);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_kill_connections(const struct ergon_connection_filter *given,
                                                     unsigned flags)
{
    struct ergon_request *r = request_new("connection.kill", 1);
    struct ergon_connection_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_connections(&m, given, &f);
    pairs_flag(&m, "all", flags & ERGON_MATCH_ALL, true);
    pairs_flag(&m, "dry_run", flags & ERGON_MATCH_DRY_RUN, true);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_cron_put(const char *name, const char *schedule,
                                             const char *method, struct ergon_raw params,
                                             const struct ergon_cron_options *given)
{
    struct ergon_request *r = request_new("cron.put", 5);
    struct ergon_cron_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    if (!options_copy(&o, sizeof o, given))
        r->refused = &unsized_cron;
    pack_str(&r->params, name);
    pack_str(&r->params, schedule);
    pack_str(&r->params, method);
    request_pack_params(r, params);
    pairs_init(&m);
    pairs_text(&m, "zone", o.zone);
    pairs_number(&m, "jitter", o.jitter_ms);
    pairs_text(&m, "overlap", o.overlap);
    pairs_text(&m, "catch_up", o.catch_up);
    pairs_task(&m, o.task);
    pairs_pack(&m, r);
    return request_done(r);
}
