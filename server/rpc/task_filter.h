/* The options that say which tasks are meant: of task.list, and of task.cancel, task.retry and
 * task.forget in place of an id.
 *
 * Thread: that of the request's loop. */
#ifndef ERGON_RPC_TASK_FILTER_H
#define ERGON_RPC_TASK_FILTER_H

#include "server/rpc/read_spec.h"

enum { TASK_FILTER_OPTIONS = 8 };

/* Reads the map of options at jr->r into the filter; `own`: further options, at most four.  The
 * names point into the operation's memory.  False: the request was answered BAD_PARAMS. */
bool task_filter_read(struct job_request *jr, struct task_filter *filter, const struct option *own,
                      uint32_t own_count);

/* The whole of a request of the shape ID_OR_FILTER (proto/methods.h). */
void task_filter_or_id(struct rpc_request *rq);

#endif
