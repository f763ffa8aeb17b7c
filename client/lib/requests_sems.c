/* The requests about semaphores and events. */
#include "client/lib/pairs.h"

#include <ergon/client_sems.h>

static const struct ergon_answer unsized = {
    .outcome = ERGON_END_INVALID,
    .code = "",
    .text = "the options of a semaphore tell no size: set .size to sizeof(struct "
            "ergon_sem_options)"};

struct ergon_request *ergon_request_sem_create(const char *name, uint64_t permits,
                                               const char *durable)
{
    struct ergon_request *r = request_new("sem.create", 3);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pack_uint(&r->params, permits);
    pairs_init(&m);
    pairs_text(&m, "durable", durable);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_sem_delete(const char *name)
{
    return request_of_name("sem.delete", name);
}

struct ergon_request *ergon_request_sem_acquire(const char *name,
                                                const struct ergon_sem_options *given)
{
    struct ergon_request *r = request_new("sem.acquire", 2);
    struct ergon_sem_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, given))
        m.refused = &unsized;
    pairs_number(&m, "permits", o.permits);
    pairs_number(&m, "of", o.of);
    pairs_number(&m, "wait", o.wait_ms);
    pairs_number(&m, "ttl", o.ttl_ms);
    pairs_number(&m, "grace", o.grace_ms);
    pairs_text(&m, "durable", o.durable);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_sem_release(const char *name, const char *hold)
{
    struct ergon_request *r = request_new("sem.release", 2);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pack_str(&r->params, hold);
    return request_done(r);
}

static struct ergon_request *of_hold(const char *verb, const char *name, const char *hold,
                                     uint64_t ttl_ms)
{
    struct ergon_request *r = request_new(verb, 3);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pack_str(&r->params, hold);
    pairs_init(&m);
    pairs_number(&m, "ttl", ttl_ms);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_sem_renew(const char *name, const char *hold, uint64_t ttl_ms)
{
    return of_hold("sem.renew", name, hold, ttl_ms);
}

struct ergon_request *ergon_request_sem_resume(const char *name, const char *hold, uint64_t ttl_ms)
{
    return of_hold("sem.resume", name, hold, ttl_ms);
}

struct ergon_request *ergon_request_sems(void)
{
    return request_done(request_new("sem.list", 0));
}

struct ergon_request *ergon_request_sem_explain(const char *name)
{
    return request_of_name("sem.explain", name);
}

struct ergon_request *ergon_request_sem_explain_of(const char *name, const char *tenant)
{
    return request_of_name_in("sem.explain", name, tenant);
}

struct ergon_request *ergon_request_sem_revoke(const char *name, uint64_t fence, const char *tenant)
{
    struct ergon_request *r = request_new("sem.revoke", 3);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pack_uint(&r->params, fence);
    pairs_init(&m);
    pairs_text(&m, "tenant", tenant);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_event_set(const char *name, struct ergon_raw value)
{
    struct ergon_request *r = request_new("event.set", value.len > 0 ? 2 : 1);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    if (value.len > 0)
        pack_raw(&r->params, span_of(value.at, value.len));
    return request_done(r);
}

struct ergon_request *ergon_request_event_wait(const char *name, uint64_t from, uint64_t timeout_ms)
{
    struct ergon_request *r = request_new("event.wait", 2);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, name);
    pairs_init(&m);
    pairs_number(&m, "from", from);
    pairs_number(&m, "timeout", timeout_ms);
    pairs_pack(&m, r);
    return request_done(r);
}
