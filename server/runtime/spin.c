/* How a spinning thread learns; see spin.h.  The window grows and shrinks as that of KVM's
 * halt_poll_ns does. */
#include "server/runtime/spin.h"

/* The first window that is tried. */
#define WINDOW_LEAST AO_US(10)

/* What came after a sleep was there earlier, by the time that waking takes: so much longer than the
 * longest window may such a wait be and still be taken for one that a spin would win. */
enum { SOON = 2 };

/* So many waits at most pass between two tries of what fails each time.  A failure doubles the
 * misses and a success takes one from it: what fails more often than every tenth time is left
 * alone.
 */
enum { MISSES_MOST = 1023 };

/* Called more often than this, or for more at once, a thread gathers work by sleeping.  A request
 * that is answered at once is two steps, so that this is one request, now and then two. */
#define INTERVAL_LEAST AO_US(4)
enum { AVERAGED = 8 };                         /* periods */
enum { STEP = 16 };                            /* counted in fractions, else an average sticks */
enum { STEPS_MOST = 5 * STEP * AVERAGED / 2 }; /* two and a half in each period */

/* The count of preemptions is a system call to read.  Kernel threads alone cause some twenty a
 * second, in bursts; another thread that wants the processor, a hundred and more. */
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
