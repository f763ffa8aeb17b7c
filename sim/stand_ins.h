/* Blocking handlers that outlive their tasks, in calm: all executors but the spare ones run such.
 *
 * stand-ins: a spare thread takes the place of one whose handler outlives its task, while fewer
 * than `executors.blocking.max` run; it rests once that handler has returned (configuration.md). */
#ifndef ERGON_SIM_STAND_INS_H
#define ERGON_SIM_STAND_INS_H

#include <stdbool.h>

struct sim_burst;
struct sim_flags;
struct sim_link;

/* There may be another thread.  By `weight` a task waits for the share of an executor for twice its
 * mean time, whatever runs there. */
bool sim_may_stand_in(const struct sim_flags *f);
/* When nothing else runs, and one may. */
void sim_check_stand_ins(struct sim_burst *b, struct sim_link *l);

#endif
