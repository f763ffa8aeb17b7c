/* The options of a task, as the command line takes them: by the table of proto/job_options.h.  One
 * thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TASK_OPTIONS_H
#define ERGON_CLI_TASK_OPTIONS_H

#include "client/cli/options.h"
#include "proto/job_options.h"

#include <jansson.h>

/* As they were written; NULL: not given.  First in the struct of a command that shares them. */
struct task_options {
#define X(name, ...) const char *name;
    JOB_OPTIONS(X)
#undef X
    const char *in;   /* the same as `delay` */
    const char *zone; /* in which `at` is meant, if that has no offset */
};

/* The first of them are for a task that is submitted once; a cron takes those behind. */
#define X(...) +1
enum { TASK_OPTIONS_ONCE = 2 JOB_OPTIONS_ONCE(X) };
#undef X
extern const struct option_spec TASK_OPTIONS[];
extern const struct option_spec MESSAGE_OPTIONS[]; /* without --actor: the command names it */

/* The map of options as the wire has it, a new reference.  NULL: a value is not what its option
 * takes, and a message was printed. */
json_t *task_options_map(const struct task_options *o);

#endif
