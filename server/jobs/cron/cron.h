/* Crons: job specs that are submitted again and again, by calendar.
 *
 * A cron sleeps until its time has come, submits its job, and writes where it stands into the
 * store.  The operations on crons (service/cron_operations.c) make them, link them, and let them
 * go; a cron is freed with its last reference.  Thread: the jobs'. */
#ifndef ERGON_JOBS_CRON_H
#define ERGON_JOBS_CRON_H

#include "proto/errors.h"
#include "server/jobs/cron/cron_spec.h"
#include "server/jobs/cron/schedule.h"
#include "server/jobs/persist/codec.h"

enum {
    CRON_NAME_MAX = 200,        /* bytes; the keys of its tasks hold it and a time */
    CRON_BYTES_MAX = 64 * 1024, /* of its schedule, parameters and options */
    CRONS_MAX = 10000
};

struct cron {
    struct cron *next;
    struct jobs *jobs;
    struct ao timer;       /* sleeps until the next time, or a part of that */
    struct cron_spec spec; /* its spans lie in `memory` */
    void *memory;
    struct schedule schedule;
    struct zone *zone;
    uint64_t next_at; /* Unix ns; 0: never */
    ao_time spread;   /* ns that chance adds to it */
    uint64_t last_at, last_task;
    uint64_t fired, skipped; /* since the start */
    enum ergon_error error;  /* of the last try */
    char error_text[JOB_TEXT_MAX];
    bool refused;     /* and it was logged */
    bool counts;      /* it arrives, and is the one of its name that is counted */
    uint32_t leaving; /* deletes on their way to the file: it is not written meanwhile */
    uint32_t refs;    /* the list, and operations of the store that point at its bytes */
};

struct crons {
    struct cron *first;
    struct cron *arriving; /* on their way to the store, linked by `next` */
    uint32_t count;
    uint32_t arrivals; /* names that are arriving and none of `first` has */
};

/* --- One cron --- */

/* What the spec's spans point at is copied.  It has one reference, which crons_unlink() takes back,
 * and neither a next time nor a timer that sleeps.  NULL: `error` is MEMORY, or BAD_PARAMS for a
 * name, a schedule or a zone that cannot be, and `text` says why. */
struct cron *cron_new(struct jobs *jobs, const struct cron_spec *spec, enum ergon_error *error,
                      char *text, size_t size);
void cron_drop(struct cron *c);                                    /* a reference less */
void cron_plan(struct jobs *jobs, struct cron *c, uint64_t after); /* its next time */
void cron_arm(struct jobs *jobs, struct cron *c);                  /* of one that does not sleep */

/* Writes its row.  `done` is called when the write is back, has `arg` as its tag, and drops the
 * reference that the write has.  False, and `done` is not called: the cron is not durable, is being
 * deleted, or there is no store; or there is no memory. */
bool cron_save(struct jobs *jobs, struct cron *c, write_done *done, void *arg);
void cron_saved(struct jobs *jobs, struct store_op *write); /* a `done` that does no more */

/* --- All of them, by tenant and name --- */

struct crons *crons_new(void);      /* none yet; NULL without memory */
void crons_free(struct crons *all); /* NULL is fine */
/* Where it is, or would be. */
struct cron **crons_place(struct crons *all, struct span tenant, struct span name);
bool cron_is(const struct cron *c, struct span tenant, struct span name);
uint32_t crons_of(const struct crons *all,
                  struct span tenant);              /* so many names, with those that arrive */
void crons_link(struct crons *all, struct cron *c); /* in place of one of its name */
void crons_unlink(struct crons *all, struct cron **at);

/* A row of the store becomes a cron; one that cannot be used stays in the store as it is,
 * and the log says why, unless a newer server wrote it.  False without memory, and for no other
 * reason. */
bool crons_recover(struct jobs *jobs, const struct store_cron *row);
/* The wall clock leapt, by so many ns. */
void crons_leapt(struct jobs *jobs, int64_t by);
void crons_start(struct jobs *jobs); /* after the recovery: what was missed is caught up */

#endif
