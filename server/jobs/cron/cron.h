/* Crons: job specs that are submitted again and again, by calendar.
 *
 * A cron sleeps until its time has come, submits its job, and writes its state into the store.  The
 * operations on crons (operations.c) make them, link them, and let them go; a cron is freed with
 * its last reference.  Thread: the jobs'. */
#ifndef ERGON_JOBS_CRON_H
#define ERGON_JOBS_CRON_H

#include "base/list.h"
#include "proto/errors.h"
#include "server/jobs/cron/cron_spec.h"
#include "server/jobs/cron/schedule.h"
#include "server/jobs/persist/codec.h"

enum {
    CRON_NAME_MAX = 200,       /* bytes; the keys of its tasks hold it and a time */
    CRON_BYTES_MAX = 64 * 1024 /* of its schedule, parameters and options */
};

struct cron_name; /* crons.h */

/* All that operations and time change.  A cron that is put in place of another takes it over. */
struct cron_state {
    uint64_t next_at; /* Unix ns; a time that has come stays until its task is submitted; 0: none */
    ao_time spread;   /* ns that chance adds to it; drawn anew at a start */
    uint64_t last_at, last_task;
    uint64_t fired, skipped; /* since the start */
    enum ergon_error error;  /* of the last try */
    char error_text[JOB_TEXT_MAX];
    bool refused; /* and it was logged */
    bool paused;  /* it fires nothing, and its timer does not sleep */
};

struct cron {
    struct cron *prev, *next; /* of all that are in place; or next alone, of those that arrive */
    struct cron_name *named;  /* while it is in place, or arrives */
    struct jobs *jobs;
    struct ao timer;       /* sleeps until the next time, or a part of that */
    struct cron_spec spec; /* its definition, never changed; its spans lie in `memory` */
    void *memory;
    size_t bytes; /* that it takes */
    struct schedule schedule;
    struct zone *zone;
    struct cron_state state;
    uint32_t leaving; /* deletes on their way to the file */
    bool unsaved;     /* its state could not be written: the cron is in the list of such */
    LIST_ENTRY(cron) by_unsaved;
    uint32_t refs; /* the list, and operations of the store that point at its bytes */
};

/* What the spec's spans point at is copied.  It has one reference, which crons_unlink() takes back,
 * a next time, and no timer that sleeps.  NULL: `error` is MEMORY, or BAD_PARAMS for a name, a
 * schedule or a zone that cannot be, and `text` says why. */
struct cron *cron_new(struct jobs *jobs, const struct cron_spec *spec, enum ergon_error *error,
                      char *text, size_t size);
void cron_drop(struct cron *c);                   /* a reference less */
void cron_arm(struct jobs *jobs, struct cron *c); /* of one that does not sleep */

/* Its next time by today's clock and schedule, unless one has come whose task is to be submitted
 * yet. */
void cron_plan(struct jobs *jobs, struct cron *c);
/* A time is missed when its jitter is over. */
bool cron_missed(const struct cron *c, uint64_t at, uint64_t now);
/* Its next time is `at`, or if that was missed the first that was not. */
void cron_wait_for(struct jobs *jobs, struct cron *c, uint64_t at);

/* It takes over the state of the one that is in place. */
void cron_succeed(struct jobs *jobs, struct cron *c);

/* It fires no more; or, from now on, again: what came meanwhile is left out, whatever its
 * `catch_up`.  The feed tells it, if it was not so before.  As long as it is in place. */
void cron_pause(struct jobs *jobs, struct cron *c, bool paused);

/* Writes its row, in place of any of its name; cron_write_state() writes its state alone, to the
 * row of its name, if there is one.  `done` is called when the write is back, has `arg` as its tag,
 * and drops the reference that the write has.  False, and `done` is not called: the cron is not
 * durable, or there is no store; or there is no memory. */
bool cron_write(struct jobs *jobs, struct cron *c, write_done *done, void *arg);
bool cron_write_state(struct jobs *jobs, struct cron *c, write_done *done, void *arg);
/* Writes the state of one that is in place, if it is durable.  A write that fails is made again
 * (crons_save()), from what the state is by then. */
void cron_save(struct jobs *jobs, struct cron *c);
void cron_set_unsaved(struct jobs *jobs, struct cron *c); /* another such write has failed */

/* Its time has come: submits its task, unless the last one is open and it is not to overlap. False:
 * refused, as `error` says, and to be tried again soon. */
bool cron_fire(struct jobs *jobs, struct cron *c, uint64_t at);
/* The task of this time could not be written, and is none: as if it had been refused. */
void cron_take_back(struct jobs *jobs, struct cron *c, uint64_t at, enum store_error error);
/* Which cron and time a task's key names.  False: it is no key of a cron's task. */
bool cron_read_key(struct span key, struct span *name, uint64_t *at);
uint64_t cron_next_after(const struct cron *c, uint64_t unix_ns); /* 0: it never comes */

#endif
