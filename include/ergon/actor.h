/* Types of actors in a module: plain functions over the host's table, beside <ergon/handler.h>.
 *
 *     static void add(struct ergon_task *task)
 *     {
 *         struct ergon_reader r;
 *         int64_t n, sum = 0;
 *         if (ergon_state_open(task, &r))
 *             ergon_read_int(&r, &sum);
 *         ...
 *         ergon_state_int(task, sum + n);
 *     }
 *
 * What a turn changes comes with its end, or not at all.  Thread, ownership and errors stand beside
 * each entry in struct ergon_host of <ergon/module.h>. */
#ifndef ERGON_ACTOR_H
#define ERGON_ACTOR_H

#include <ergon/handler.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int ergon_register_actor(struct ergon_module *module, const struct ergon_actor *actor)
{
    return ergon_host->register_actor(module, actor);
}

static inline bool ergon_turn(struct ergon_task *task, struct ergon_turn *out)
{
    return ergon_host->turn(task, out);
}

/* A reader at the state.  False: the actor has none. */
static inline bool ergon_state_open(struct ergon_task *task, struct ergon_reader *r)
{
    struct ergon_turn turn;
    if (!ergon_host->turn(task, &turn) || turn.state.len == 0)
        return false;
    r->at = turn.state.at;
    r->end = turn.state.at + turn.state.len;
    return true;
}

static inline bool ergon_state_set(struct ergon_task *task, const void *value, size_t len)
{
    return ergon_host->state_set(task, value, len);
}

static inline bool ergon_state_int(struct ergon_task *task, int64_t v)
{
    return ergon_host->state_int(task, v);
}

/* A state that is a struct of the module's own. */
static inline bool ergon_state_bin(struct ergon_task *task, const void *bytes, size_t len)
{
    return ergon_host->state_bin(task, bytes, len);
}

static inline bool ergon_state_drop(struct ergon_task *task)
{
    return ergon_host->state_drop(task);
}

static inline bool ergon_sleep(struct ergon_task *task, uint64_t ns)
{
    return ergon_host->sleep(task, ns);
}

static inline bool ergon_wake(struct ergon_task *task)
{
    return ergon_host->wake(task);
}

static inline bool ergon_stop(struct ergon_task *task, const char *why)
{
    return ergon_host->stop(task, why);
}

/* Of a blocking handler. */
static inline void ergon_call_actor(struct ergon_task *task, const char *to, const char *method,
                                    struct ergon_bytes params, struct ergon_bytes options,
                                    struct ergon_outcome *out)
{
    ergon_host->call_actor(task, to, method, params, options, out);
}

/* Of a stepped one: then ergon_call_await() and ergon_call_outcome(). */
static inline struct ergon_call *ergon_call_actor_start(struct ergon_task *task, const char *to,
                                                        const char *method,
                                                        struct ergon_bytes params,
                                                        struct ergon_bytes options)
{
    return ergon_host->call_actor_start(task, to, method, params, options);
}

static inline bool ergon_remind(struct ergon_task *task, const char *name, const char *method,
                                struct ergon_bytes params, uint64_t in, uint64_t every)
{
    return ergon_host->remind(task, name, method, params, in, every);
}

static inline bool ergon_forget(struct ergon_task *task, const char *name)
{
    return ergon_host->forget(task, name);
}

#ifdef __cplusplus
}
#endif

#endif
