/* The history of a job that was read back from the store.
 *
 * The row of a job tells some of its history by itself, and for that the file holds no event: the
 * start of the first attempt, if it was the first thing that happened, and an end right behind it.
 * These are made from the row, with the numbers that they had: at once where events of the file
 * come behind them, else when somebody looks, since few of a million ended jobs are looked at.
 *
 * Thread: the jobs'.  The job is weighed, and the store knows all that is added here. */
#ifndef ERGON_JOBS_HISTORY_RELOAD_H
#define ERGON_JOBS_HISTORY_RELOAD_H

#include "server/jobs/core/table.h"

struct history_event;

/* Adds what the row of an ended job tells, before its history is looked at or added to; of another
 * job a no-op. */
void history_complete(struct job_table *table, struct job *job);
/* Appends an event with the number that it had. */
void history_remember(struct job_table *table, struct job *job, const struct history_event *event);
/* The start of the first attempt, of a job without events; its end. */
void history_remember_start(struct job_table *table, struct job *job);
void history_remember_end(struct job_table *table, struct job *job);

#endif
