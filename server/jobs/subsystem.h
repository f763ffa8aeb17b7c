/* Subsystems: what the jobs have beside tasks, a folder each.
 *
 * A subsystem has a row in the list below, a state of its name in struct jobs, and a table of what
 * it does at which moment.  NULL: nothing at that one.  Thread: the jobs', or before the start and
 * after the stop the one that builds. */
#ifndef ERGON_JOBS_SUBSYSTEM_H
#define ERGON_JOBS_SUBSYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figure;
struct job;
struct jobs;
struct jobs_info;
struct store_table;

/* All of them, in the order in which they take their turns: `struct NAME`, `jobs->NAME`,
 * `subsystem_NAME`. */
#define JOBS_SUBSYSTEMS(X) X(crons) X(semaphores) X(events) X(actors) X(batches) X(feed_readers)

/* Rows of the store that belong to one room. */
struct subsystem_rows {
    const struct store_table *table;
    /* Takes one up, before the store starts; it is a struct as the table describes it.  False:
     * `fault` is a constant text that says in which way it is damaged; or there is no memory. */
    bool (*recover)(struct jobs *jobs, const void *row, const char **fault);
};

struct subsystem {
    /* Makes its state.  False, and perhaps a text: without memory; `fini` follows. */
    bool (*init)(struct jobs *jobs, char *error, size_t size);
    void (*fini)(struct jobs *jobs); /* also where its state was not made */

    const struct subsystem_rows *rows; /* in the order in which they are read back */
    size_t row_tables;
    /* After the recovery, when the store takes writes. */
    void (*start)(struct jobs *jobs);
    /* A part of its work, as long as jobs_have_time().  True: nothing is left. */
    bool (*step)(struct jobs *jobs);
    /* Once in a while: writes what the store did not take before.  False: there was nothing to
     * write. */
    bool (*save)(struct jobs *jobs);
    /* The store stops: as `save`, and all of it. */
    void (*flush)(struct jobs *jobs);

    /* Does anything of it go by the wall clock, so that this has to be watched? */
    bool (*follows_wall)(const struct jobs *jobs);
    /* The wall clock leapt, by so many ns; it was looked at, and did not leap. */
    void (*clock_leapt)(struct jobs *jobs, int64_t by);
    void (*clock_watched)(struct jobs *jobs);

    /* A task that it submitted (JOB_CRON) is taken back, since its row could not be written. */
    void (*task_lost)(struct jobs *jobs, const struct job *job);

    /* The server stops: operations that wait are answered as things are. */
    void (*stop)(struct jobs *jobs);
    /* Likewise, when nothing comes back from the store any more; also where its state was not made.
     * NULL: as `stop`. */
    void (*dismiss)(struct jobs *jobs);

    /* Fills in its part; any thread. */
    void (*show)(const struct jobs *jobs, struct jobs_info *out);
    const struct figure *figures; /* how the plain ones of that are shown */
    size_t figure_count;
};

#define X(name) extern const struct subsystem subsystem_##name;
JOBS_SUBSYSTEMS(X)
#undef X

/* --- Each does the same with all of them --- */

bool subsystems_init(struct jobs *jobs, char *error, size_t size);
void subsystems_fini(struct jobs *jobs);
void subsystems_start(struct jobs *jobs);
bool subsystems_step(struct jobs *jobs); /* true: nothing is left */
bool subsystems_save(struct jobs *jobs); /* false: there is nothing */
void subsystems_flush(struct jobs *jobs);
bool subsystems_follow_wall(const struct jobs *jobs);
void subsystems_clock_leapt(struct jobs *jobs, int64_t by);
void subsystems_clock_watched(struct jobs *jobs);
void subsystems_task_lost(struct jobs *jobs, const struct job *job);
void subsystems_stop(struct jobs *jobs);
void subsystems_dismiss(struct jobs *jobs);
void subsystems_show(const struct jobs *jobs, struct jobs_info *out);
/* The n-th of the rows of all of them; NULL: there are no more. */
const struct subsystem_rows *subsystems_rows(size_t n);
/* The n-th figure of all of them; NULL: there are no more. */
const struct figure *subsystems_figure(size_t n);

#endif
