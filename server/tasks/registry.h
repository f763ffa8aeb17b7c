/* The methods that can be called, by name: those that modules bring, and those that workers offer.
 *
 * Thread: methods are added by one thread, the one that sets up, and after the start the manager's;
 * any thread finds them meanwhile.  None is ever removed, so a pointer to one stays valid. A
 * registry owns its methods; handlers and modules are the modules' own, for ever. */
#ifndef ERGON_TASKS_REGISTRY_H
#define ERGON_TASKS_REGISTRY_H

#include <ergon/module.h>

#include "base/span.h"
#include "proto/errors.h"

struct pool;
struct registry;

enum {
    SMALL_PARAMS = 4096,    /* bytes */
    METHODS_OFFERED = 10000 /* so many names that no module has */
};

/* What a handler did against the rules; said once of each method. */
enum complaint {
    COMPLAINT_VERDICT = 1,
    COMPLAINT_CODE = 2,
    /* With --dev alone: see dev_checks.h. */
    COMPLAINT_SLEEP = 4,
    COMPLAINT_LONG = 8,
    COMPLAINT_NESTED = 16,
    COMPLAINT_MEMORY = 32
};

struct method {
    struct span name; /* with a terminator behind it */
    /* The module's, for ever.  Where workers alone offer it, one that nobody runs, which is neither
     * stepped nor blocking: method_of_workers(). */
    const struct ergon_handler *handler;
    const char *module;         /* name of the module that brought it; "workers" */
    uint32_t index;             /* dense, from 0, in order of registration */
    uint64_t mark;              /* of its tasks in the flight recorder: recorder_method() */
    struct ao_class task_class; /* of its stepped tasks; names the method */
    /* That runs it, and belongs to the manager.  Set by tasks_new(), or by the function that
     * registry_on_intern() names. */
    struct pool *pool;
    struct pool *attempts_pool; /* likewise, that runs its attempts of jobs; as a rule the same */
    bool no_executor; /* the pool has none, and never will: it is not called.  Set by tasks_new() */
    /* Of a handler of this process: workers may offer it beside that (`workers.join`).  Set before
     * tasks_new(). */
    bool joined;
    bool managed; /* its calls go by the manager alone; set as `joined` */
    /* Of a module in processes of its own, which alone offer it; while none is there, calls wait,
     * so `refuses` is never set.  Set before the threads start. */
    bool of_processes;
    /* Of a handler of this process: other nodes may run its attempts; its calls run here.
     * `elsewhere`: they alone run them.  Set before tasks_new(). */
    bool spread, elsewhere;
    /* enum ergon_error: with what a call is refused now; ERGON_OK: it is not.  Orders nothing
     * (relaxed): a call that sees an old value is answered by the manager. */
    _Atomic uint8_t refuses;
    /* Mean time of service, ns, moving average.  Orders nothing: any executor writes it, and the
     * choice of an executor reads it (relaxed on both sides). */
    _Atomic uint64_t service_ns;
    /* A task of it has parked or taken turns: what begins is likely to want a place.  Orders
     * nothing (relaxed): the first of them may be begun without. */
    _Atomic bool wants_place;
    /* Bytes of the largest results that it gives, or 0 while these are small; and of parameters,
     * with fewer of which a call of it is small altogether.  They order nothing: the threads that
     * make or receive a result write them, and the next calls go by them (relaxed on all sides). */
    _Atomic uint64_t result_bytes;
    _Atomic uint32_t small_params;
    /* Calls of it that were refused BUSY.  Orders nothing (relaxed): any home adds, and others show
     * it. */
    _Atomic uint64_t busy;
    /* enum actor_method bits (actor_offer.h): it is a method of actors, for ever, and takes no
     * plain calls.  Orders nothing (relaxed): a call that sees an old value is refused by the jobs.
     */
    _Atomic uint8_t of_actor;
    /* enum complaint bits that were logged.  Orders nothing (relaxed): the exchange finds out which
     * thread is the first. */
    _Atomic uint8_t complained;
};

