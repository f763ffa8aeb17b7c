/* Requests that the jobs answer: a request becomes an operation, goes through the loop's channel,
 * and comes back as a response.
 *
 * Thread: the loop's.  The operation is the loop's until job_request_send(), then the jobs' until
 * it comes back, and freed by the loop. */
#ifndef ERGON_RPC_JOB_REQUESTS_H
#define ERGON_RPC_JOB_REQUESTS_H

#include "server/jobs/operations/channel.h"
#include "server/rpc/method.h"

enum { JOB_REQUEST_SPANS = 8 };

/* An operation while its parameters are read.  Of a submission and a cron the whole message is
 * kept first: copied, or a long one taken over with its block.  The spans that readers give point
 * into memory of the operation.  Of all others
 * nothing is kept but what was read, since they may wait for long: ids, and the spans that
 * job_request_keep() names. */
struct job_request {
    struct rpc_request *rq;
    struct operation *op;
    struct span params; /* of a submission: where they lie now */
    struct reader r;    /* at the first parameter */
    uint32_t count;     /* parameters */
    uint64_t *ids; /* of a submission: room for as many as there can be; moved on by its users */
    char *name;    /* of actor.call and tell: ACTOR_METHOD_MAX bytes of its own, for the method's */
    uint32_t item; /* of several specs: which one is being read, from 1; else 0 */
    struct span *kept[JOB_REQUEST_SPANS]; /* of its arguments: job_request_keep() */
    uint32_t kept_count;
    bool has_room; /* what it keeps is in its own memory */
    uint32_t
        answer; /* bytes that its answer may take, but for what it shares; begun with a usual one */
};

/* Makes the operation of a request; `specs`: how many jobs it submits.  False: the request was
 * answered MEMORY. */
bool job_request_begin(struct job_request *jr, struct rpc_request *rq,
                       const struct operation_class *cls, uint32_t specs);
/* The request was answered already: its operation is freed. */
void job_request_abort(struct job_request *jr);
/* This span of the operation's arguments is copied when it is given to the jobs. */
void job_request_keep(struct job_request *jr, struct span *argument);
/* Gives the operation to the jobs.  `poll`: it may wait for long, and does not count as a call in
 * flight; of too many on one connection the last are answered BUSY. */
void job_request_send(struct job_request *jr, bool poll);

/* The request is read on in later steps: it becomes a call of its connection with this tag, which
 * counts as one in flight and is charged for what it holds.  Then jr->rq is set for each step. */
void job_request_open(struct job_request *jr, unsigned tag);
/* Of one that is open, in place of job_request_send() and job_request_abort(). */
void job_request_give(struct job_request *jr);
void job_request_close(struct job_request *jr);

/* Reads an id; or one or a list of them.  False: the request was answered BAD_PARAMS. */
bool job_request_read_id(struct job_request *jr, uint64_t *id);
bool job_request_read_ids(struct job_request *jr, struct wait_arguments *wait);

/* Reads the map behind the id, if there is one.  False: the request was answered BAD_PARAMS. */
bool job_request_options(struct job_request *jr, const struct option *options, uint32_t count);

/* The whole of a request of this shape (proto/methods.h), which the operation of its method
 * answers. */
void job_request_bare(struct rpc_request *rq);
void job_request_id(struct rpc_request *rq);
void job_request_name(struct rpc_request *rq);
void job_request_name_of_tenant(struct rpc_request *rq);

/* Is this call, of a connection's list, an operation? */
bool call_is_operation(const struct call *call);
/* Was it sent with `poll`? */
bool call_is_poll(const struct call *call);
/* The answer of this call will not be read any more: its operation is dropped. */
void job_request_give_up(struct rpc_loop *loop, struct call *call);

/* The same, but its request is answered CANCELLED now. */
void job_request_cancel(struct rpc_loop *loop, struct call *call);

/* A long poll of a principal that may do less than before: it is answered DENIED where its method
 * does not reach all that it did, and goes on otherwise. */
void job_request_judge(struct rpc_loop *loop, struct call *call);

/* What the loop does with what comes back through its channel. */
struct channel_port rpc_channel_port(struct rpc_loop *loop);

#endif
