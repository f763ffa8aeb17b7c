/* The jobs on the virtual clock, with a manager that the test plays: attempts run for as long as
 * the test says, and end as it says.
 *
 *     struct jobs_world w;
 *     jobs_world_init(&w);
 *     w.room[1] = 4;
 *     jobs_world_open(&w);
 *     uint64_t id = jobs_world_submit(&w, &spec);
 *     jobs_world_settle(&w);
 *     world_finish(w.runs, "\x01");
 *     trace_expect(&w.v, ...);
 *     jobs_world_fini(&w);
 *
 * The narrative holds the lines of kept tasks.  Ids in it count from 1. */
#ifndef ERGON_TESTS_JOBS_WORLD_H
#define ERGON_TESTS_JOBS_WORLD_H

#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/submit.h"
#include "server/tasks/job_source.h"
#include "server/tasks/manager/pool.h"
#include "server/tasks/tasks.h"
#include "server/jobs/operations/channel.h"
#include "tests/support/played_manager.h"
#include "tests/support/virtual.h"
#include "tests/support/world_store.h"

/* One pool more, of all methods of workers. */
enum { POOL_OF_WORKERS = POOLS_LOCAL, WORLD_POOLS, WORLD_METHODS = 40 };

struct jobs_world {
    struct virtual v;
    struct activator *manager, *loop;
    struct registry *registry;
    struct pool pools[WORLD_POOLS]; /* of its methods */
    struct jobs_options options;    /* change it before jobs_world_open() */
    struct jobs *jobs;
    struct jobs_channel *channel;
    struct store *store; /* NULL: none; of world_store.h */
    struct job_source source;
    struct ao pump;
    uint32_t room[WORLD_POOLS]; /* attempts that may be out at once */
    uint32_t out[WORLD_POOLS];
    uint64_t params_max;                /* bytes of the parameters of an attempt */
    bool full[WORLD_POOLS];             /* as the jobs were told */
    struct world_run *runs, *runs_last; /* as they were given */
    bool workers;                       /* some offer something */
    struct source_label worker;         /* has all attempts; `worker` empty: the server has */
    uint16_t worker_label;              /* what the jobs call it */
    bool stubborn;                      /* handlers do not obey their flag */
    bool holds;    /* what is given does not begin before the test says world_begin() */
    ao_time lasts; /* an attempt ends well by itself after so long; AO_NEVER: when the test says */
    /* Told of each attempt as it begins, and may set `lasts`; NULL. */
    void (*begun)(void *arg, struct world_run *r, ao_time *lasts);
    void (*over)(void *arg, struct world_run *r);  /* as it ends by itself; NULL */
    void (*told)(void *arg, struct operation *op); /* as it comes back; NULL */
    void (*born)(void *arg);                       /* the jobs have started; NULL */
    void *arg;
    struct operation *operations[4096]; /* that came back, in order */
    uint32_t answered, pushed, pushes;  /* events, and the batches that they came in */
    uint64_t first_id;
    int64_t leap;   /* ns: the wall clock was set by so much, or went on while the machine slept */
    int64_t sudden; /* ns: and is set by so much at its look of this number from now */
    unsigned sudden_look; /* 0: not */
    uint64_t slept;       /* ns: of that, so long it slept */
    ao_time takes;        /* ns: a look at the wall clock takes so long */
    bool quiet;
    void (*record)(void *arg, const char *line);
};

/* Methods: "work" (blocking), "step" (stepped), and any that workers offer; room for one attempt of
 * each. */
void jobs_world_init(struct jobs_world *w);
void jobs_world_keep_store(struct jobs_world *w); /* with a store; before the opening */
void jobs_world_open(struct jobs_world *w);
void jobs_world_fini(struct jobs_world *w);
/* The process dies, with what was not committed; the next opens the same store.  (After
 * memory_store_cut_power() the machine died with it.) */
void jobs_world_crash(struct jobs_world *w);
void jobs_world_restart(struct jobs_world *w); /* stops in order first */

/* A job of "work" with these options, which go before the defaults:
 *
 *     uint64_t id = jobs_world_submit(w, &WORK(.retries = 1, .timeout = AO_S(5)));
 *
 * It is kept in memory only, and so is a job of another method. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define WORK(...)                                                                                  \
    ((struct job_spec){JOB_SPEC_DEFAULTS, .method = span_text("work"),                             \
                       .params = span_text("\x90"), .durable = DURABLE_NONE, __VA_ARGS__})
struct job_spec world_spec(const char *method);
uint64_t jobs_world_submit(struct jobs_world *w,
                           const struct job_spec *spec); /* through its insides */
/* As whoever asks sees it: so what has begun is known to have.  NULL: forgotten. */
struct job *world_job(struct jobs_world *w, uint64_t id);
enum job_state world_state(struct jobs_world *w, uint64_t id);
enum job_reason world_reason(struct jobs_world *w, uint64_t id);

/* What people wish, through the insides, and all that follows from it. */
enum ergon_error world_submit(struct jobs_world *w, const struct job_spec *spec,
                              struct submitted *out, char *text, size_t size);
bool world_cancel(struct jobs_world *w, struct job *job);
bool world_retry(struct jobs_world *w, struct job *job);

/* All that can happen at this moment happens; or all until so much later. */
void jobs_world_settle(struct jobs_world *w);
void jobs_world_pass(struct jobs_world *w, ao_time duration);

/* Through the channel.  Specs and ids are borrowed until the answer. */
struct operation *world_operation(struct jobs_world *w, const struct operation_class *cls);
struct operation *world_about(struct jobs_world *w, const struct operation_class *cls,
                              uint64_t id); /* of one job */
void world_give(struct jobs_world *w, struct operation *op);
bool world_answered(const struct jobs_world *w, const struct operation *op);

#endif
