/* The window grows and shrinks like that of KVM's halt_poll_ns. */
#include "server/runtime/spin.h"

/* The first window to be tried. */
#define WINDOW_LEAST AO_US(10)

/* A wait that ended by a sleep was longer than necessary, by the time that waking takes.  It may be
 * this many times the longest window and still count as one that a spin would have won. */
enum { SOON = 2 };

/* The most waits between two tries if each try fails.  A failure doubles the misses, and a success
 * subtracts one, so spinning that fails more often than every tenth time is given up. */
enum { MISSES_MOST = 1023 };

/* If work comes more often than this, or more of it at once, the thread sleeps to gather work.  A
 * request that is answered at once takes two steps, so the bound is one request, now and then two.
 */
#define INTERVAL_LEAST AO_US(4)
enum { AVERAGED = 8 }; /* periods */
enum { STEP = 16 };    /* steps are counted in fractions, so that averages can decrease */
enum { STEPS_MOST = 5 * STEP * AVERAGED / 2 }; /* two and a half in each period */

/* Reading the count of preemptions takes a system call.  Kernel threads alone cause some twenty
 * preemptions a second, in bursts; another thread that wants the processor causes a hundred or
 * more.
 */
#define LOOK_INTERVAL  AO_MS(1)
#define WATCH_INTERVAL AO_MS(250)
#define BARRED_FOR     AO_S(2)
enum { PREEMPTIONS_MOST = 20 };

void spin_init(struct spin *s, ao_time most)
{
    *s = (struct spin){.most = most};
}

void spin_worked(struct spin *s, ao_time period, uint64_t steps)
{
    s->periods += period - s->periods / AVERAGED;
    s->steps += steps * STEP - s->steps / AVERAGED;
}

static bool has_enough_to_do(const struct spin *s)
{
    return s->steps > STEPS_MOST || s->periods * STEP < s->steps * INTERVAL_LEAST;
}

ao_time spin_window(const struct spin *s, ao_time now)
{
    return now < s->barred_until || has_enough_to_do(s) ? 0 : s->window;
}

static ao_time lesser(ao_time x, ao_time y)
{
    return x < y ? x : y;
}

static void grow(struct spin *s)
{
    s->window = lesser(2 * s->window, s->most);
    s->misses++;
}

static void give_up(struct spin *s)
{
    s->window = 0;
    s->misses = lesser(2 * s->misses + 1, MISSES_MOST);
    s->skip = s->misses;
}

static void learn_asleep(struct spin *s, bool soon)
{
    if (s->skip)
        s->skip--;
    else if (!soon)
        s->window = 0;
    else if (!s->window)
        s->window = lesser(WINDOW_LEAST, s->most);
}

void spin_waited(struct spin *s, ao_time waited, ao_time spun)
{
    bool soon = waited <= SOON * s->most;
    if (!spun)
        learn_asleep(s, soon);
    else if (waited <= spun)
        s->misses -= s->misses > 0;
    else if (soon && s->window < s->most)
        grow(s);
    else
        give_up(s);
}

bool spin_look_due(const struct spin *s, ao_time now)
{
    return now - s->looked >= LOOK_INTERVAL;
}

void spin_preempted(struct spin *s, ao_time now, uint64_t count)
{
    s->looked = now;
    if (now - s->since > WATCH_INTERVAL) {
        s->since = now;
        s->counted = count;
    } else if (count - s->counted >= PREEMPTIONS_MOST) {
        s->barred_until = now + BARRED_FOR;
    }
}
