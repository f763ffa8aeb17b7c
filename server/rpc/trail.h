/* The trail of administrative acts in the audit log (base/audit.h): the principal, its address, the
 * act, its object and its outcome.
 *
 * An act is what changes the server, or what belongs to another tenant than the caller's own.  Each
 * row of the method tables says when calling it is one.  An act is recorded once, when it is
 * answered.  What must be recorded is not done where the audit log has no room for it: it is
 * answered BUSY.
 *
 * Thread: the loop's. */
#ifndef ERGON_RPC_TRAIL_H
#define ERGON_RPC_TRAIL_H

#include "server/rpc/method.h"

struct act;

/* Serves a request of one of the server's own methods that was admitted, and records it if it is an
 * act. */
void trail_serve(struct rpc_request *rq, const struct rpc_method *own);

/* A request is passed on to another node: its act, for the caller to end, or NULL, it is none.
 * False: the request was refused, BUSY or MEMORY. */
bool trail_pass_on(struct rpc_request *rq, const struct rpc_method *own, struct act **act);

/* A request is served on, in a step of its own: its method, and its act so far, or NULL. */
void trail_resume(const struct rpc_request *rq, const struct rpc_method *own, struct act *act);
/* It has been served, or refused: unless its act was taken, that has ended. */
void trail_served(struct rpc_loop *loop);

/* The request being served is a submission for this tenant: an act, unless that is the caller's
 * own, or no rights are configured.  False: the request was refused, BUSY or MEMORY. */
bool trail_submission(struct rpc_request *rq, struct span method, struct span tenant);
/* The caller may not submit for the tenant that it named. */
void trail_submission_denied(const struct rpc_request *rq);

/* What is being served has turned out to be an act, of RPC_FOREIGN: it is recorded.  False: the
 * request was refused, BUSY or MEMORY. */
bool trail_begin(struct rpc_request *rq);
/* It has turned out to be one that this principal, which asked on `c`, may not do. */
void trail_foreign_denied(const struct connection *c, const char *principal, const char *method);

/* The act that is being served goes on after its request: the caller takes it, and must end it.
 * NULL: the request need not be recorded. */
struct act *trail_take(struct rpc_loop *loop);
/* How it has ended; `outcome` is "ok" or the name of an error.  Frees it; NULL is fine. */
void trail_end(struct act *act, const char *outcome);
/* It has turned out to be about nothing but the caller's own, and so to be none.  Frees it; NULL is
 * fine. */
void trail_forget(struct act *act);
/* The server ends before it has. */
void trail_drop(struct act *act);

/* A peer may not call a method that is an act. */
void trail_refused(const struct rpc_request *rq, const struct rpc_method *own, const char *code);
/* A peer has authenticated, or failed to.  Success is recorded only for peers that may
 * administrate. */
void trail_authenticated(const struct rpc_request *rq);
void trail_not_authenticated(const struct rpc_request *rq);

#endif
