/* Rendezvous: unbuffered; giver and taker meet.
 *
 * Whoever comes first waits; when the other comes, the value passes over and both go on.  Givers
 * are served in order of arrival, takers too.  The passing is final: if the taker ends before it
 * went on, its record is READY and holds the value.
 *
 * Thread: the home activator of all who use it. */
#ifndef ERGON_RENDEZVOUS_H
#define ERGON_RENDEZVOUS_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_rendezvous {
    struct ao_wait_queue waiters; /* all givers or all takers */
    bool givers;                  /* which; valid while somebody waits */
    bool closed;
};

void ao_rendezvous_init(struct ao_rendezvous *r); /* zeroed is the same */

/* Start functions.  `value` may be NULL; unless the giver's outcome is READY it is still the
 * giver's. */
void ao_rendezvous_give(struct ao_rendezvous *r, void *value, struct ao_wait *w);
void ao_rendezvous_take(struct ao_rendezvous *r, struct ao_wait *w);

void ao_rendezvous_close(struct ao_rendezvous *r); /* settles all waiters CLOSED */

#ifdef __cplusplus
}
#endif

#endif
