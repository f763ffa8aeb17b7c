#include "server/workers/worker_update.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/runtime/object/trace.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/workers/worker_group.h"

enum {
    NAMES_A_STEP = 500, /* of methods, of workers that join, leave, become quiet or open; or one
                           worker that has more */
    NEWS_A_STEP = 1024  /* workers with an update */
};

static void answer(struct worker_executor *r, enum worker_update_answer what)
{
    struct worker_loop *d = r->worker_loop;
    if (atomic_fetch_or_explicit(&r->answered, what, memory_order_acq_rel) != 0)
        return;
    mpsc_push(&d->answers, &r->answer); /* it may be gone from here on */
    ao_post(d->base.handle, AO_POST_ACTIVATE);
}

/* --- Joining --- */

__attribute__((format(printf, 3, 4))) static bool
refuse(struct worker_executor *r, enum ergon_error error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    r->refused = error;
    vsnprintf(r->refusal, sizeof r->refusal, format, args);
    va_end(args);
    return false;
}

/* What a module brings no worker can take from it, but what `workers.join` names both may run, and
 * in a cluster its attempts. */
static bool find_method(const struct manager *m, struct worker_executor *r, struct span name,
                        struct method **out)
{
    int len = (int)name.len;
    const char *at = (const char *)name.at;
    enum ergon_error error = registry_intern(m->shared->plan.registry, name, out);
    if (error == ERGON_E_BAD_PARAMS)
        return refuse(r, error, "\"%.*s\" is no name that a worker may offer", len, at);
    if (error == ERGON_E_BUSY)
        return refuse(r, error, "too many methods: there is no room for \"%.*s\"", len, at);
    if (error != ERGON_OK)
        return refuse(r, error, "no memory for \"%.*s\"", len, at);
    if (r->module && (!(*out)->of_processes || r->module != (*out)->module))
        return refuse(r, ERGON_E_DENIED,
                      "\"%.*s\" was not among the methods of its module when the server started",
                      len, at);
    if ((*out)->of_processes && !r->module)
        return refuse(r, ERGON_E_DENIED,
                      "\"%.*s\" is a handler of the server's own, in processes of its module", len,
                      at);
    if (method_of_workers(*out) || (*out)->joined || (*out)->spread)
        return true;
    return refuse(r, ERGON_E_DENIED,
                  "\"%.*s\" is a handler of the server's own: `workers.join` has to name it, or "
                  "offer yours by another name",
                  len, at);
}

static int by_index(const void *a, const void *b)
{
    const struct pool *const *p = a, *const *q = b;
    return ((*p)->index > (*q)->index) - ((*p)->index < (*q)->index);
}

/* Sorted, each once. */
static uint32_t sort_out(struct pool **pools, uint32_t count)
{
    uint32_t kept = 0;
    qsort(pools, count, sizeof *pools, by_index);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || pools[kept - 1] != pools[i])
            pools[kept++] = pools[i];
    return kept;
}

static unsigned of_actor(const struct worker_executor *r, uint32_t i)
{
    return r->of_actors ? r->of_actors[i] : 0;
}

/* A method of actors stays one, and what a module brings stays what it is.  One that workers offer
 * for plain calls becomes none: these would be given turns, and answer as for a call. */
static bool is_same_kind(struct worker_executor *r, const struct method *method, unsigned of_actor)
{
    if (method_actor(method) && !of_actor)
        return refuse(r, ERGON_E_BAD_PARAMS,
                      "\"%s\" is a method of actors: name its type in `actors`",
                      method_name(method));
    if (of_actor && !method_of_workers(method))
        return refuse(r, ERGON_E_DENIED,
                      "\"%s\" is a handler of the server's own, so workers cannot offer it for "
                      "actors",
                      method_name(method));
    if (of_actor && !method_actor(method) && method->attempts_pool->workers->entry_count > 0)
        return refuse(r, ERGON_E_BUSY,
                      "workers offer \"%s\" without `actors`, for plain calls: stop them first",
                      method_name(method));
    return true;
}

static bool join_group(struct manager *m, struct worker_executor *r, struct pool **pools)
{
    struct method *method;
    for (uint32_t i = 0; i < r->method_count; i++) {
        if (!find_method(m, r, r->methods[i], &method) || !is_same_kind(r, method, of_actor(r, i)))
            return false;
        pools[i] = method->attempts_pool;
    }
    uint32_t count = sort_out(pools, r->method_count);
    const struct pool *full = worker_groups_full(r, pools, count);
    if (full)
        return refuse(r, ERGON_E_BUSY,
                      "\"%s\" has workers of %d versions with a share, which is as many as there "
                      "may be",
                      method_name(full->workers->method), VERSIONS_MAX);
    if (worker_group_join(m, r, pools, count) == 0)
        return true;
    return refuse(r, ERGON_E_MEMORY, "no memory for one more worker");
}

