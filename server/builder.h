/* The builder assembles the topology: which activators exist, which objects live on which thread,
 * and what feeds what; and takes it apart again.
 *
 *   loop 0..n-1   one thread each: activator, libevent poller, connections, rpc layer, home,
 * stepped executors manager       on loop 0, or on an activator and thread of its own blocking one
 * thread each, started by the task system main          no activator: it waits for signals
 * (server/serve.c)
 *
 * All functions: main thread. */
#ifndef ERGON_BUILDER_H
#define ERGON_BUILDER_H

#include "server/config/config.h"
#include "server/rpc/rpc.h"
#include "server/runners.h"

struct topology;
struct waker;

/* Everything but threads and listeners.  `registry` is borrowed.  NULL and a text in `error`. */
struct topology *topology_build(const struct config *config, struct registry *registry, char *error,
                                size_t size);

/* Opens the configured listeners and loads the tokens.  0, or -1 and a text. */
int topology_listen(struct topology *t, const struct config *config, char *error, size_t size);

/* Starts the threads.  0, or -1 and a text: then nothing runs. */
int topology_start(struct topology *t, char *error, size_t size);

struct acceptor *topology_acceptor(struct topology *t);
struct tasks *topology_tasks(struct topology *t);
void topology_set_draining(struct topology *t); /* for server.info */

/* Before topology_start(): `watcher` is notified whenever an activator comes back from blocking. */
void topology_watch(struct topology *t, struct waker *watcher);
uint32_t topology_activators(const struct topology *t); /* how many threads run one */
const struct runners *topology_runners(const struct topology *t);

/* Ends the loops' runs, joins their threads, then the blocking ones within `limit` ns.  Returns how
 * many of those did not come back: then topology_free() must not be called. */
uint32_t topology_stop(struct topology *t, ao_time limit);
void topology_free(struct topology *t); /* NULL is fine */

#endif
