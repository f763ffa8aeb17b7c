/* What workers see of attempts, and what the documents promise of them.
 *
 * attempts: the number of an attempt only grows, and none is given out twice; one whose request was
 * sent in part has begun (promises.md, "Attempts", "Tasks for workers").
 *
 * results: what a call answers, or a task has as its result, is what a worker answered to this very
 * call, or to the attempt that ended the task (promises.md: a late result is fenced; PROTOCOL.md,
 * "Workers").
 *
 * calls: a call of which a worker has read anything is not given to another (PROTOCOL.md,
 * "Workers").
 *
 * losses: from the second loss in a row on the next attempt waits, and a task with 9 of them begins
 * no more (promises.md, "Workers that are lost").
 *
 * limits: never more permits of a limit are taken than it has (tasks.md, "Limits and rates").
 *
 * Workers are given the parameters [serial, limit, take, ...]: the serial is another for each
 * submission and call, and says whether it is a call, or a task with a timeout.
 *
 * An attempt begins when its request is handed to the connection, which may hold it up.  What is
 * written after something else may have begun before it: of such requests no order is checked, nor
 * of tasks with a timeout; and see sim_slack(). */
#ifndef ERGON_SIM_ATTEMPTS_H
#define ERGON_SIM_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "sim/promises.h"

struct sim_link;

enum sim_over {
    SIM_RUNS,
    SIM_ANSWERED, /* a result was sent, in whole */
    SIM_FAILED,   /* an error was */
    SIM_LOST,     /* the worker left while the server was up */
    SIM_ABANDONED /* the server may think what it likes: it died, or closed the connection */
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
    bool held;       /* it may have begun before */
    bool alone;      /* its worker has one slot */
    enum sim_over over;
};

enum sim_serial { SIM_OF_TASK, SIM_OF_CALL = 1, SIM_WITH_TIMEOUT = 2 };
uint64_t sim_serial(enum sim_serial what); /* the next */
bool sim_serial_is(uint64_t serial, enum sim_serial what);

/* A worker has read a request, which begins with this byte of the link: its method, its parameters,
 * and the context behind them; NULL: there is no room to follow it. */
struct sim_attempt *sim_attempt_began(const struct sim_link *link, uint64_t byte,
                                      struct span method, struct span params, bool alone);
/* A worker has read the beginning of a request, and nothing more. */
void sim_attempt_in_part(const struct sim_link *link, uint64_t byte, struct span bytes, bool alone,
                         enum sim_over how);
/* At the latest at that time.  NULL is fine. */
void sim_attempt_over(struct sim_attempt *a, enum sim_over how, uint64_t at);
void sim_attempts_node_died(void);

/* What the worker answers: it names the attempt. */
void sim_attempt_result(const struct sim_attempt *a, char *text, size_t size);

/* What a client was answered to a call; and the state of a task as task.get tells it. */
void sim_check_call(uint64_t serial, struct span error, struct span result);
void sim_check_work(const struct sim_task *t, struct span task);
/* At the end of the run: all of them again. */
void sim_check_limits(void);

#endif
