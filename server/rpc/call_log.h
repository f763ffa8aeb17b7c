/* What the log tells of requests while it has debug records: that they came, and what became of
 * them, by connection, message id and task.
 *
 * A request of a handler costs nothing of this otherwise: the port that is told of messages is
 * another one then (rpc_port()), and so is who is told of the ends of the calls that they begin.
 *
 * Thread: the loop's. */
#ifndef ERGON_RPC_CALL_LOG_H
#define ERGON_RPC_CALL_LOG_H

#include "server/rpc/method.h"

/* A request or a notification has come. */
void call_log_came(const struct connection *c, const struct envelope *e);

/* It was refused: by whom it may be called, or what there is no room for.  `text` says why. */
void call_log_refused(const struct rpc_request *rq, enum ergon_error code, const char *text);

/* A call of a handler has ended, and is about to be answered. */
void call_log_ended(const struct call *call, const struct outcome *outcome);

/* A request of one of the server's own methods is answered; `error`: ERGON_OK, or with what. */
void call_log_answered(const struct connection *c, const char *method, struct span msgid,
                       enum ergon_error error);

#endif
