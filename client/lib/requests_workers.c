/* The requests of workers, and those about them. */
#include "client/lib/pairs.h"

#include <ergon/client_workers.h>

static const struct ergon_answer
    unsized = {.outcome = ERGON_END_INVALID,
               .code = "",
               .text = "the options of a worker tell no size: set .size to sizeof(struct "
                       "ergon_worker_options)"},
    unsized_filter = {.outcome = ERGON_END_INVALID,
                      .code = "",
                      .text = "the filter tells no size: set .size to sizeof(struct "
                              "ergon_worker_filter)"};

struct ergon_request *ergon_request_worker_register(const char *const *methods, size_t count,
                                                    const struct ergon_worker_options *given)
{
    struct ergon_request *r = request_new("worker.register", 2);
    struct ergon_worker_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_array(&r->params, count);
    for (size_t i = 0; i < count; i++)
        pack_str(&r->params, methods[i]);
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, given))
        m.refused = &unsized;
    pairs_number(&m, "slots", o.slots);
    pairs_text(&m, "name", o.name);
    pairs_text(&m, "version", o.version);
    pairs_number(&m, "share", o.share);
    pairs_flag(&m, "context", o.context, true);
    pairs_number(&m, "lease", o.lease_ms);
    pairs_number(&m, "message", o.message);
    pairs_text(&m, "host", o.host);
    pairs_raw(&m, "actors", o.actors);
    pairs_flag(&m, "secret", o.secrecy != ERGON_SECRECY_UNSAID, o.secrecy == ERGON_SECRECY_SECRET);
    pairs_pack(&m, r);
    return request_done(r);
}

static struct ergon_request *of_worker(const char *verb, const char *worker)
{
    return worker != NULL ? request_of_name(verb, worker) : request_done(request_new(verb, 0));
}

struct ergon_request *ergon_request_worker_quiet(const char *worker)
{
    return of_worker("worker.quiet", worker);
}

struct ergon_request *ergon_request_worker_resume(const char *worker)
{
    return of_worker("worker.resume", worker);
}

struct ergon_request *ergon_request_workers(const struct ergon_worker_filter *given)
{
    struct ergon_request *r = request_new("worker.list", 1);
    struct ergon_worker_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    if (!options_copy(&f, sizeof f, given))
        m.refused = &unsized_filter;
    pairs_text(&m, "method", f.method);
    pairs_number(&m, "limit", f.limit);
    pairs_text(&m, "cursor", f.cursor);
    pairs_pack(&m, r);
    return request_done(r);
}

static enum ergon_end notify(struct ergon_client *client, struct ergon_request *r)
{
    r = request_done(r);
    if (r == NULL)
        return ERGON_END_MEMORY;
    enum ergon_end end = ergon_client_notify(client, r->method, request_params(r));
    ergon_request_free(r);
    return end;
}

enum ergon_end ergon_worker_progress(struct ergon_client *client, uint64_t call, uint64_t done,
                                     uint64_t total, const char *text)
{
    struct ergon_request *r = request_new("worker.progress", 4);
    if (r == NULL)
        return ERGON_END_MEMORY;
    pack_uint(&r->params, call);
    pack_uint(&r->params, done);
    pack_uint(&r->params, total);
    pack_str(&r->params, text);
    return notify(client, r);
}

static enum ergon_end notify_value(struct ergon_client *client, const char *method, uint64_t call,
                                   struct ergon_raw value)
{
    static const uint8_t nil = 0xc0;
    struct ergon_request *r = request_new(method, 2);
    if (r == NULL)
        return ERGON_END_MEMORY;
    pack_uint(&r->params, call);
    pack_raw(&r->params, value.len > 0 ? span_of(value.at, value.len) : span_of(&nil, 1));
    return notify(client, r);
}

enum ergon_end ergon_worker_partial(struct ergon_client *client, uint64_t call,
                                    struct ergon_raw value)
{
    return notify_value(client, "worker.partial", call, value);
}

enum ergon_end ergon_worker_checkpoint(struct ergon_client *client, uint64_t call,
                                       struct ergon_raw value)
{
    return notify_value(client, "worker.checkpoint", call, value);
}

struct ergon_request *
ergon_request_worker_submit(uint64_t call, const struct ergon_task_order *orders, size_t count)
{
    struct ergon_request *r = request_new("worker.submit", 2);
    if (r == NULL)
        return NULL;
    pack_uint(&r->params, call);
    pack_map(&r->params, 1);
    pack_str(&r->params, "task");
    request_pack_orders(r, orders, count);
    return request_done(r);
}
