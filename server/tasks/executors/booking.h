/* What an executor measures of its tasks: their times, by method and of itself.
 *
 * Thread: the executor's.  Nothing here fails. */
#ifndef ERGON_TASKS_BOOKING_H
#define ERGON_TASKS_BOOKING_H

#include "server/tasks/executors/executor.h"

/* One that came by the lane begins now: notes how long it waited since it was made.  `made` is
 * `busy` from here on. */
void executor_note_wait(const struct executor *e, struct times_slot *times, struct task *t);

/* One whose service was measured has ended: the mean times of executor and method. */
void executor_note_served(struct executor *e, const struct task *t);

/* A measured run of a blocking handler has used so much processor time. */
void executor_note_cpu(struct executor *e, const struct method *m, ao_time used);

/* Books a task that has ended: counters, mean times, trace.  `first`: by its first step, so of
 * brief methods one that was measured counts for others, too. */
void executor_book(struct executor *e, struct task *t, bool first);

/* Is this task to be measured?  Brief methods by sample, others always.  `cpu`: is its processor
 * time, whose clock takes longer to read? */
bool executor_measures(struct executor *e, const struct method *m, bool cpu);

/* A step of `m` took so long, its first or a later one.  Of brief methods the first step is
 * measured by sample, and counts for those that were not, too. */
void executor_note_busy(struct executor *e, const struct method *m, ao_time took, bool first);

/* Learns the delay of a hand-over from a task that was given to an idle executor. */
void executor_note_hand_over(struct executor *e, struct task *t);

/* Counts and logs a step, or a stretch of one, that took longer than the limit allows. */
void executor_note_step(struct executor *e, const struct method *m, ao_time took);

#endif
