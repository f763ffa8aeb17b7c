/* The parts of the jobs, one by one.  A file that works on the table, the scheduler or the journal
 * asks for it here, and does not know struct jobs, which jobs_parts.h defines.
 *
 * Thread: the jobs'.  Nothing here blocks or fails. */
#ifndef ERGON_JOBS_ACCESSORS_H
#define ERGON_JOBS_ACCESSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activator;
struct batches;
struct job_table;
struct jobs;
struct jobs_options;
struct journal;
struct ownership;
struct scheduler;
struct store;
struct tasks;

/* --- Parts; each lasts as long as the jobs --- */

struct job_table *jobs_table(const struct jobs *jobs);
struct scheduler *jobs_scheduler(const struct jobs *jobs);
struct journal *jobs_journal(const struct jobs *jobs);
struct store *jobs_store(const struct jobs *jobs); /* NULL: nothing is durable */
struct tasks *jobs_tasks(const struct jobs *jobs); /* the manager, whose source the jobs are */
struct activator *jobs_activator(const struct jobs *jobs);
/* What jobs_new() was given, with the limits of the last reload. */
const struct jobs_options *jobs_options(const struct jobs *jobs);

struct ownership *jobs_ownership(const struct jobs *jobs);
struct batches *jobs_batches(const struct jobs *jobs);

/* The jobs that the table belongs to. */
struct jobs *jobs_of(struct job_table *table);

/* --- The jobs' step --- */

enum {
    STEP_WORK =
        10000,     /* of a step, in pieces of about 100 ns: a millisecond; then the next round */
    EDGE_WORK = 3, /* to make or drop one wait of a job for another */
    CLOCK_WATCH_MS = 500 /* between two looks whether the wall clock has leapt */
};

/* The step comes in this round or the next. */
void jobs_activate(struct jobs *jobs);
/* Counts work that was done, in pieces as STEP_WORK has them: the order of magnitude is enough.
 * Work that can be put off is done while there is time, and otherwise in the next step. */
void jobs_worked(struct jobs *jobs, size_t work);
uint32_t jobs_work(const struct jobs *jobs); /* of this step, until now */
bool jobs_have_time(const struct jobs *jobs);

/* A job, a cron or a hold waits for a time of the wall clock: from now on the jobs look again and
 * again whether that clock has leapt (clock.h). */
void jobs_watch_clock(struct jobs *jobs);

/* May attempts begin, permits be granted, and answers about tasks be given?  Always true without a
 * cluster; else see ownership.h. */
bool jobs_may_act(const struct jobs *jobs);
/* There is a store, and it has not failed lately: it can take a durable job. */
bool jobs_store_usable(const struct jobs *jobs);
/* Why the store could not write lately: a constant text. */
const char *jobs_store_trouble(const struct jobs *jobs);

/* Can the store keep what a job of this level (enum job_durable, not NONE) promises? */
bool jobs_take_level(const struct jobs *jobs, uint8_t level);
/* Why it cannot: a constant text, which says what to do. */
const char *jobs_level_trouble(const struct jobs *jobs, uint8_t level);
/* The level that a job of this level has reached, once it is on disk: a store that replicates
 * commits `fsync` likewise. */
uint8_t jobs_level_reached(const struct jobs *jobs, uint8_t level);

#endif
