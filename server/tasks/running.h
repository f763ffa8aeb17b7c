/* Which task the calling thread runs, for reports of what went wrong.
 *
 * Thread: any, each for itself; in a signal handler too: nothing is locked or allocated. */
#ifndef ERGON_TASKS_RUNNING_H
#define ERGON_TASKS_RUNNING_H

#include <stdbool.h>

enum { RUNNING_NAME_MAX = 34 };

struct running_task {
    const char *method, *module; /* for ever */
    char name[RUNNING_NAME_MAX]; /* id of a submitted task; of a call its number in traces */
};

/* False: this thread is in no handler. */
bool task_running_here(struct running_task *out);

#endif
