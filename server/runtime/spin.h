/* Learns how long it pays to spin, looking for work, before blocking (IDLE_AUTO).  Pure: times and
 * counts are passed in.  The activator's thread; nothing fails.
 *
 * Three reasons speak against spinning, each judged by itself:
 *   - work did not come soon enough: the window shrinks to nothing, and the more often spinning was
 * in vain, the less often it is tried;
 *   - the thread has enough to do: then a sleep gathers several pieces of work, which is cheaper;
 *   - another thread wants the processor: this one is preempted again and again. */
#ifndef ERGON_RUNTIME_SPIN_H
#define ERGON_RUNTIME_SPIN_H

#include <ergon/ao.h>

struct spin {
    ao_time most;    /* ns, the longest window */
    ao_time window;  /* ns; 0: do not spin */
    uint64_t skip;   /* waits to skip before the next try */
    uint64_t misses; /* weighted: about half of what `skip` will be after the next one */

    /* Sums over about eight periods; a period is a wait and the work after it. */
    ao_time periods; /* ns */
    uint64_t steps;  /* sixteenths */

    /* The count of preemptions. */
    ao_time looked;       /* ns, when the count was read last */
    ao_time since;        /* ns, when the interval began */
    uint64_t counted;     /* the count at the beginning of the interval */
    ao_time barred_until; /* ns */
};

void spin_init(struct spin *s, ao_time most);

/* A period is over: its length is from the beginning of a wait to that of the next; `steps` is its
 * work.
 */
void spin_worked(struct spin *s, ao_time period, uint64_t steps);

/* How long to spin now, in ns; 0: block at once. */
ao_time spin_window(const struct spin *s, ao_time now);

/* Work came after `waited` ns, of which the first `spun` were spent spinning (0: none). */
void spin_waited(struct spin *s, ao_time waited, ao_time spun);

/* True: it is time to read how often this thread was preempted, and to call spin_preempted(). */
bool spin_look_due(const struct spin *s, ao_time now);
void spin_preempted(struct spin *s, ao_time now, uint64_t count);

#endif
