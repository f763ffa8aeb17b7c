/* One request of the server as a run of a command, from its arrival until it has been answered and
 * no process of it is left (guardian.h).
 *
 *      served request --- worker_task --- guard --- command
 *                             |    standard input:  the parameters
 *                             |    standard output: the result, kept until the end
 *                             |    standard error:  progress, line by line, ten a second at most;
 *                             |                     its end is the traceback of a failure
 *
 * Thread: that of the event base.  Nothing blocks. */
#ifndef ERGON_CLI_WORKER_TASK_H
#define ERGON_CLI_WORKER_TASK_H

#include "base/list.h"
#include "client/cli/worker_form.h"

struct event_base;
struct worker_task;

/* What all tasks of a worker share; outlives them. */
struct worker_home {
    struct event_base *base;
    struct ergon_client *client;
    char *const *command;
    size_t words;
    enum input_form input;
    enum output_form output;
    size_t output_max;    /* bytes of standard output */
    uint32_t patience_ms; /* between SIGTERM and SIGKILL */
    bool verbose;         /* lines of standard error are shown, too */

    /* The task has been answered, and goes as this returns. */
    void (*ended)(void *arg, struct worker_task *t);
    void *arg;
};

struct worker_task {
    TAILQ_ENTRY(worker_task) link; /* the owner's */
    struct worker_run *run;        /* the inside */
};

TAILQ_HEAD(worker_task_list, worker_task);

/* NULL: it was refused, and is answered: BAD_PARAMS, or AGAIN for a lack of processes, descriptors
 * or memory.  Otherwise `home->ended` is called once, later. */
struct worker_task *worker_task_start(const struct worker_home *home, struct ergon_served *served);

/* Is it this call, as worker.cancel names it? */
bool worker_task_is(const struct worker_task *t, json_int_t call);

/* Its command is told to end, then killed; the answer says why.  The first reason counts. */
void worker_task_cancel(struct worker_task *t, const char *why);
void worker_task_hand_back(struct worker_task *t); /* AGAIN: it runs elsewhere */

/* Nobody waits for the answer any more. */
void worker_task_lost(struct worker_task *t);

/* SIGKILL, if it has been told to end. */
void worker_task_kill(struct worker_task *t);

#endif
