/* One life of a server's tasks, without its network: jobs over a real file, one executor that runs
 * `work`, and the loop that they live on, which the caller runs. */
#ifndef ERGON_TESTS_JOBS_LIFE_H
#define ERGON_TESTS_JOBS_LIFE_H

#include <ergon/module.h>
#include <ergon/poller.h>

#include <stdbool.h>

#include "server/jobs/jobs.h"
#include "server/store/store.h"

struct jobs_life {
    struct poller *poller;
    struct activator *loop;
    struct registry *registry;
    struct tasks *tasks;
    struct store *store;
    struct jobs *jobs;
    bool started;
};

/* Opens the file at `path`, reads it back and starts all.  `handlers` is a module that is built in.
 * False and a text: the file is refused, or something is not to be had.  jobs_life_end() follows
 * either way. */
bool jobs_life_begin(struct jobs_life *v, const char *path,
                     const struct ergon_module_info *handlers, char *error, size_t size);
void jobs_life_end(struct jobs_life *v);

#endif
