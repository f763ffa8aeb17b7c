/* What the two files of the blocking executor share. */
#ifndef ERGON_TASKS_BLOCKING_PARTS_H
#define ERGON_TASKS_BLOCKING_PARTS_H

#include "server/tasks/executors/blocking.h"

void blocking_run(struct blocking *b, struct task *t); /* to its end, and sends it home */
bool blocking_stopping(const struct blocking *b);      /* its thread is to end */
bool blocking_flush(struct blocking *b);               /* false: a lane is full */

/* Sleeps until woken, at most `timeout` ns, unless `found` finds something after the announcement:
 * then true. */
bool blocking_sleep(struct blocking *b, bool (*found)(struct blocking *b), ao_time timeout);

/* Nested calls that came home go to the frames that wait for them, or are freed. */
void blocking_take_returns(struct blocking *b);

#endif