/* Any thread. */
static inline enum ergon_error method_refuses(const struct method *m)
{
    return (enum ergon_error)atomic_load_explicit(&m->refuses, memory_order_relaxed);
}

/* Any thread.  True for the first caller that says this of the method: it is to be logged. */
static inline bool method_complain(struct method *m, enum complaint what)
{
    return !(atomic_fetch_or_explicit(&m->complained, (uint8_t)what, memory_order_relaxed) & what);
}

static inline const char *method_name(const struct method *m)
{
    return (const char *)m->name.at;
}

/* No handler of this process: any worker may offer it. */
static inline bool method_of_workers(const struct method *m)
{
    return m->handler->kind != ERGON_STEPPED && m->handler->kind != ERGON_BLOCKING;
}

/* What runs it: "stepped", "blocking" or "worker".  Constant. */
static inline const char *method_kind(const struct method *m)
{
    if (method_of_workers(m))
        return "worker";
    return m->handler->kind == ERGON_STEPPED ? "stepped" : "blocking";
}

/* Set-up, before tasks_new(): workers may offer this handler's method, too, and each task goes to
 * the least occupied executor or worker. */
static inline void method_join(struct method *m)
{
    m->joined = m->managed = true;
}

/* Set-up, before tasks_new(): workers may offer this handler's method for attempts of jobs, and
 * each of these goes to the least occupied executor or worker; not `here`: to workers alone. */
static inline void method_spread(struct method *m, bool here)
{
    m->spread = true;
    m->elsewhere = !here;
}

/* Executors of this process run its attempts, whatever workers do. */
static inline bool method_attempts_here(const struct method *m)
{
    return !method_of_workers(m) && !m->elsewhere && !m->no_executor;
}

struct registry *registry_new(void); /* NULL without memory */
void registry_free(struct registry *r);

/* The writer's thread.  0, or -1 and a text in `error`: a bad or taken name, a prefix of the
 * server's own, a handler that is neither stepped nor blocking or both, too much state, no memory.
 */
int registry_add(struct registry *r, const char *module, const struct ergon_handler *handler,
                 char *error, size_t size);

/* The writer's thread: the method of this name, which is made if there is none, as one that workers
 * offer; the name is copied.  ERGON_OK; or BAD_PARAMS (no name that a method may have), BUSY
 * (METHODS_OFFERED, or too many whose names are put in one place), MEMORY: then *out is NULL. */
enum ergon_error registry_intern(struct registry *r, struct span name, struct method **out);

/* Set-up: `made(arg, m)` is called for each method that registry_intern() makes, on its thread,
 * before the method can be found: it gives it what a call needs.  False: no memory, and there is no
 * method. */
void registry_on_intern(struct registry *r, bool (*made)(void *arg, struct method *m), void *arg);

/* --- Any thread --- */

struct method *registry_find(const struct registry *r, struct span name); /* NULL: there is none */

/* How many there are; it only grows, and more than these may be there when it returns. */
uint32_t registry_count(const struct registry *r);
struct method *registry_at(const struct registry *r, uint32_t index); /* NULL: there is none yet */

/* Any thread.  May a method have this name? */
bool registry_may_name(struct span name);

/* True for names below server. task. queue. cron. worker. sem. event. actor. */
bool registry_reserved(struct span name);

/* Loads a shared object (dlopen, RTLD_NOW | RTLD_LOCAL) and lets it register its handlers; they
 * stay for the life of the process.  0, or -1 and a text: not found, no function ergon_module, a
 * major version that is not ours (both named), init refused, a handler refused. */
int module_load(struct registry *r, const char *path, char *error, size_t size);

/* The same for a module that is linked in; the errors are those from the version on. */
int module_add(struct registry *r, const struct ergon_module_info *info, char *error, size_t size);

#endif
