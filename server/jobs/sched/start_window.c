#include "server/jobs/sched/start_window.h"

#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

void start_window_init(struct start_window *w)
{
    *w = (struct start_window){.marks = w->few, .room = START_MARKS_FEW};
}

void start_window_fini(struct start_window *w)
{
    if (w->marks != w->few)
        free(w->marks);
    start_window_init(w);
}

static struct start_mark *newest(struct start_window *w)
{
    return &w->marks[(w->first + w->length - 1) & (w->room - 1)];
}

/* False: no memory, or as large as it may be. */
static bool grow(struct start_window *w)
{
    struct start_mark *marks = w->room < START_MARKS ? malloc(2 * w->room * sizeof *marks) : NULL;
    if (!marks)
        return false;
    for (uint32_t i = 0; i < w->length; i++)
        marks[i] = *start_window_mark(w, i);
    if (w->marks != w->few)
        free(w->marks);
    w->marks = marks;
    w->room *= 2;
    w->first = 0;
    return true;
}

/* Do starts of one slice share a mark? */
static ao_time slice_of(struct start_rate rate)
{
    return rate.max > START_MARKS ? rate.per / START_MARKS : 0;
}

static bool shares_mark(struct start_window *w, struct start_rate rate, ao_time at)
{
    if (w->length == 0)
        return false;
    if (newest(w)->at == at || at - w->slice_began < slice_of(rate))
        return true;
    return w->length == w->room && !grow(w);
}

static void add(struct start_window *w, struct start_rate rate, ao_time at, uint64_t count)
{
    assert(w->length == 0 || newest(w)->at <= at);
    if (!shares_mark(w, rate, at)) {
        w->length++;
        w->slice_began = at;
        newest(w)->count = 0;
    }
    newest(w)->at = at;
    newest(w)->count += count;
    w->count += count;
}

void start_window_add(struct start_window *w, struct start_rate rate, ao_time now)
{
    start_window_pass(w, rate, now);
    ao_time last = w->length > 0 ? newest(w)->at : 0, at = now + START_EPOCH;
    add(w, rate, at > last ? at : last, 1);
}

void start_window_add_past(struct start_window *w, struct start_rate rate, ao_time age,
                           uint64_t count, ao_time now)
{
    ao_time last = w->length > 0 ? newest(w)->at : 0;
    ao_time at = now + START_EPOCH - (age < START_EPOCH ? age : START_EPOCH);
    if (count > 0)
        add(w, rate, at > last ? at : last, count);
}

void start_window_pass(struct start_window *w, struct start_rate rate, ao_time now)
{
    while (w->length > 0 && start_window_moves(w, rate) <= now) {
        w->count -= start_window_mark(w, 0)->count;
        w->first = (w->first + 1) & (w->room - 1);
        w->length--;
    }
    assert(w->length > 0 || w->count == 0);
}

uint32_t start_window_free(const struct start_window *w, struct start_rate rate, uint64_t promised)
{
    uint64_t taken = w->count + promised;
    return taken < rate.max ? (uint32_t)(rate.max - taken) : 0;
}

ao_time start_window_moves(const struct start_window *w, struct start_rate rate)
{
    ao_time leaves = w->length > 0 ? clock_after(start_window_mark(w, 0)->at, rate.per) : AO_NEVER;
    if (leaves == AO_NEVER)
        return AO_NEVER;
    return leaves > START_EPOCH ? leaves - START_EPOCH : 0;
}

/* How long ago the i-th of all starts in their order was; behind the marks come the promised ones,
 * now. */
static ao_time age_of(const struct start_window *w, uint64_t i, ao_time now)
{
    for (uint32_t m = 0; m < w->length; m++) {
        const struct start_mark *mark = start_window_mark(w, m);
        if (i < mark->count)
            return start_window_age(mark, now);
        i -= mark->count;
    }
    return 0;
}

static ao_time times(ao_time per, uint64_t count)
{
    unsigned __int128 all = (unsigned __int128)per * count;
    return all < AO_NEVER ? (ao_time)all : AO_NEVER;
}

/* Each start is `per` behind the one that comes `max` before it. */
ao_time start_window_opens(const struct start_window *w, struct start_rate rate, uint64_t promised,
                           uint32_t n, ao_time now)
{
    uint64_t known = w->count + promised, i = known + n;
    if (i < rate.max)
        return now;
    uint64_t windows = (i - known) / rate.max + 1;
    if (i < windows * rate.max)
        return clock_after(now, times(rate.per, windows - 1));
    ao_time age = age_of(w, i - windows * rate.max, now);
    ao_time first = clock_after(now, age < rate.per ? rate.per - age : 0);
    return clock_after(first, times(rate.per, windows - 1));
}
