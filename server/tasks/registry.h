/* The methods that this server runs, by name, and the modules that bring them.
 *
 * Thread: filled by the one that sets up, before the others start; read-only afterwards, for any.
 * A registry owns its methods; handlers, names and modules are the modules' own, for ever. */
#ifndef ERGON_TASKS_REGISTRY_H
#define ERGON_TASKS_REGISTRY_H

#include <ergon/module.h>

#include "base/span.h"

struct pool;
struct registry;

enum { SMALL_PARAMS = 4096 /* bytes */ };

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
    struct span name;
    const struct ergon_handler *handler; /* the module's, for ever */
    const char *module;                  /* name of the module that brought it */
    uint32_t index;                      /* dense, from 0, in order of registration */
    struct ao_class task_class;          /* of its stepped tasks; names the method */
    struct pool *pool; /* that runs it, and belongs to the manager; set by tasks_new() */
    bool no_executor;  /* the pool has none: it is not called.  Set by tasks_new() */
    /* Mean time of service, ns, moving average.  Orders nothing: any executor writes it, and the
     * choice of an executor reads it (relaxed on both sides). */
    _Atomic uint64_t service_ns;
    /* A task of it has parked or taken turns: what begins is likely to want a place.  Orders
     * nothing (relaxed): the first of them may be begun without. */
    _Atomic bool wants_place;
    /* Bytes of the largest results that it gives, or 0 while these are small; and of parameters,
     * with fewer of which a call of it is small altogether.  They order nothing: whoever makes or
     * receives a result writes them, and the next calls go by them (relaxed on all sides). */
    _Atomic uint64_t result_bytes;
    _Atomic uint32_t small_params;
    /* enum complaint bits that were logged.  Orders nothing (relaxed): the exchange finds out who
     * is the first. */
    _Atomic uint8_t complained;
};

/* Any thread.  True for the first who says this of the method: it is to be logged. */
static inline bool method_complain(struct method *m, enum complaint what)
{
    return !(atomic_fetch_or_explicit(&m->complained, (uint8_t)what, memory_order_relaxed) & what);
}

struct registry *registry_new(void); /* NULL without memory */
void registry_free(struct registry *r);

/* 0, or -1 and a text in `error`: a bad or taken name, a prefix of the server's own, a handler that
 * is neither stepped nor blocking or both, too much state, no memory. */
int registry_add(struct registry *r, const char *module, const struct ergon_handler *handler,
                 char *error, size_t size);

/* NULL: there is none. */
struct method *registry_find(const struct registry *r, struct span name);
uint32_t registry_count(const struct registry *r);
struct method *registry_at(const struct registry *r, uint32_t index);

/* True for names below server. task. queue. cron. worker. sem. event. actor. */
bool registry_reserved(struct span name);

/* Loads a shared object (dlopen, RTLD_NOW | RTLD_LOCAL) and lets it register its handlers; they
 * stay for the life of the process.  0, or -1 and a text: not found, no function ergon_module, a
 * major version that is not ours (both named), init refused, a handler refused. */
int module_load(struct registry *r, const char *path, char *error, size_t size);

/* The same for a module that is linked in; the errors are those from the version on. */
int module_add(struct registry *r, const struct ergon_module_info *info, char *error, size_t size);

#endif
