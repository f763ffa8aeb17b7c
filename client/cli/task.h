/* What the commands of `ergon task` share. */
#ifndef ERGON_CLI_TASK_H
#define ERGON_CLI_TASK_H

#include "client/cli/session.h"
#include "client/cli/task_options.h"

#include <msgpack.h>

#include <ergon/client_tasks.h>

extern const struct command TASK_SUBMIT, TASK_CALL, TASK_GET, TASK_WAIT, TASK_WATCH, TASK_CANCEL,
    TASK_RETRY, TASK_LIST, TASK_EXPLAIN;

/* The exit status that an end of a task means; STATUS_OK for "done" alone.  `error` is "NAME:
 * text" or "". */
enum status task_status(const char *state, const char *error);

/* Waits until the tasks have ended, or with `any` one of them, whatever the connection does.
 * STATUS_OK, STATUS_TIMEOUT (when the session's time is up: no message), or another with a message.
 * *answer is the last of task.wait, valid until the next call; empty if there was none. */
enum status task_await(struct session *s, char **ids, int count, bool any, struct span *answer);

/* The first task of such an answer, raw; empty if there is none. */
struct span task_first_ended(struct span answer);

/* Says how a task ended, and prints its result if it is done; the status that it means.  With
 * --json the whole task. `task` is raw, as task.get shows it. */
enum status task_print_end(const struct globals *g, struct span task);

/* [method, [params], {options}] and more behind it: packs what all submissions have.  False: a
 * message was printed. */
bool task_pack_order(msgpack_packer *to, const json_t *options, int argc, char **argv);

/* task.submit_many of a file, a JSON value a line. */
enum status task_submit_file(const struct globals *g, const char *path, const json_t *options);

#endif
