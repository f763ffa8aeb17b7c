/* Closed forms of queueing theory that the simulator is held against.  Exponential service with
 * mean 1 unless said; `load` is the part of its capacity that a system is used to, below 1. */
#ifndef ERGON_BENCH_SCHED_THEORY_H
#define ERGON_BENCH_SCHED_THEORY_H

#include <stdint.h>

/* M/M/n: the sojourn that a part of all tasks, 0 to 1, does not exceed. */
double theory_mmn_quantile(uint32_t servers, double load, double part);

/* M/G/1, Pollaczek and Khinchine: mean wait of tasks with this second moment of service. */
double theory_mg1_wait(double load, double second_moment);

/* Tasks dealt in turn to `servers` queues of their own (each sees Erlang arrivals): the quantile of
 * the sojourn. */
double theory_in_turn_quantile(uint32_t servers, double load, double part);

/* Mean value analysis of a closed loop: one server, `tokens` tasks, each of which comes back
 * `hand_over` after its end: the part of its capacity that the server gives. */
double theory_loop_rate(uint32_t tokens, double hand_over);

#endif
