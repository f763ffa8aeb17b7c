/* A module while it is initialised, for the host's table. */
#ifndef ERGON_TASKS_MODULE_LOADER_H
#define ERGON_TASKS_MODULE_LOADER_H

#include "server/tasks/registry.h"

struct ergon_module {
    struct registry *registry;
    const char *name; /* as it calls itself */
    char *error;
    size_t error_size;
    bool refused; /* a handler was; `error` says why */
};

int module_register(struct ergon_module *module, const struct ergon_handler *handler);

#endif
