/* What the main thread does while the server runs: it waits for signals and for the end of the
 * drain, and watches the other threads.  Without a signal and without work it wakes up once a
 * second, for the figures (server/rpc/figures.h).
 *
 * All functions: main thread. */
#ifndef ERGON_LIFECYCLE_H
#define ERGON_LIFECYCLE_H

#include "server/config/config.h"
#include "server/system/health.h"
#include "server/topology.h"

struct admin;

enum lifecycle_exit {
    LIFECYCLE_OK = 0,     /* drained, or cancelled at the drain limit: every request was answered */
    LIFECYCLE_FAILED = 1, /* could not start or go on; the log says why */
    LIFECYCLE_NAMESAKE = 2, /* another node of the cluster has this one's name: to start again does
                               not mend it */
    LIFECYCLE_AGAIN = 75,   /* deposed, drained or refused by its cluster: to be started again, as a
                               front */
    LIFECYCLE_STUCK = 3 /* a handler did not return; the log names it, and the process has exited */
};

/* Blocks the signals that the server handles.  Call it before the first thread starts, so that all
 * threads inherit the mask.  0, or -1 and the errno of pthread_sigmask(). */
int lifecycle_block_signals(void);

/* What lets others observe the server. */
struct lifecycle_watch {
    struct health *health; /* borrowed; /healthz and /readyz report it */
    struct admin *admin;   /* the admin listener, or NULL; it answers during the drain, and is
                            * closed before the loops' threads end */
};

/* Starts the threads, notifies the service manager, and returns when the server has stopped.  The
 * first SIGTERM or SIGINT starts the drain, the second stops the server at once.  SIGHUP reloads:
 * it reads `input` again, replaces *config and frees the old one.  Frees the topology. */
enum lifecycle_exit lifecycle_run(struct topology *t, struct config **config,
                                  const struct config_input *input,
                                  const struct lifecycle_watch *watch);

#endif
