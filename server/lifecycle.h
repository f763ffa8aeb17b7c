/* The life of a running server, as the main thread sees it: it waits for signals and for the end of
 * the drain, and does nothing else.  With no signal and no work it makes no system call.
 *
 * All functions: main thread. */
#ifndef ERGON_LIFECYCLE_H
#define ERGON_LIFECYCLE_H

#include "server/config/config.h"
#include "server/system/health.h"
#include "server/topology.h"

struct admin;

enum lifecycle_exit {
    LIFECYCLE_OK = 0,     /* drained, or cancelled at the limit: every request was answered */
    LIFECYCLE_FAILED = 1, /* could not start or go on; the log says why */
    LIFECYCLE_STUCK = 3 /* a handler did not return; the log names it, and the process ends here */
};

/* Blocks the signals that the server takes; before the first thread starts, so that all threads
 * inherit it.  0, or -1 and the errno of pthread_sigmask(). */
int lifecycle_block_signals(void);

/* Who looks on from outside. */
struct lifecycle_watch {
    struct health *health; /* borrowed: what /healthz and /readyz tell */
    struct admin *admin;   /* the admin listener, or NULL; closed before the loops' threads end, so
                            * that it answers through the drain */
};

/* Starts the threads, tells the service manager, and stays until SIGTERM or SIGINT has run its
 * course (the first drains, the second stops at once); SIGHUP reloads.  `input` is read again at a
 * reload, which replaces *config and frees the old one.  Frees the topology. */
enum lifecycle_exit lifecycle_run(struct topology *t, struct config **config,
                                  const struct config_input *input,
                                  const struct lifecycle_watch *watch);

#endif
