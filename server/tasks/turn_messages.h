/* What a turn sends: messages to actors, and tasks.  They are gathered while it runs, and submitted
 * with its end, or not at all.
 *
 * Thread: that of the owner of the turn.  Nothing here blocks. */
#ifndef ERGON_TASKS_TURN_MESSAGES_H
#define ERGON_TASKS_TURN_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum {
    ACTOR_NAME_MAX = 200,         /* bytes of "type/key" */
    TURN_MESSAGES_MAX = 100,      /* of a turn */
    TURN_MESSAGES_BYTES = 1 << 20 /* likewise */
};

/* One of them; malloc'ed, with what its spans point to. */
struct turn_message {
    struct turn_message *next;
    struct span to;      /* "stats/carts"; empty: it is a task */
    struct span method;  /* its full name: "stats.added" */
    struct span params;  /* raw */
    struct span options; /* a raw map or nil, which nobody has looked at; empty: none */
};

/* In the order in which they are to be submitted. */
struct turn_messages {
    struct turn_message *first, *last;
    uint32_t count, bytes; /* bytes: of all that they have */
};

/* What a message is made of.  Borrowed. */
struct turn_message_parts {
    struct span to;     /* empty: it is a task */
    struct span method; /* of a message without its type: "added" */
    struct span params; /* one raw value; empty: none */
    struct span options;
};

/* Adds one.  NULL; or a constant text that says why there is none. */
const char *turn_messages_add(struct turn_messages *all, const struct turn_message_parts *parts);

/* Adds those of raw arrays, which were read as one value each: `tell`, of [to, method, params,
 * options], and `task`, of [method, params, options].  False, and a text that names the message. */
bool turn_messages_read(struct turn_messages *all, struct span tells, struct span tasks,
                        char *error, size_t size);

void turn_messages_drop(struct turn_messages *messages); /* there are none any more */

#endif
