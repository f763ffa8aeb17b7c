/* The table of functions that modules are given, and what it does for a task.
 *
 * Thread: host_table() any; the functions in the table say in include/ergon/handler.h which. */
#ifndef ERGON_TASKS_HOST_H
#define ERGON_TASKS_HOST_H

#include "server/tasks/registry.h"

/* A module while it is initialised. */
struct ergon_module {
    struct registry *registry;
    const char *name; /* as it calls itself */
    char *error;
    size_t error_size;
    bool refused; /* a handler was; `error` says why */
};

/* The part of the table that is about actors (host_actor.c). */
void host_fill_actors(struct ergon_host *to);

const struct ergon_host *host_table(void); /* constant once it was asked for the first time */

#endif
