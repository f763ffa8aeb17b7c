/* `ergon sem run`: a command that runs while permits of a semaphore are held.
 *
 *   ASKING     waits for the permits; leaves when they are granted, or refused
 *   CHECKING   they were granted to a request that was sent long ago: they are renewed before
 *              anything runs
 *   RUNNING    the command runs, and its guardian has the time at which it is killed
 *   RELEASING  nothing of the command is left; the permits go back
 *
 * When the connection is lost, the server keeps the permits for `grace` from then on.  What was
 * answered had been sent before that, so a command that is killed `grace` less a margin after the
 * last renewal that was answered had been SENT is gone before anybody else holds its permits.  The
 * guardian looks at the clock, so this holds for an `ergon` that is stopped, too.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_SEM_RUN_H
#define ERGON_CLI_SEM_RUN_H

#include "client/cli/cli.h"

enum { SEM_RUN_MARGIN_MS = 1000, SEM_RUN_GRACE_MIN_MS = 3 * SEM_RUN_MARGIN_MS };

/* Borrowed. */
struct sem_run_plan {
    const char *name;
    uint64_t permits; /* of the semaphore, if it is not there yet; 0: it is */
    uint64_t take;
    uint64_t grace_ms; /* at least SEM_RUN_GRACE_MIN_MS */
    uint64_t wait_ns;  /* for permits; UINT64_MAX: as long as it takes */
    const char *durable;
    bool warn;            /* a command whose permits are lost is not killed */
    char *const *command; /* NULL behind the last word */
};

/* The exit status: the command's, 128 and the number of the signal that ended it, or what went
 * wrong before it ran, which has been printed. */
int sem_run(const struct globals *g, const struct sem_run_plan *plan);

#endif
