/* The server's own methods, as proto/methods.h has them, each with its function; and what these
 * functions do with a request.
 *
 * Thread: the loop's, for all of this header.  Names that are found are constant, or the
 * registry's: they last as long as the server. */
#ifndef ERGON_RPC_METHOD_H
#define ERGON_RPC_METHOD_H

#include "proto/methods.h"
#include "proto/options.h"
#include "proto/pack.h"
#include "server/net/auth/principal.h"
#include "server/net/connection_rights.h"
#include "server/rpc/answer.h"
#include "server/rpc/rpc.h"

/* Valid while its message is read: connection and spans are the message's. */
struct rpc_request {
    struct rpc_loop *loop;
    struct connection *conn;
    struct span msgid;  /* empty: a notification, which is never answered */
    struct span params; /* raw */
};

/* The words of proto/methods.h, which says what they mean. */
enum rpc_access { RPC_OPEN, RPC_KNOWN, RPC_GUARDED };
enum rpc_audit { RPC_USES, RPC_SUBMITS, RPC_STEERS, RPC_FOREIGN, RPC_RULES };
enum rpc_limits { RPC_COUNTED, RPC_HARMLESS, RPC_HARMLESS_BARE };

/* Of calls in the list of a connection: the part that serves them.  0: a handler. */
enum call_tag {
    CALL_OPERATION = 1, /* job_requests.h */
    CALL_POLL = 2,      /* and may wait for long */
    CALL_CENSUS = 4,    /* census.h */
    CALL_WORKER = 8,    /* workers.h */
    CALL_READING = 16   /* submit_many.h */
};

struct rpc_method {
    const char *name;
    enum rpc_access access;
    enum rpc_audit audit;
    enum rpc_limits limits;
    const char *params;
    const char *summary;
    void (*serve)(struct rpc_request *rq); /* answers once, now or through a call that it starts */
    /* Of those whose shape is not OWN: what answers it, and of ID_OR_FILTER what answers a map. */
    const struct operation_class *operation, *matching;
};

/* Of the shape OWN, each in the file of its namespace. */
#define X(id, ...) void serve_##id(struct rpc_request *rq);
ERGON_METHODS(X)
#undef X

/* The server's own method of this name, or NULL. */
const struct rpc_method *rpc_find_own(struct rpc_loop *loop, struct span name);

/* The handler of this name, or NULL. */
struct method *rpc_find_handler(struct rpc_loop *loop, struct span name);

/* Where a method may be that is not found, as a hint to the client.  Constant. */
const char *rpc_where_else(struct span name);

/* Answers BAD_PARAMS: the method takes other parameters, and which, with `more` behind that, such
 * as RPC_EXPECTS_NAME. */
void rpc_refuse_params(struct rpc_request *rq, const char *more);

/* The one parameter, read by read_text() or the like.  False: rpc_refuse_params(). */
bool rpc_read_only(struct rpc_request *rq, bool (*read)(struct reader *r, struct span *out),
                   struct span *out);

/* The next value, which may be long, of the request's parameters, which lie at `params` now: what
 * the scanner noted of it is not walked through once more. */
bool rpc_read_any(const struct rpc_request *rq, struct span params, struct reader *r,
                  struct span *raw);

/* The map of options that is the last parameter, or nil in its place: as options_take().  False:
 * the request was answered BAD_PARAMS. */
bool rpc_read_options(struct rpc_request *rq, struct reader *r, const struct option *options,
                      uint32_t count);

/* May this peer call this method?  `lasting`: the method's name in memory that lasts as long as the
 * server, so that the result can be cached; NULL: there is no such method.  False: the request was
 * answered, AUTH or DENIED. */
bool rpc_admit(struct rpc_request *rq, struct span method, const void *lasting,
               enum rpc_access access);

/* Do rights over others (task.any) count on the listener that the peer came by? */
bool rpc_others_count(const struct connection *c);

/* Is there room in its account for what this will hold?  No: it is handed over again, as if it had
 * not come, when there is; nothing is answered.  Or, of a connection that serves, it was answered
 * BUSY. */
bool rpc_may_begin(struct rpc_request *rq, uint64_t bytes);

/* Hands a call of a handler to the loop's home, which answers it when it ends.  If the home refuses
 * it (home_call() says why), the request is answered so here.  Where there is no room for it, as
 * rpc_may_begin().  `trace`: that it belongs to; NULL: to none. */
void rpc_start_call(struct rpc_request *rq, struct method *m, struct span params, ao_time deadline,
                    const struct trace_link *trace);

/* A request of one of the server's own methods becomes a call of its connection, which is answered
 * later: `c`, zeroed, is filled in and linked.  `counted`: as conn_call_began(). */
void rpc_open_call(struct rpc_request *rq, struct call *c, unsigned tag, bool counted);

/* The one answer of a request; of a notification nothing.  rpc_refuse() counts it as refused; a
 * text is cut at 400 bytes. */
void rpc_answer(struct rpc_request *rq, struct span result);
void rpc_answer_packed(struct rpc_request *rq, struct pack *p); /* MEMORY, if it failed; ends it */
void rpc_refuse(struct rpc_request *rq, enum ergon_error code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
