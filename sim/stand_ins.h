/* Checks, in calm, blocking handlers that outlive their tasks: all executors but the spare ones run
 * such handlers.
 *
 * stand-ins: a spare thread takes the place of an executor whose handler outlives its task, while
 * fewer than `executors.blocking.max` run; it rests once that handler has returned
 * (configuration.md). */
#ifndef ERGON_SIM_STAND_INS_H
#define ERGON_SIM_STAND_INS_H

#include <stdbool.h>

struct sim_burst;
struct sim_flags;
struct sim_link;

/* Returns whether the flags allow a spare thread.  With `--measure weight` they do not: a task
 * waits for its share of an executor for twice its mean time, whatever runs there. */
bool sim_may_stand_in(const struct sim_flags *f);
/* Call when nothing else runs, and sim_may_stand_in(). */
void sim_check_stand_ins(struct sim_burst *b, struct sim_link *l);

#endif
