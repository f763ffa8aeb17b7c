/* The builder's part for tasks that last: the store is opened and read back, the ledger stands
 * between it and the task manager, and each loop gets a door.  Main thread. */
#ifndef ERGON_BUILDER_LEDGER_H
#define ERGON_BUILDER_LEDGER_H

#include "server/config.h"
#include "server/ledger/ledger.h"
#include "server/rpc/rpc.h"
#include "server/store/store.h"

struct kept_parts {
    struct store *store; /* NULL: none is configured */
    struct ledger *ledger;
};

/* Before the listeners are opened.  0, or -1 and a text: kept_free() must follow all the same. */
int kept_build(struct kept_parts *k, const struct config *config, struct tasks *tasks,
               struct registry *registry, char *error, size_t size);
int kept_open_door(struct kept_parts *k, struct rpc_loop *loop); /* 0, or -1 without memory */

/* Before the activators run; 0, or -1 and errno. */
int kept_start(struct kept_parts *k);
void kept_stop_store(struct kept_parts *k); /* after their runs: what is on its way is committed */
void kept_free(struct kept_parts *k);       /* after tasks_clear(), before tasks_free() */

#endif
