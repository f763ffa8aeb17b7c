/* Modules in processes of their own: `--module thumbs.so,process`.
 *
 * Each process is this program once more (spawn.h), with the module loaded and nothing else to do.
 * It is a worker of this server, over a socket that it is born with; so its tasks are given, cut
 * off, cancelled and traced as those of any worker.  Its handlers have the rights of the server's.
 * While none of its processes is there, calls of the module's methods wait.
 *
 *     WAITING --> STARTING (it loads the module) --> RUNNING --> it ended: WAITING
 *         \______________/ it ended, or said nothing: after a pause
 *
 * A board that the process shares with the server says how far its calls had come when it ended
 * (server/tasks/call_board.h, server/workers/worker_process.c): a fault of a handler costs its own
 * attempt.
 *
 * Thread: main, but where a function says otherwise. One of its own, "processes", starts processes
 * and waits for their ends. */
#ifndef ERGON_PROCESSES_PROCESSES_H
#define ERGON_PROCESSES_PROCESSES_H

#include "server/config/config.h"
#include "server/rpc/rpc.h"

struct processes;

/* Starts the first process of each such module, waits until it has loaded that, and makes methods
 * of those that it brings.  After tasks_new().  The registry is borrowed.  NULL and a text: a
 * process cannot be started, does not load the module within 30 s, or brings a method that is there
 * already. */
struct processes *processes_new(const struct config *c, struct registry *registry, char *error,
                                size_t size);
/* Any thread, once its processes are there. */
struct rpc_processes processes_port(struct processes *p);
/* Before the start: by this acceptor its processes are connected.  0, or -1 and a text. */
int processes_listen(struct processes *p, struct acceptor *acceptor, char *error, size_t size);
/* Starts the thread, and the other processes by it.  0, or an errno. */
int processes_start(struct processes *p);
/* No process is started any more; ends all, and waits for that.  NULL and twice are fine. */
void processes_stop(struct processes *p);
void processes_free(struct processes *p); /* after the loops have ended; NULL is fine */

/* Is there any such module? */
bool processes_configured(const struct config *c);

#endif