static void say_secrets(struct manager *m, const struct worker_executor *r)
{
    const struct job_source *source = &m->shared->source;
    struct method *method;
    bool says = r->secrets && m->shared->has_source && source->secret;

    for (uint32_t i = 0; says && i < r->method_count; i++)
        if (r->secrets[i] != WORKER_SECRET_UNSAID &&
            registry_intern(m->shared->plan.registry, r->methods[i], &method) == ERGON_OK)
            source->secret(source->arg, method, r->secrets[i] == WORKER_SECRET_YES);
}

/* The methods of this type among those of the worker, which become methods of actors; before the
 * others those that were none, `fresh` of them.  Returns how many they are. */
static uint32_t take_methods(struct manager *m, const struct worker_executor *r, struct span type,
                             struct method **methods, uint32_t *fresh)
{
    uint32_t count = 0;
    *fresh = 0;
    for (uint32_t i = 0; i < r->method_count; i++) {
        struct method *method = registry_find(m->shared->plan.registry, r->methods[i]);
        if (!of_actor(r, i) || !span_equal(actor_type_of_method(r->methods[i]), type))
            continue;
        methods[count] = method;
        if (!method_actor(method)) {
            methods[count] = methods[*fresh];
            methods[(*fresh)++] = method;
        }
        count++;
        method_set_actor(method, of_actor(r, i));
    }
    return count;
}

static bool keeps_actors(const struct manager *m)
{
    const struct job_source *source = &m->shared->source;
    return source->keeps_actors && source->keeps_actors(source->arg);
}

static bool check_types(const struct manager *m, struct worker_executor *r)
{
    for (uint32_t i = 0; i < r->type_count; i++)
        if (r->types[i].policy.durable == ACTOR_DURABLE_FSYNC && !keeps_actors(m))
            return refuse(r, ERGON_E_STORE, "\"%.*s\": %s", (int)r->types[i].type.len,
                          (const char *)r->types[i].type.at, ACTOR_NO_STORE);
    return true;
}

/* Its methods are in the registry. */
static bool say_types(struct manager *m, struct worker_executor *r)
{
    const struct job_source *source = &m->shared->source;
    struct method **methods;
    bool said = true;
    if (r->type_count == 0)
        return true;
    if (!m->shared->has_source || !source->typed)
        return refuse(r, ERGON_E_DENIED, "this server has no actors");
    methods = malloc(r->method_count * sizeof *methods);
    for (uint32_t i = 0; methods && said && i < r->type_count; i++) {
        struct actor_offer offer = {
            .type = r->types[i].type, .policy = r->types[i].policy, .methods = methods};
        uint32_t fresh;
        offer.count = take_methods(m, r, offer.type, methods, &fresh);
        said = source->typed(source->arg, &offer);
        while (!said && fresh > 0)
            method_unset_actor(methods[--fresh]);
    }
    free(methods);
    return (methods && said) || refuse(r, ERGON_E_MEMORY, "no memory for its actors");
}

static bool is_away(const struct worker_executor *r)
{
    return atomic_load_explicit(&r->worker_loop->base.away, memory_order_relaxed);
}

/* One that is about to leave is given nothing more, though its turn to leave may come later. */
static void look(struct manager *m, struct worker_executor *r)
{
    struct member *mb = &r->member;
    uint32_t bound = (uint32_t)counter_read(&r->base.bound);
    bool leaves = atomic_load_explicit(&r->reported, memory_order_relaxed) & UPDATE_LEAVE;
    worker_group_update(m, r, mb->away || leaves ? 0 : bound);
}

static void introduce(struct worker_executor *r)
{
    char id[16];
    snprintf(id, sizeof id, "w%u", (unsigned)r->base.index);
    job_source_worker_joined(&r->base, &(struct source_label){.worker = span_text(id),
                                                              .name = span_text(r->name),
                                                              .host = span_text(r->host),
                                                              .version = span_text(r->version)});
}

static bool join(struct manager *m, struct worker_executor *r)
{
    if (m->roster->member_count >= m->shared->plan.workers_max)
        return refuse(r, ERGON_E_BUSY, "as many workers are registered as there may be");
    if (!check_types(m, r))
        return false;
    struct pool **pools = malloc(r->method_count * sizeof *pools);
    bool joined =
        pools ? join_group(m, r, pools) : refuse(r, ERGON_E_MEMORY, "no memory to register");
    free(pools);
    if (!joined)
        return false;
    if (!say_types(m, r)) {
        r->member.leaves = true;
        worker_group_leave(m, r);
        r->member.leaves = false; /* it was never let in */
        return false;
    }
    LIST_INSERT_HEAD(&m->roster->members, &r->member, link);
    m->roster->member_count++;
    r->base.index = ++m->roster->workers;
    introduce(r);
    r->member.away = is_away(r);
    say_secrets(m, r);
    worker_group_set_there(m, r, true);
    look(m, r);
    TRACE(m->activator, "manager", 0, "worker %u joins", r->base.index);
    return true;
}

