/* The name of a task for people: the id of the submitted task that it is an attempt of, or its
 * number.
 *
 * Thread: any; in a signal handler too: nothing is locked or allocated. */
#ifndef ERGON_TASKS_TASK_NAME_H
#define ERGON_TASKS_TASK_NAME_H

#include "server/tasks/task.h"

enum { TASK_NAME_MAX = 34 };

struct tasks_shared;

/* `job`: the submitted task's id as a number, or 0. */
void task_name(const struct tasks_shared *shared, uint64_t number, uint64_t job,
               char buf[TASK_NAME_MAX]);

/* Of a task that runs, by its executor. */
void task_own_name(const struct task *t, char buf[TASK_NAME_MAX]);

#endif
