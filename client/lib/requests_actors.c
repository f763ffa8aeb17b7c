/* The requests about actors. */
#include "client/lib/pairs.h"

#include <ergon/client_actors.h>

static const struct ergon_answer
    unsized = {.outcome = ERGON_END_INVALID,
               .code = "",
               .text = "the options of an actor tell no size: set .size to sizeof(struct "
                       "ergon_actor_options)"},
    unsized_reminder = {.outcome = ERGON_END_INVALID,
                        .code = "",
                        .text = "the reminder tells no size: set .size to sizeof(struct "
                                "ergon_reminder)"},
    unsized_filter = {.outcome = ERGON_END_INVALID,
                      .code = "",
                      .text = "the filter tells no size: set .size to sizeof(struct "
                              "ergon_actor_filter)"};

static struct ergon_request *message(const char *verb, const char *actor, const char *method,
                                     struct ergon_raw params,
                                     const struct ergon_task_options *options)
{
    struct ergon_request *r = request_new(verb, 4);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, actor);
    pack_str(&r->params, method);
    request_pack_params(r, params);
    request_pack_options(r, options);
    return request_done(r);
}

struct ergon_request *ergon_request_actor_call(const char *actor, const char *method,
                                               struct ergon_raw params,
                                               const struct ergon_task_options *options)
{
    return message("actor.call", actor, method, params, options);
}

struct ergon_request *ergon_request_actor_tell(const char *actor, const char *method,
                                               struct ergon_raw params,
                                               const struct ergon_task_options *options)
{
    return message("actor.tell", actor, method, params, options);
}

static struct ergon_request *about(const char *verb, const char *actor,
                                   const struct ergon_actor_options *given)
{
    struct ergon_request *r = request_new(verb, 2);
    struct ergon_actor_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, actor);
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, given))
        m.refused = &unsized;
    pairs_text(&m, "tenant", o.tenant);
    pairs_flag(&m, "state", o.state, true);
    pairs_flag(&m, "reset", o.reset, true);
    pairs_text(&m, "reason", o.reason);
    pairs_number(&m, "from", o.from);
    pairs_number(&m, "timeout", o.timeout_ms);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_actor_get(const char *actor,
                                              const struct ergon_actor_options *options)
{
    return about("actor.get", actor, options);
}

struct ergon_request *ergon_request_actor_explain(const char *actor,
                                                  const struct ergon_actor_options *options)
{
    return about("actor.explain", actor, options);
}

struct ergon_request *ergon_request_actor_watch(const char *actor,
                                                const struct ergon_actor_options *options)
{
    return about("actor.watch", actor, options);
}

struct ergon_request *ergon_request_actor_start(const char *actor,
                                                const struct ergon_actor_options *options)
{
    return about("actor.start", actor, options);
}

struct ergon_request *ergon_request_actor_stop(const char *actor,
                                               const struct ergon_actor_options *options)
{
    return about("actor.stop", actor, options);
}

struct ergon_request *ergon_request_actor_wake(const char *actor,
                                               const struct ergon_actor_options *options)
{
    return about("actor.wake", actor, options);
}

struct ergon_request *ergon_request_actor_drop(const char *actor,
                                               const struct ergon_actor_options *options)
{
    return about("actor.drop", actor, options);
}

struct ergon_request *ergon_request_actor_remind(const char *actor, const char *name,
                                                 const char *method, struct ergon_raw params,
                                                 const struct ergon_reminder *when)
{
    struct ergon_request *r = request_new("actor.remind", 5);
    struct ergon_reminder o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, actor);
    pack_str(&r->params, name);
    pack_str(&r->params, method);
    request_pack_params(r, params);
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, when))
        m.refused = &unsized_reminder;
    pairs_text(&m, "tenant", o.tenant);
    pairs_number(&m, "in", o.in_ms);
    pairs_number(&m, "at", o.at_ms);
    pairs_number(&m, "every", o.every_ms);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_actor_forget(const char *actor, const char *name,
                                                 const struct ergon_actor_options *options)
{
    struct ergon_request *r = request_new("actor.forget", 3);
    struct ergon_actor_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, actor);
    pack_str(&r->params, name);
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, options))
        m.refused = &unsized;
    pairs_text(&m, "tenant", o.tenant);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_actors(const struct ergon_actor_filter *given)
{
    struct ergon_request *r = request_new("actor.list", 1);
    struct ergon_actor_filter f;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    if (!options_copy(&f, sizeof f, given))
        m.refused = &unsized_filter;
    pairs_text(&m, "type", f.type);
    pairs_text(&m, "prefix", f.prefix);
    pairs_text(&m, "stage", f.stage);
    pairs_text(&m, "tenant", f.tenant);
    pairs_number(&m, "limit", f.limit);
    pairs_text(&m, "cursor", f.cursor);
    pairs_text(&m, "sort", f.sort);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_actor_types(void)
{
    return request_done(request_new("actor.types", 0));
}
