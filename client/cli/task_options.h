/* The options of a task, as the command line takes them. */
#ifndef ERGON_CLI_TASK_OPTIONS_H
#define ERGON_CLI_TASK_OPTIONS_H

#include "client/cli/options.h"

#include <jansson.h>

/* As they were written; NULL: not given.  First in the struct of a command that shares them. */
struct task_options {
    const char *priority, *delay, *at, *attempt_timeout, *deadline;
    const char *retries, *backoff, *backoff_max, *backoff_jitter;
    const char *key, *coalesce, *limit, *rate, *tenant, *after;
    const char *keep, *keep_size, *durable;
};

/* The first of them are for a task that is submitted once; a cron takes those behind. */
enum { TASK_OPTIONS_ONCE = 4 };
extern const struct option_spec TASK_OPTIONS[];

/* The map of options as the wire has it, a new reference.  NULL: a message was printed. */
json_t *task_options_map(const struct task_options *o);

#endif
