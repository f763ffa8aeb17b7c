/* Actors of a server, for users of libergon: states with a name, to which clients send messages.
 * What they are docs/actors.md says, the wire PROTOCOL.md.
 *
 *   struct ergon_request *r = ergon_request_actor_call("cart/42", "add", params, NULL);
 *   if (ergon_blocking_ask(server, r, 5000, &answer) == ERGON_END_OK)
 *       use(answer->result);
 *
 * As in client_tasks.h, each function makes a request, which any face of client.h sends.  NULL: out
 * of memory.  Any thread.  An actor is named TYPE/KEY, a method without its type. */
#ifndef ERGON_CLIENT_ACTORS_H
#define ERGON_CLIENT_ACTORS_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- messages ---- */

/* actor.call: the answer is what the method returns.  actor.tell leaves the message; read the
 * answer by ergon_read_submitted().  `params`: one MessagePack array, or empty for none; `options`
 * may be NULL, and their member `actor` is NULL. */
ERGON_API struct ergon_request *ergon_request_actor_call(const char *actor, const char *method,
                                                         struct ergon_raw params,
                                                         const struct ergon_task_options *options);
ERGON_API struct ergon_request *ergon_request_actor_tell(const char *actor, const char *method,
                                                         struct ergon_raw params,
                                                         const struct ergon_task_options *options);

/* ---- one actor ---- */

/* Zero, or NULL, means the server's default.  One whose `size` is 0 makes a request that is refused
 * (INVALID). */
struct ergon_actor_options {
    size_t size;        /* sizeof(struct ergon_actor_options) */
    const char *tenant; /* whose it is; NULL: the caller's own */
    bool state;         /* of actor.get: with the state */
    bool reset;         /* of actor.start: without the state */
    const char *reason; /* of actor.stop: the text that callers get */
    /* Of actor.watch: the version that is waited for, 0: the next one; and how long, at most. */
    uint64_t from, timeout_ms;
};

/* actor.get, .explain; read by ergon_read_actor().  `options` may be NULL. */
ERGON_API struct ergon_request *ergon_request_actor_get(const char *actor,
                                                        const struct ergon_actor_options *options);
ERGON_API struct ergon_request *
ergon_request_actor_explain(const char *actor, const struct ergon_actor_options *options);

/* actor.watch: waits for a version; read by ergon_read_actor_version(). */
ERGON_API struct ergon_request *
ergon_request_actor_watch(const char *actor, const struct ergon_actor_options *options);

/* actor.start, .stop, .wake, .drop: the answer is a map with the `stage`. */
ERGON_API struct ergon_request *
ergon_request_actor_start(const char *actor, const struct ergon_actor_options *options);
ERGON_API struct ergon_request *ergon_request_actor_stop(const char *actor,
                                                         const struct ergon_actor_options *options);
ERGON_API struct ergon_request *ergon_request_actor_wake(const char *actor,
                                                         const struct ergon_actor_options *options);
ERGON_API struct ergon_request *ergon_request_actor_drop(const char *actor,
                                                         const struct ergon_actor_options *options);

/* ---- reminders ---- */

/* When a reminder is due: after `in_ms` (ERGON_ZERO: at once) or at `at_ms` (Unix milliseconds), or
 * with neither after `every_ms`; and again and again after `every_ms`, if that is not 0.  One whose
 * `size` is 0 makes a request that is refused (INVALID). */
struct ergon_reminder {
    size_t size;        /* sizeof(struct ergon_reminder) */
    const char *tenant; /* whose actor it is; NULL: the caller's own */
    uint64_t in_ms, at_ms, every_ms;
};

/* actor.remind: puts the reminder `name`; the answer is a map of `id` and `due`.  `params`: as
 * above. */
ERGON_API struct ergon_request *ergon_request_actor_remind(const char *actor, const char *name,
                                                           const char *method,
                                                           struct ergon_raw params,
                                                           const struct ergon_reminder *when);
