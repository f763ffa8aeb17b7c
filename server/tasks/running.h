/* Which task the calling thread runs, for reports of what went wrong.
 *
 * Thread: any, each for itself; in a signal handler too: nothing is locked or allocated. */
#ifndef ERGON_TASKS_RUNNING_H
#define ERGON_TASKS_RUNNING_H

#include "server/tasks/attempt.h"

struct running_task {
    const char *method, *module; /* for ever */
    char name[TASK_NAME_MAX];
};

/* The mark of the attempt whose handler this thread is in; NULL: there is none. */
const struct attempt_mark *task_running_mark(void);

/* False: this thread is in no handler. */
bool task_running_here(struct running_task *out);

#endif
