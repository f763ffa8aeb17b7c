/* A command under a guardian: a small process of our own between `ergon` and the command, which
 * ends the command with everything that it has started as soon as `ergon` ends, also by kill -9.
 *
 *      ergon --- guardian --- command, in a process group of its own
 *                   |            \
 *                   |             what the command starts, whatever groups or sessions it makes
 *                   +--- what lost its parent: the guardian is its reaper
 *
 * What holds:
 *   - The guardian has gone, and `fn` is called, only when no process is left that the command
 *     started.  When the command itself has ended, what it left behind gets SIGTERM, and after
 *     `patience_ms` SIGKILL.  A new session (setsid, a daemon) does not help; another user's
 *     process (sudo) and one that has been handed to somebody else (a container, systemd-run) are
 *     out of reach.
 *   - `ergon` ends, however: SIGKILL at once.
 *   - The guardian itself is killed: the command is, by its death signal, and `ergon` kills what is
 *     left of the command's group.
 *   - It does not take part in job control: no signal but SIGKILL and SIGSTOP reaches the guardian.
 *     With `terminal` the command gets the terminal that `ergon` had, and gives it back.
 *
 * Thread: that of the event base.  Nothing blocks.  Needs pidfds (Linux 5.3). */
#ifndef ERGON_CLI_GUARDIAN_H
#define ERGON_CLI_GUARDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct guard;

struct guard_variable {
    const char *name;
    const char *value; /* NULL: it is taken out */
};

/* All of it is used during guard_start() only. */
struct guard_plan {
    char *const *argv; /* NULL behind the last; argv[0] is looked for in PATH, as a shell does */
    const struct guard_variable *variables; /* into the environment of `ergon` */
    size_t variable_count;
    int in, out, err;     /* what becomes the command's; -1: as `ergon` has it */
    int keep;             /* the guardian keeps this open until the end of all; -1: nothing */
    bool terminal;        /* in the foreground, if `ergon` is */
    uint32_t patience_ms; /* between SIGTERM and SIGKILL */
};

/* The end of all: `status` as waitpid() has it.  A command that cannot be started has said why on
 * its standard error, and exits with 127 (there is none) or 126 (it cannot be run).  A guardian
 * that was killed counts as SIGKILL.  The guard is gone. */
typedef void guard_ended_fn(void *arg, int status);

/* NULL: no process, descriptor or memory; errno says which.  Otherwise `fn` is called once, from
 * the event base. */
struct guard *guard_start(struct event_base *base, const struct guard_plan *plan,
                          guard_ended_fn *fn, void *arg);

/* False: `ergon` was started with this signal ignored, as by nohup, and so is the command: it is
 * not to be watched. */
bool guard_minds(int signal_number);

/* To the command's process group; lost if the command has ended.  A command that SIGTSTP stopped
 * stays so until SIGCONT; one that is stopped otherwise, in the foreground of a terminal, is
 * continued at once. */
void guard_signal(struct guard *g, int number);

/* SIGTERM, and SIGKILL after patience_ms; a second time changes nothing. */
void guard_stop(struct guard *g);

/* SIGKILL at once. */
void guard_kill(struct guard *g);

/* SIGKILL at this time of CLOCK_BOOTTIME, in nanoseconds, unless another time is given before.  It
 * is the guardian who looks at the clock: it does so while `ergon` is stopped.  False: it could not
 * be told, and what was said before holds. */
bool guard_until(struct guard *g, uint64_t boottime_ns);

#endif