/* --- Leaving --- */

static void say_last_word(struct worker_executor *r)
{
    job_source_worker_left(&r->base);
    r->final = atomic_load_explicit(&r->base.given, memory_order_relaxed);
    answer(r, UPDATE_LEFT);
}

static void leave(struct manager *m, struct worker_executor *r)
{
    r->member.leaves = true;
    if (r->member.group) {
        TRACE(m->activator, "manager", 0, "worker %u leaves", r->base.index);
        LIST_REMOVE(&r->member, link);
        m->roster->member_count--;
        worker_group_leave(m, r);
    }
    if (r->member.attempts == 0)
        say_last_word(r);
}

void worker_updates_attempt_back(struct executor *e)
{
    struct worker_executor *r = worker_executor_of(e);
    assert(r->member.attempts > 0);
    if (--r->member.attempts == 0 && r->member.leaves)
        say_last_word(r);
}

/* --- What has come --- */

static void settle(struct manager *m, struct worker_executor *r)
{
    bool quiet = atomic_load_explicit(&r->wants_quiet, memory_order_relaxed);
    assert(r->member.group);
    worker_group_set_there(m, r, !quiet);
    look(m, r);
    atomic_store_explicit(&r->is_quiet, quiet, memory_order_relaxed);
    answer(r, UPDATE_SETTLED);
}

/* A worker that leaves before it was let in is not let in. */
static void take(struct manager *m, struct worker_executor *r, unsigned reported)
{
    assert(reported != 0 && !r->member.leaves);
    if (reported & UPDATE_LEAVE) {
        leave(m, r);
        return;
    }
    if (reported & UPDATE_JOIN) {
        join(m, r);
        answer(r, UPDATE_JOINED);
        return;
    }
    if (reported & UPDATE_SETTLE)
        settle(m, r);
    if (reported & UPDATE_ROOM)
        look(m, r);
}

/* A loop does not finish its round, or does again. */
static void look_who_is_away(struct manager *m)
{
    struct member *mb;
    bool changed = false;
    for (uint32_t i = 0; i < m->shared->worker_loops.count; i++) {
        const struct executor *e = m->shared->worker_loops.list[i];
        bool away = atomic_load_explicit(&e->away, memory_order_relaxed);
        changed |= away != m->roster->loops_away[i];
        m->roster->loops_away[i] = away;
    }
    if (!changed)
        return;
    LIST_FOREACH(mb, &m->roster->members, link)
    {
        struct worker_executor *r = ao_of(mb, struct worker_executor, member);
        mb->away = m->roster->loops_away[r->worker_loop->base.index];
        look(m, r);
    }
}

static void put_off(struct manager *m, struct mpsc_item *item)
{
    item->next = NULL;
    if (m->roster->updates)
        m->roster->updates_last->next = item;
    else
        m->roster->updates = item;
    m->roster->updates_last = item;
}

/* Room is seen to at once: that takes the same time for each worker.  The rest waits in line,
 * since a worker that joins or leaves does so in each of its methods. */
static void take_news(struct manager *m)
{
    struct mpsc_item *item;
    for (int n = 0;
         n < NEWS_A_STEP && (item = mpsc_next(&m->shared->inbox.updates, &m->roster->news)); n++) {
        struct worker_executor *r = ao_of(item, struct worker_executor, update);
        uint32_t reported = UPDATE_ROOM;
        bool room = atomic_compare_exchange_strong_explicit(
            &r->reported, &reported, 0, memory_order_acq_rel, memory_order_acquire);
        if (room || (reported & UPDATE_LEAVE && r->member.group))
            look(m, r);
        assert(reported != 0); /* the edge from 0 has pushed it */
        if (!room)
            put_off(m, item);
    }
}

/* In the order in which they came.  A worker in this list is not pushed again, since its updates
 * were not taken yet. */
static void take_in_line(struct manager *m)
{
    uint32_t names = 0;
    while (m->roster->updates) {
        struct worker_executor *r = ao_of(m->roster->updates, struct worker_executor, update);
        names += r->method_count;
        if (names > NAMES_A_STEP && names > r->method_count)
            break;
        m->roster->updates = m->roster->updates->next; /* before it may be pushed again */
        take(m, r, atomic_exchange_explicit(&r->reported, 0, memory_order_acq_rel));
    }
}

bool worker_updates_take(struct manager *m)
{
    look_who_is_away(m);
    take_news(m);
    take_in_line(m);
    return !m->roster->news && !m->roster->updates;
}

bool worker_updates_wait(struct manager *m)
{
    struct manager_inbox *in = &m->shared->inbox;
    if (!waker_announced(&in->waiting_for_workers))
        waker_announce(&in->waiting_for_workers);
    return !mpsc_empty(&in->updates);
}
