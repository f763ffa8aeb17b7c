/* What the configuration says of submitted tasks and actors: each member is the key tasks.NAME, and
 * docs/configuration.md says what it means.
 *
 * As the key is read, 0 means "auto" or "off"; jobs_new() and jobs_set_limits() take numbers
 * in place of "auto" (plan_jobs()). */
#ifndef ERGON_JOBS_SETTINGS_H
#define ERGON_JOBS_SETTINGS_H

#include <stdint.h>

#include <ergon/ao.h>

/* Keys actors.NAME. */
struct actors_limits {
    uint64_t bytes;    /* of actors in memory; auto: a half of tasks.bytes */
    uint32_t max;      /* actors that the store has */
    uint64_t state;    /* bytes of a state, whatever its type allows */
    uint32_t messages; /* in a mailbox, likewise */
};

/* A reload changes them. */
struct jobs_limits {
    uint32_t max;          /* tasks held in memory */
    uint32_t tenant_share; /* percent of both that one tenant may hold; 0, 100: no limit */
    uint64_t bytes;        /* that they take; auto: by the machine */
    uint64_t kept_bytes;   /* of these, by tasks that have ended; UINT64_MAX is auto: a part */
    ao_time keep_failed;   /* how long those are kept that failed, unless they say it */
    struct actors_limits actors;
};

struct jobs_settings {
    struct jobs_limits limits;
    ao_time ageing;   /* so long in the queue counts as one step of priority; 0: never */
    uint32_t crashes; /* of the server during a task, until the task is dead; 0: never */
    uint32_t losses;  /* of workers that had it: then it is dead (life/outcome.h); 0: never */
    uint32_t history; /* events that are kept of one task */
    uint32_t events;  /* of all tasks, in the feed (feed/feed.h); 0: there is none */
};

#endif
