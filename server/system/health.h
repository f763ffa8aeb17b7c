/* What may be asked about the server's health, by anybody, at any time: the main thread says how it
 * stands, and others read it.
 *
 * Thread: health_enter(), health_look_by() and health_away() are the main thread's, the rest is
 * anybody's.  Each member stands alone, so relaxed order is enough, but for the name, whose text is
 * ordered before its pointer (release, acquire).  Nothing here fails or blocks. */
#ifndef ERGON_HEALTH_H
#define ERGON_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

enum health_stage { HEALTH_STARTING, HEALTH_SERVING, HEALTH_DRAINING, HEALTH_STOPPING };

struct health { /* all zero: starting */
    _Atomic uint32_t phase;
    _Atomic uint32_t away; /* threads that do not finish their round */
    /* Name of the one that was found so last, a constant as long as threads run; NULL: none yet. */
    _Atomic(const char *) away_name;
    /* Time at which the main thread means to be back at the latest; AO_NEVER, or 0: it is only
     * waked. */
    _Atomic uint64_t look_by;
};

void health_enter(struct health *h, enum health_stage phase);
void health_look_by(struct health *h, ao_time at);
void health_away(struct health *h, const char *name, bool away);

bool health_has_started(const struct health *h); /* the loops' threads run, or did */
/* NULL: all is well.  Else why not, a constant. */
const char *health_complaint(const struct health *h, ao_time now);
/* NULL: work may be sent here.  Else why not, a constant; *name is of the thread that hangs, or
 * NULL. */
const char *health_not_ready(const struct health *h, const char **name);

#endif
