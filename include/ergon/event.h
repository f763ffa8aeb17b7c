/* Event: unbuffered; it is waited for, and set.
 *
 * Auto reset: each set lets one waiter through, the longest waiting; without one, the event stays
 * set for the next, and setting it again adds nothing.  Manual reset: a set lets all through, and
 * everyone from then on, until it is reset.  A pass that was granted to an object which ends before
 * it went on sets the event again (auto).
 *
 * Misuse: a mode that is none.
 *
 * Thread: the home activator of all who use it. */
#ifndef ERGON_EVENT_H
#define ERGON_EVENT_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ao_event_mode { AO_EVENT_AUTO, AO_EVENT_MANUAL };

struct ao_event {
    struct ao_wait_queue waiters;
    uint8_t mode; /* enum ao_event_mode */
    bool set;
    bool closed;
};

void ao_event_init(struct ao_event *e, enum ao_event_mode mode); /* not set */
void ao_event_set(struct ao_event *e);
void ao_event_reset(struct ao_event *e);
bool ao_event_is_set(const struct ao_event *e);
void ao_event_await(struct ao_event *e, struct ao_wait *w); /* start function; no value */
void ao_event_close(struct ao_event *e);                    /* settles all waiters CLOSED */

#ifdef __cplusplus
}
#endif

#endif
