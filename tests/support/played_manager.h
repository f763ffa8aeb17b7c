/* The manager that a jobs_world plays: attempts begin when there is room, and return as the test
 * says. */
#ifndef ERGON_TESTS_PLAYED_MANAGER_H
#define ERGON_TESTS_PLAYED_MANAGER_H

#include "server/tasks/job_source.h"

struct jobs_world;

/* An attempt that is out. */
struct world_run {
    struct world_run *next, *prev;
    struct jobs_world *world;
    struct attempt_spec run;
    struct ao timer; /* sleeps until it ends by itself */
    enum attempt_stage stage;
    ao_time began;
    bool flagged; /* cancelled or late */
    bool actor;   /* its turn is the jobs' */
};

/* An attempt that was given while w->holds begins after all. */
void world_begin(struct world_run *r);
/* The attempt of a task that was given last; NULL: none is out. */
struct world_run *world_run_of(struct jobs_world *w, uint64_t id);
void world_finish(struct world_run *r, const char *result);
void world_fail(struct world_run *r, const char *code, const char *text);
void world_fail_traced(struct world_run *r, const char *code, const char *text,
                       struct span traceback);
void world_again(struct world_run *r, ao_time after);
/* Its worker is lost, in that way; `why` as the manager tells it. */
void world_lose(struct world_run *r, enum attempt_loss loss, const char *why);
void world_return(struct world_run *r, struct attempt_end *end); /* owner and attempt are filled */

/* Workers offer this method from now on, or none does any more: see struct job_source. */
void world_offer(struct jobs_world *w, const char *name, bool workers, const char *who);

/* The worker of `w->worker` goes, after the last attempt that it has; another may join. */
void world_worker_leaves(struct jobs_world *w);

/* For the world: the object that begins attempts while there is room. */
extern const struct ao_class jobs_pump_class;
void world_drop_runs(struct jobs_world *w); /* what is out never returns */

#endif
