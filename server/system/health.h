/* The server's health: the main thread writes it, and any thread may read it at any time.
 *
 * Thread: health_enter(), health_look_by() and health_away() are for the main thread, the other
 * functions for any.  The members are independent of each other, so relaxed order is enough, except
 * for the name, whose text is ordered before its pointer (release, acquire).  Nothing here fails or
 * blocks. */
#ifndef ERGON_HEALTH_H
#define ERGON_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

enum health_stage { HEALTH_STARTING, HEALTH_SERVING, HEALTH_DRAINING, HEALTH_STOPPING };

struct health {             /* all zero: the server is starting */
    _Atomic uint32_t phase; /* relaxed, as all but away_name: the admin thread shows it */
    _Atomic uint32_t away;  /* number of threads that do not finish their round */
    /* The name of the thread that was found so last, a constant while threads run; NULL: none yet.
     */
    _Atomic(const char *) away_name;
    /* Why the tasks cannot be reached, a constant; NULL: they can, or there is no cluster.  Written
     * by the cluster's thread. */
    _Atomic(const char *) cluster;
    /* The time at which the main thread checks again at the latest; AO_NEVER or 0: it sleeps until
     * it is woken. */
    _Atomic uint64_t look_by;
};

void health_enter(struct health *h, enum health_stage phase);
void health_look_by(struct health *h, ao_time at);
void health_away(struct health *h, const char *name, bool away);
/* The cluster's thread, and main before that starts. */
void health_cluster(struct health *h, const char *why);

bool health_has_started(const struct health *h); /* the loops' threads have started */
/* NULL: the server is alive.  Otherwise why not, a constant. */
const char *health_complaint(const struct health *h, ao_time now);
/* NULL: the server takes work.  Otherwise why not, a constant; *name is the name of the thread that
 * hangs, or NULL. */
const char *health_not_ready(const struct health *h, const char **name);

#endif
