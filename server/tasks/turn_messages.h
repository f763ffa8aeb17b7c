/* A turn sends messages to actors, tasks, and reminders to its own actor.  The handler adds them
 * while it runs; the jobs submit all of them with the end of the turn, or none.
 *
 * Thread: that of the owner of the turn.  Nothing here blocks. */
#ifndef ERGON_TASKS_TURN_MESSAGES_H
#define ERGON_TASKS_TURN_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

#include "base/span.h"

enum {
    ACTOR_NAME_MAX = 200,         /* bytes of "type/key" */
    TURN_MESSAGES_MAX = 100,      /* of a turn */
    TURN_MESSAGES_BYTES = 1 << 20 /* likewise */
};

/* One of them; malloc'ed, with what its spans point to. */
struct turn_message {
    struct turn_message *next;
    struct span to;       /* "stats/carts"; empty: it is a task, or a reminder */
    struct span reminder; /* its name; empty: it is none */
    ao_time in, every;    /* of a reminder; 0: not said */
    uint64_t at;          /* likewise: Unix ns */
    struct span method;   /* its full name: "stats.added"; empty: the reminder is forgotten */
    struct span params;   /* raw */
    struct span options;  /* a raw map or nil, which nobody has looked at; empty: none */
    bool later;           /* the jobs': it is sent when the turn is on disk */
};

/* In the order in which they are to be submitted. */
struct turn_messages {
    struct turn_message *first, *last;
    uint32_t count, bytes; /* bytes: of all that they have */
};

/* What a message is made of.  Borrowed. */
struct turn_message_parts {
    struct span to;       /* empty: it is a task, or a reminder */
    struct span reminder; /* its name; empty: it is none */
    struct span type;     /* of a reminder: that of its actor */
    ao_time in, every;    /* of a reminder; 0: not said */
    uint64_t at;          /* likewise: Unix ns */
    struct span method;   /* of a message without its type: "added"; empty: see above */
    struct span params;   /* one raw value; empty: none */
    struct span options;
};

/* Adds one.  NULL; or a constant text that says why there is none. */
const char *turn_messages_add(struct turn_messages *all, const struct turn_message_parts *parts);

/* The raw arrays of the changes; empty: not given. */
struct turn_messages_raw {
    struct span tell;   /* of [to, method, params, options] */
    struct span task;   /* of [method, params, options] */
    struct span remind; /* of [name, method, params, {in or at, every}] */
    struct span forget; /* of names */
};
/* Adds those of raw arrays, which were read as one value each, of an actor of this type.  False,
 * and a text that names the message. */
bool turn_messages_read(struct turn_messages *all, const struct turn_messages_raw *raw,
                        struct span type, char *error, size_t size);

struct pack;
/* As a raw map of {task} or {tell}, an array of this one. */
void turn_message_pack(const struct turn_message *m, struct pack *p);

void turn_messages_drop(struct turn_messages *messages); /* there are none any more */

/* A call of an actor that a turn of a handler of this process makes, as the parameters of the task
 * by which it goes to the jobs: [to, params, options, job, attempt, number]. */
struct turn_call {
    struct span to;      /* "order/7" */
    struct span params;  /* raw */
    struct span options; /* raw map, or a nil */
    uint64_t job;        /* whose turn calls */
    uint32_t attempt;    /* of it; see struct attempt_turn */
    uint32_t number;     /* of the call, within its turn, from 1 */
};

/* malloc'ed; *len bytes.  Empty params are an empty array, empty options nil.  NULL without memory.
 */
uint8_t *turn_call_pack(const struct turn_call *call, size_t *len);
bool turn_call_read(struct span raw, struct turn_call *call); /* false: it is none */

#endif