/* actor.forget: the answer says whether there was one.  Of `options`, which may be NULL, it takes
 * the tenant. */
ERGON_API struct ergon_request *
ergon_request_actor_forget(const char *actor, const char *name,
                           const struct ergon_actor_options *options);

/* ---- many ---- */

/* Which actors are meant: all conditions hold.  Zero and NULL: not asked for.  One whose `size` is
 * 0 makes a request that is refused (INVALID). */
struct ergon_actor_filter {
    size_t size; /* sizeof(struct ergon_actor_filter) */
    const char *type;
    const char *prefix; /* of the name: "cart/eu-" */
    const char *stage;  /* "active", "sleeping", "stopped" */
    const char *tenant;
    uint64_t limit;     /* of a page */
    const char *cursor; /* `next` of the page before */
    const char *sort;   /* "waiting": those in memory with the most messages that wait, first */
};

/* actor.list: a page of those that a filter means (NULL: of all); read by ergon_next_actor(). */
ERGON_API struct ergon_request *ergon_request_actors(const struct ergon_actor_filter *filter);

/* actor.types: an array; read by ergon_next_actor_type(). */
ERGON_API struct ergon_request *ergon_request_actor_types(void);

/* ---- answers ---- */

/* The server shows an actor so.  Strings are copied, and cut where they do not fit; what is nil
 * is "" or 0.  Points in time are Unix milliseconds. */
struct ergon_actor_shown {
    char actor[201];
    char tenant[257];
    char stage[16];
    uint64_t next;     /* when its next step or reminder is due */
    uint64_t version;  /* how often its state has changed */
    uint64_t schema;   /* the number of the form of its state */
    char durable[16];  /* "none": it is in memory alone; "fsync": its changes are on disk */
    uint64_t waiting;  /* messages in its mailbox */
    uint64_t oldest;   /* when the first of them was sent */
    uint64_t failures; /* messages that failed for good, while it is in memory */
    char stopped[257]; /* why */
    char turn_id[40];  /* the message that runs; "": none does */
    char turn_method[257];
    uint64_t turn_attempt, turn_started;
    struct ergon_raw state; /* points into the answer; empty: none, hidden, or not asked for */
    bool state_hidden;      /* the caller may not see it */
    char reason[24]; /* of actor.explain: why it does what it does, and the same for people */
    char text[513];
    bool resident; /* its state is in memory, not on disk alone */
};

/* What actor.watch answers. */
struct ergon_actor_version {
    uint64_t version; /* 0: it is not there, or was dropped */
    char stage[16];
    bool timeout;           /* the time was over; then there is no state */
    struct ergon_raw state; /* points into the answer; empty: none, or hidden */
    bool state_hidden;
};

/* A type of actors, once a module or a worker has offered it. */
struct ergon_actor_type_shown {
    char type[65];
    uint64_t schema;                  /* of the latest registration */
    bool steps;                       /* it has a method `step` */
    char durable[16];                 /* of its actors */
    uint64_t actors, active, stopped; /* that are in memory */
    /* When a message has failed for good: "skip", "stop", "reset"; so many failures within so many
     * ms stop the actor; and the actor that hears of them. */
    char on_failure[16];
    uint64_t intensity, window_ms;
    char supervisor[201];
    bool pipeline; /* its turns do not wait for the disk */
};

/* False: the value is no such answer, and `out` is undefined. */
ERGON_API bool ergon_read_actor(struct ergon_raw value, struct ergon_actor_shown *out);
ERGON_API bool ergon_read_actor_version(struct ergon_raw value, struct ergon_actor_version *out);

/* Those of an actor.list, or of an actor.types, one by one: *at is 0 before the first.  False:
 * there is no further one. */
ERGON_API bool ergon_next_actor(struct ergon_raw answer, size_t *at, struct ergon_actor_shown *out);
ERGON_API bool ergon_next_actor_type(struct ergon_raw answer, size_t *at,
                                     struct ergon_actor_type_shown *out);

#ifdef __cplusplus
}
#endif

#endif
