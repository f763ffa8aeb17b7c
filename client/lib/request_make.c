/* The requests, one function for each. */
#include "client/lib/request.h"

static void pack_params(struct pack *p, struct ergon_raw params)
{
    if (params.len > 0)
        pack_raw(p, span_of(params.at, params.len));
    else
        pack_array(p, 0);
}

static void pack_options(struct ergon_request *r, const struct ergon_task_options *options)
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
    pack_params(&r->params, params);
    pack_options(r, options);
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

struct ergon_request *ergon_request_submit_many(const struct ergon_task_order *orders, size_t count,
                                                const struct ergon_task_options *common)
{
    struct ergon_request *r = request_new("task.submit_many", 2);
    if (r == NULL)
        return NULL;
    pack_array(&r->params, count);
    for (size_t i = 0; i < count; i++) {
        pack_array(&r->params, 3);
        pack_str(&r->params, orders[i].method);
        pack_params(&r->params, orders[i].params);
        pack_options(r, orders[i].options);
    }
    pack_options(r, common);
    return request_done(r);
}

/* ---- of one name, or none ---- */

static struct ergon_request *of_name(const char *verb, const char *name)
{
    struct ergon_request *r = request_new(verb, 1);
    if (r != NULL)
        pack_str(&r->params, name);
    return request_done(r);
}

struct ergon_request *ergon_request_cancel(const char *id)
{
    return of_name("task.cancel", id);
}

struct ergon_request *ergon_request_retry(const char *id)
{
    return of_name("task.retry", id);
}

struct ergon_request *ergon_request_explain(const char *id)
{
    return of_name("task.explain", id);
}

struct ergon_request *ergon_request_queues(void)
{
    return request_done(request_new("queue.list", 0));
}

struct ergon_request *ergon_request_queue_explain(const char *method)
{
    return of_name("queue.explain", method);
}

struct ergon_request *ergon_request_queue_pause(const char *method)
{
    return of_name("queue.pause", method);
}

struct ergon_request *ergon_request_queue_resume(const char *method)
{
    return of_name("queue.resume", method);
}

struct ergon_request *ergon_request_queue_drain(const char *method)
{
    return of_name("queue.drain", method);
}

struct ergon_request *ergon_request_crons(void)
{
    return request_done(request_new("cron.list", 0));
}

struct ergon_request *ergon_request_cron_delete(const char *name)
{
    return of_name("cron.delete", name);
}

struct ergon_request *ergon_request_audit(void)
{
    return request_done(request_new("server.audit", 0));
}

/* ---- with options of their own ---- */

static const struct ergon_answer unsized_filter = {
    .outcome = ERGON_END_INVALID,
    .code = "",
    .text = "the filter tells no size: set .size to sizeof(struct ergon_task_filter)"};

static const struct ergon_answer unsized_cron = {
    .outcome = ERGON_END_INVALID,
    .code = "",
    .text = "the options of a cron tell no size: set .size to sizeof(struct ergon_cron_options)"};

static void pairs_flag(struct pairs *m, const char *key, bool wanted, bool value)
{
    if (!wanted)
        return;
    m->count++;
    pack_key_bool(&m->pack, key, value);
}

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

struct ergon_request *ergon_request_list(const struct ergon_task_filter *given)
{
    struct ergon_request *r = request_new("task.list", 1);
    struct ergon_task_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    if (!options_copy(&f, sizeof f, given))
        r->refused = &unsized_filter;
    pairs_init(&m);
    pairs_text(&m, "state", f.state);
    pairs_text(&m, "method", f.method);
    pairs_text(&m, "tenant", f.tenant);
    pairs_text(&m, "key", f.key);
    pairs_number(&m, "older", f.older_ms);
    pairs_number(&m, "newer", f.newer_ms);
    pairs_number(&m, "limit", f.limit);
    pairs_text(&m, "cursor", f.cursor);
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
    pack_params(&r->params, params);
    pairs_init(&m);
    pairs_text(&m, "zone", o.zone);
    pairs_number(&m, "jitter", o.jitter_ms);
    pairs_text(&m, "overlap", o.overlap);
    pairs_text(&m, "catch_up", o.catch_up);
    pairs_task(&m, o.task);
    pairs_pack(&m, r);
    return request_done(r);
}
