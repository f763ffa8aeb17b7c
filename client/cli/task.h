/* What the commands of `ergon task` share.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TASK_H
#define ERGON_CLI_TASK_H

#include "client/cli/session.h"

extern const struct command TASK_SUBMIT, TASK_CALL, TASK_GET, TASK_WAIT, TASK_WATCH, TASK_CANCEL,
    TASK_RETRY, TASK_FORGET, TASK_CHANGE, TASK_RUN_NOW, TASK_LIST, TASK_EXPLAIN, TASK_EDIT;

struct task_spec;

/* Submits it, and prints its id; or with `wait` waits for its end, and prints that. */
enum status task_submit_spec(struct session *s, const struct task_spec *spec, bool wait);

/* The exit status that an end of a task means; STATUS_OK for "done" alone.  `error` is "NAME:
 * text" or "". */
enum status task_status(const char *state, const char *error);

/* Says how a task ended, and prints its result if it is done; the status that it means.  With
 * --json the whole task. `task` is raw, as task.get shows it. */
enum status task_print_end(const struct globals *g, struct span task);

/* Waits until the task has ended, whatever the connection does, and prints its end.  STATUS_TIMEOUT
 * too, with a message, when the session's time is up before. */
enum status task_await_end(struct session *s, const char *id);

#endif
