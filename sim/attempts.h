/* Holds what workers see of attempts against what the documents promise.
 *
 * attempts: the number of an attempt only grows, and no number is given out twice; an attempt whose
 * request was sent in part has begun (promises.md, "Attempts", "Tasks for workers").
 *
 * results: the result of a call is what a worker answered to this very call, and the result of a
 * task what a worker answered to the attempt that ended the task (promises.md: a late result is
 * fenced; PROTOCOL.md, "Workers").
 *
 * calls: a call of which a worker has read anything is not given to another worker (PROTOCOL.md,
 * "Workers").
 *
 * losses: after the second and each further loss in a row the next attempt waits, and a task with 9
 * losses begins no more (promises.md, "Workers that are lost").
 *
 * limits: tasks never take more permits of a limit than it has (tasks.md, "Limits and rates").
 *
 * Workers get the parameters [serial, limit, take, ...].  Each submission and each call has its own
 * serial, which says whether it is a call, or a task with a timeout.
 *
 * An attempt begins when its request is handed to the connection, which may hold the request up.
 * So a request that is written later may have begun earlier.  The checkers ignore the order of
 * requests that were held up, and of tasks with a timeout; see also sim_slack(). */
#ifndef ERGON_SIM_ATTEMPTS_H
#define ERGON_SIM_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "sim/promises.h"

struct sim_link;

enum sim_over {
    SIM_RUNS,
    SIM_ANSWERED, /* the worker sent a whole result */
    SIM_FAILED,   /* the worker sent a whole error */
    SIM_LOST,     /* the worker left while the server was up */
    SIM_ABANDONED /* the server died or closed the connection: any outcome is right */
};

struct sim_attempt {
    const struct sim_link *link; /* by which it was sent */
    char id[SIM_ID];             /* of the task; empty: a call, or the request came in part */
    char limit[SIM_NAME];
    uint64_t take;
    uint64_t serial;
    uint64_t number; /* 0: a call, or the request came in part */
    uint64_t began;  /* when the server wrote the first byte of the request */
    uint64_t ended;  /* when the worker sent the last byte of the answer, or left */
    bool patient;    /* the task has no timeout */
    bool held;       /* it may have begun before `began` */
    bool alone;      /* its worker has one slot */
    enum sim_over over;
};

enum sim_serial { SIM_OF_TASK, SIM_OF_CALL = 1, SIM_WITH_TIMEOUT = 2 };
uint64_t sim_serial(enum sim_serial what); /* returns a new one */
bool sim_serial_is(uint64_t serial, enum sim_serial what);

/* Call when a worker has read a request, which begins with this byte of the link.  `params` has the
 * parameters, and the context behind them.  Returns NULL if there is no room to follow it. */
struct sim_attempt *sim_attempt_began(const struct sim_link *link, uint64_t byte,
                                      struct span method, struct span params, bool alone);
/* Call when a worker has read the beginning of a request, and nothing more. */
void sim_attempt_in_part(const struct sim_link *link, uint64_t byte, struct span bytes, bool alone,
                         enum sim_over how);
/* The attempt ended at that time or before.  `a` may be NULL. */
void sim_attempt_over(struct sim_attempt *a, enum sim_over how, uint64_t at);
void sim_attempts_node_died(void);

/* Writes the answer of the worker, which names the attempt. */
void sim_attempt_result(const struct sim_attempt *a, char *text, size_t size);

/* Check the answer to a client's call, and the state of a task as task.get returns it. */
void sim_check_call(uint64_t serial, struct span error, struct span result);
void sim_check_work(const struct sim_task *t, struct span task);
/* Checks all limits again, at the end of the run. */
void sim_check_limits(void);

#endif
