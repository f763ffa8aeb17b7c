/* A type of actors, as a module or a worker offers it: its methods, and how its actors are kept.
 * The latest offer of a type counts.
 *
 * Pure data.  Spans are borrowed; offers of modules stay for ever. */
#ifndef ERGON_TASKS_ACTOR_OFFER_H
#define ERGON_TASKS_ACTOR_OFFER_H

#include <ergon/ao.h>

#include "base/span.h"
#include "server/tasks/registry.h"
#include "server/tasks/turn_messages.h"

enum {
    ACTOR_METHOD_MAX = 64,       /* bytes of "cart.add", as of any handler's name */
    ACTOR_MESSAGES = 1000,       /* of a mailbox */
    ACTOR_MESSAGES_MAX = 100000, /* that a type may allow */
    ACTOR_MAILBOX = 1 << 20,     /* bytes of their parameters */
    ACTOR_STATE_MOST = 1 << 20,  /* bytes of a state that a type may allow */
    ACTOR_METHODS_MAX = 1000,
    ACTOR_INTENSITY_MAX = 1000
};

/* Whether actors outlive the process; numbers as enum job_durable has them. */
enum actor_durable {
    ACTOR_DURABLE_NONE = 0,
    ACTOR_DURABLE_FSYNC = 2,
    ACTOR_DURABLE_UNSAID = UINT8_MAX /* if the server can keep them */
};

/* Why a type that asks for it cannot be durable, behind what names it. */
#define ACTOR_NO_STORE                                                                             \
    "actors that are durable need a store (of a cluster whose upgrade is finished): configure "    \
    "`store`, or offer the type with durable: \"none\""

enum actor_on_failure { ACTOR_SKIPS, ACTOR_STOPS, ACTOR_RESETS };

static inline const char *actor_on_failure_name(unsigned what)
{
    static const char *const names[] = {
        [ACTOR_SKIPS] = "skip", [ACTOR_STOPS] = "stop", [ACTOR_RESETS] = "reset"};
    return what < sizeof names / sizeof *names ? names[what] : "?";
}

struct actor_policy {
    uint32_t schema;       /* of the states that this host writes */
    uint32_t retries;      /* of a message that is no call */
    uint32_t call_retries; /* of a call */
    ao_time backoff, backoff_max;
    ao_time timeout;    /* of one attempt */
    ao_time idle;       /* how long an actor stays that nobody uses */
    uint32_t messages;  /* at most so many in a mailbox */
    uint32_t mailbox;   /* bytes of their parameters, at most */
    uint32_t state;     /* bytes of a state, at most */
    uint8_t durable;    /* enum actor_durable */
    uint8_t on_failure; /* enum actor_on_failure: of a message that was given up */
    uint8_t pipeline;   /* 1: turns touch nothing outside, so the next waits for no disk */
    uint32_t intensity; /* so many of them in `window` stop the actor; 0: none do */
    ao_time window;
    char supervisor[ACTOR_NAME_MAX + 1]; /* the name of an actor of the same tenant; "": none */
};

#define ACTOR_POLICY_DEFAULTS                                                                      \
    .retries = 3, .backoff = AO_MS(100), .backoff_max = AO_S(10), .timeout = AO_S(30),             \
    .idle = AO_S(300), .messages = ACTOR_MESSAGES, .mailbox = ACTOR_MAILBOX, .state = 64 << 10,    \
    .durable = ACTOR_DURABLE_UNSAID, .intensity = 10, .window = AO_S(60)

/* What a method of an actor is; 0: it is none. */
enum actor_method {
    ACTOR_METHOD = 1,
    ACTOR_READS = 2, /* it goes through no mailbox, and changes nothing */
    ACTOR_STEP = 4   /* nobody sends it: an active actor is stepped */
};

struct actor_offer {
    struct span type; /* "cart" */
    struct actor_policy policy;
    struct method *const *methods; /* "cart.add", …, which say what they are; `count` of them */
    uint32_t count;
};

/* "cart" of "cart.add"; empty: there is none. */
static inline struct span actor_type_of_method(struct span method)
{
    size_t len = method.len;
    while (len > 0 && method.at[len - 1] != '.')
        len--;
    return span_of(method.at, len > 0 ? len - 1 : 0);
}

/* "cart" of "cart/42"; empty: there is none, or no key. */
static inline struct span actor_type_of_name(struct span name)
{
    const uint8_t *slash = name.len > 0 ? memchr(name.at, '/', name.len) : NULL;
    size_t len = slash ? (size_t)(slash - name.at) : 0;
    return span_of(name.at, len + 1 < name.len ? len : 0);
}

/* --- Methods and types in the registry --- */

/* enum actor_method bits; 0: it is none of an actor.  Any thread. */
static inline unsigned method_actor(const struct method *m)
{
    return atomic_load_explicit(&m->of_actor, memory_order_relaxed);
}

/* Any thread.  Nobody runs it now; of methods of actors, which refuse plain calls, it is not known.
 */
static inline bool method_nobody_runs(const struct method *m)
{
    enum ergon_error refuses = method_refuses(m);
    return refuses == ERGON_E_NO_WORKER || refuses == ERGON_E_NO_EXECUTOR;
}

/* Set-up: a type of actors of a module, whose methods are in the registry.  The offer is malloc'ed,
 * and the registry's from then on.  False without memory. */
bool registry_add_actor(struct registry *r, struct actor_offer *offer);
/* The n-th type of actors of a module; NULL: there are no more.  After the set-up any thread. */
const struct actor_offer *registry_actor(const struct registry *r, uint32_t n);
/* The writer's thread: plain calls of the method are refused from now on. */
void method_set_actor(struct method *m, unsigned of_actor);
/* Likewise: it is none of an actor, as before, and no worker offers it. */
void method_unset_actor(struct method *m);

#endif
