/* The options of a cron: its own, and those of its tasks, in one map. */
#ifndef ERGON_JOBS_CRON_OPTIONS_H
#define ERGON_JOBS_CRON_OPTIONS_H

#include "proto/reader.h"
#include "server/jobs/cron/cron_spec.h"

/* Takes the map at the reader; `options` is set to its bytes.  False, and a text. */
bool cron_read_options(struct reader *r, struct cron_spec *c, char *error, size_t size);

#endif
