/* All crons, by tenant and name: those that are in place, and those that are on their way to the
 * store.
 *
 * Each counts, with its bytes, for its tenant, whose share of both is room.h's.  Thread: the jobs'.
 */
#ifndef ERGON_JOBS_CRONS_H
#define ERGON_JOBS_CRONS_H

#include "base/counter.h"
#include "base/hash_table.h"
#include "base/histogram.h"
#include "server/jobs/cron/cron.h"

enum { CRONS_MAX = 10000 };

/* A name of a tenant, while there is a cron of it. */
struct cron_name {
    struct hash_link link; /* first */
    struct tenant *tenant;
    struct cron *placed;   /* NULL: none yet */
    struct cron *arriving; /* the last that is on its way, linked by next; NULL: none */
    uint32_t crons;        /* these */
    struct span name;      /* behind this, in its memory */
};

struct crons {
    struct hash_table names;
    struct cron *first, *last; /* in place */
    LIST_HEAD(, cron) unsaved; /* of these, whose state could not be written */
    struct cron_walk *walks;
    counter count;         /* names; others show it */
    struct histogram late; /* how long after its time a task was submitted; others read it */
};

/* NULL: there is none. */
struct cron_name *crons_find(const struct jobs *jobs, struct span tenant, struct span name);
/* How many names the tenant has. */
uint32_t crons_of(const struct jobs *jobs, struct span tenant);

/* Gives it its name, and counts it: before it arrives, or is put in place.  False without memory.
 */
bool crons_name(struct jobs *jobs, struct cron *c);
/* The opposite, of one that neither arrives nor is in place, and never will be; it drops it. */
void crons_refuse(struct jobs *jobs, struct cron *c);

void crons_arrive(struct cron *c);
void crons_arrived(struct cron *c);                   /* it does not arrive any more */
void crons_link(struct jobs *jobs, struct cron *c);   /* in place of one of its name */
void crons_unlink(struct jobs *jobs, struct cron *c); /* and drops it */

void crons_walk_begin(struct crons *all, struct cron_walk *walk);
struct cron *crons_walk_next(struct cron_walk *walk); /* NULL: that was all */
void crons_walk_end(struct crons *all, struct cron_walk *walk);

#endif
