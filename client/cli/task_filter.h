/* The options that say which tasks are meant.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TASK_FILTER_H
#define ERGON_CLI_TASK_FILTER_H

#include "client/cli/cli.h"

/* What the options fill: the first member of the struct that a command's own fill. */
struct filter_options {
    const char *state, *method, *tenant, *key, *actor, *batch;
    uint64_t older_ns, newer_ns;
};

extern const struct option_spec FILTER_OPTIONS[];

/* The same for libergon; texts are those of the options. */
struct ergon_task_filter filter_of(const struct filter_options *o);
/* Is none of them given? */
bool filter_is_empty(const struct filter_options *o);

#endif
