/* The builder's part for tasks that last: the store is opened and read back, the ledger stands
 * between it and the task manager, and each loop gets a door.  Main thread. */
#ifndef ERGON_BUILDER_JOBS_H
#define ERGON_BUILDER_JOBS_H

#include "server/config/config.h"
#include "server/jobs/jobs.h"
#include "server/rpc/rpc.h"
#include "server/store/store.h"

struct lasting {
    struct store *store; /* NULL: none is configured */
    struct jobs *jobs;
};

/* Before the listeners are opened.  0, or -1 and a text: lasting_free() must follow all the same.
 */
int lasting_build(struct lasting *k, const struct config *config, struct tasks *tasks,
                  struct registry *registry, char *error, size_t size);
int lasting_open_door(struct lasting *k, struct rpc_loop *loop); /* 0, or -1 without memory */

/* Before the activators run; 0, or -1 and errno. */
int lasting_start(struct lasting *k);
void lasting_stop(struct lasting *k); /* after their runs, while connections are there */
void lasting_free(struct lasting *k); /* after tasks_clear(), before tasks_free() */

#endif
