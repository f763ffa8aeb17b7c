/* Learns for how long it pays to look for work before blocking (IDLE_AUTO).  Pure: times and counts
 * are passed in.  The activator's thread; nothing fails.
 *
 * Three things speak against a spin, each judged by itself:
 *   - work did not come soon enough: the window shrinks to nothing, and is tried less often the
 *     more often it was in vain;
 *   - the thread has enough to do: then a sleep gathers several pieces of work, which is cheaper;
 *   - somebody else wants the processor: the thread is preempted again and again. */
#ifndef ERGON_RUNTIME_SPIN_H
#define ERGON_RUNTIME_SPIN_H

#include <ergon/ao.h>

struct spin {
    ao_time most;    /* ns, the longest window */
    ao_time window;  /* ns; 0: do not spin */
    uint64_t skip;   /* waits to let pass before the next try */
    uint64_t misses; /* weighted: about half of what `skip` will be after the next one */

    /* Sums over about eight periods, of which each is a wait and the work after it. */
    ao_time periods; /* ns */
    uint64_t steps;  /* sixteenths */

    /* Of the count of preemptions. */
    ao_time looked;       /* ns, when it was read last */
    ao_time since;        /* ns, when it was `counted` */
    uint64_t counted;     /* at the beginning of the interval watched */
    ao_time barred_until; /* ns */
};

void spin_init(struct spin *s, ao_time most);

/* A period is over: so long from the beginning of one wait to that of the next, with so much work.
 */
void spin_worked(struct spin *s, ao_time period, uint64_t steps);

/* How long to look for work now, ns; 0: block at once. */
ao_time spin_window(const struct spin *s, ao_time now);

/* Work came after `waited` ns, of which the first `spun` were spent looking (0: none). */
void spin_waited(struct spin *s, ao_time waited, ao_time spun);

/* Is it time to read how often this thread was preempted?  Then spin_preempted() is to be called.
 */
bool spin_look_due(const struct spin *s, ao_time now);
void spin_preempted(struct spin *s, ao_time now, uint64_t count);

#endif
