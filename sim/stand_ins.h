/* Blocking handlers that outlive their tasks, in calm: all executors but the spare ones run such.
 *
 * stand-ins: another thread stands in for a handler that nobody wants any more, as long as there
 * may be one more; it rests once that handler has returned (configuration.md,
 * `executors.blocking.max`). */
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
