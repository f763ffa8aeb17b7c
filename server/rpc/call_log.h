/* Debug records of requests in the log: their arrival and their outcome, by connection, message id
 * and task.
 *
 * Without debug records, a request of a handler costs nothing extra: with them, another port
 * receives the messages (rpc_port()), and another receiver gets the ends of their calls.
 *
 * Thread: the loop's. */
#ifndef ERGON_RPC_CALL_LOG_H
#define ERGON_RPC_CALL_LOG_H

#include "server/rpc/method.h"

/* A request or a notification has come. */
void call_log_came(const struct connection *c, const struct envelope *e);

/* It was refused, for want of a right or of room.  `text` says why. */
void call_log_refused(const struct rpc_request *rq, enum ergon_error code, const char *text);

/* A call of a handler has ended, and is about to be answered. */
void call_log_ended(const struct call *call, const struct outcome *outcome);

/* A request of one of the server's own methods is answered; `error`: ERGON_OK, or with what. */
void call_log_answered(const struct connection *c, const char *method, struct span msgid,
                       enum ergon_error error);

#endif
