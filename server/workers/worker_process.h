/* A worker that is a process of a module: when it ends, its server knows by the board that it
 * shares with it (server/tasks/call_board.h) which tasks had begun, and which of them ended it.
 *
 * Thread: the loop's. */
#ifndef ERGON_WORKERS_WORKER_PROCESS_H
#define ERGON_WORKERS_WORKER_PROCESS_H

#include "server/workers/workers.h"

static inline bool worker_is_process(const struct worker_link *link)
{
    return link->number >= 0;
}

/* Returns the module of the link's process; NULL: the link is no process.  A process that has ended
 * already gets a name that no module has. */
const char *worker_process_module(const struct worker_link *link);

/* The link was made, or is about to be freed. */
void worker_process_open(struct worker_link *link);
void worker_process_close(struct worker_link *link);

/* Puts the parameters, an array of *size bytes, into memory that the process shares with the
 * server. Returns false if they are short, or there is no room now: then the socket carries them.
 */
bool worker_process_lend(const struct worker_link *link, struct task *t, uint32_t count,
                         struct span raw, size_t *size);
/* The process has answered this task: the room of its parameters is free. */
void worker_process_answered(const struct worker_link *link, struct task *t);

/* Its connection has ended, and so does the process, if it has not yet.  The task of the handler
 * that ended it has failed by CRASHED; what had not begun, and other attempts of jobs, go to
 * another process uncounted; the rest is lost as with any worker, which worker_executor_lost() sees
 * to, next. */
void worker_process_ended(struct worker_link *link);

/* Its task `t` did not end in time: the process is ended by that, soon. */
void worker_process_end(const struct worker_link *link, const struct task *t);

#endif
