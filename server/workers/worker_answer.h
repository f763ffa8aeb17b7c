/* Requests of a peer about the tasks that its workers have, before it answers them.
 *
 * Thread: the loop's. */
#ifndef ERGON_WORKERS_ANSWER_H
#define ERGON_WORKERS_ANSWER_H

#include "proto/errors.h"
#include "base/span.h"

struct connection;
struct task;

/* The task of this request, whose worker runs it; NULL: there is none. */
struct task *worker_running(struct connection *c, uint64_t number);
/* An attempt that is at a worker of this connection is to submit these as it ends well, by the
 * rights of its principal: a raw map of {task, tell}.  Not ERGON_OK, and a text: then the attempt
 * cannot end well any more, since it submits all or nothing. */
enum ergon_error worker_add_sends(struct connection *c, struct task *t, struct span sends,
                                  char *text, size_t size);

#endif
