/* What each round of a loop takes while a crowd ends at once: ten million timers of one tick, ten
 * million that the wheel has to move first, and the records of a million calls, given back.
 *
 * A machine that does other things as well takes the processor away in the middle of a round: so
 * the longest by the clock stands beside the longest by the thread's own processor time, which is
 * what the loop itself is to blame for. */
#include <ergon/poller.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/tasks/calls/call_records.h"
#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

enum { TIMERS = 10000000, RECORDS = CALLS_MAX, PIECES_MAX = 1 << 20 };

/* When they are due. */
#define ONE_TICK AO_MS(100)
#define FAR_SLOT AO_MS(2 * 4096) /* a slot of 4096 ticks begins here */

static ao_time virtual_now;

static ao_time clock_now(void *arg)
{
    (void)arg;
    return virtual_now;
}

static const struct ao_clock virtual_clock = {.now = clock_now};

static ao_time processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return AO_S(t.tv_sec) + (ao_time)t.tv_nsec;
}

/* Pieces of work, and what they took. */
struct watch {
    ao_time clock; /* ns; the longest */
    ao_time began_clock, began_processor;
    ao_time sum;    /* of processor time */
    double *pieces; /* processor time of each, ms; PIECES_MAX */
    uint32_t count, long_ones;
};

static void watch_begin(struct watch *w)
{
    w->began_clock = ao_clock_monotonic.now(NULL);
    w->began_processor = processor_time();
}

static void watch_end(struct watch *w)
{
    ao_time processor = processor_time() - w->began_processor;
    ao_time clock = ao_clock_monotonic.now(NULL) - w->began_clock;
    w->clock = clock > w->clock ? clock : w->clock;
    w->sum += processor;
    w->long_ones += processor > AO_MS(1);
    if (w->count < PIECES_MAX)
        w->pieces[w->count++] = (double)processor / 1e6;
}

static struct watch watch_new(void)
{
    struct watch w = {.pieces = calloc(PIECES_MAX, sizeof *w.pieces)};
    if (!w.pieces)
        exit(1);
    memset(w.pieces, 1, PIECES_MAX * sizeof *w.pieces); /* no page of it is touched first later */
    return w;
}

static void print(struct report *r, const char *what, struct watch *w, uint32_t objects)
{
    uint32_t last = w->count - 1;
    qsort(w->pieces, w->count, sizeof *w->pieces, bench_compare);
    report_row(r, what,
               (double[]){w->pieces[w->count / 2], w->pieces[last - last / 1000], w->pieces[last],
                          (double)w->clock / 1e6, (double)w->long_ones, (double)w->count,
                          (double)w->sum / objects});
    free(w->pieces);
}

/* --- Timers --- */

static enum ao_verdict goes_on(struct ao *self)
{
    (void)self;
    return AO_DONE;
}

static enum ao_verdict ends(struct ao *self)
{
    ao_retire(self);
    return AO_DONE;
}

static void free_it(struct ao *self)
{
    free(self);
}

static const struct ao_class going_class = {.name = "going", .step = goes_on};
static const struct ao_class ending_class = {.name = "ending", .step = ends, .retired = free_it};

struct crowd {
    const struct ao_class *class;
    ao_time from, spread; /* ns */
    bool shuffled;
};

/* All asleep, in an order that chance decides or in that of memory. */
static struct ao **put_to_sleep(const struct crowd *c, struct activator *loop)
{
    struct ao **all = calloc(TIMERS, sizeof *all);
    uint32_t *order = calloc(TIMERS, sizeof *order);
    if (!all || !order)
        exit(1);
    for (uint32_t i = 0; i < TIMERS; i++) {
        all[i] = malloc(sizeof *all[i]);
        if (!all[i])
            exit(1);
        ao_init(all[i], c->class, loop);
        order[i] = i;
    }
    if (c->shuffled)
        bench_shuffle(order, TIMERS, loop);
    for (uint32_t i = 0; i < TIMERS; i++)
        ao_sleep_until(all[order[i]], c->from + activator_random(loop) % c->spread);
    free(order);
    return all;
}

/* The clock goes on by a tick whenever the loop has nothing more to do. */
static void watch_rounds(struct activator *loop, struct watch *w)
{
    struct activator_stats stats;
    do {
        watch_begin(w);
        bool busy = activator_round(loop, false);
        watch_end(w);
        if (!busy)
            virtual_now += AO_MS(1);
        activator_stats(loop, &stats);
    } while (stats.sleeping > 0 || stats.active > 0);
}

static void measure_timers(struct report *r, const char *what, struct crowd c)
{
    struct poller *poller = poller_eventfd_new();
    struct activator *loop = activator_open(
        &(struct activator_options){.poller = poller, .clock = &virtual_clock, .core = -1});
    struct watch w = watch_new();
    if (!loop)
        exit(1);
    c.from += virtual_now;
    struct ao **all = put_to_sleep(&c, loop);
    watch_rounds(loop, &w);
    activator_close(loop);
    poller_eventfd_free(poller);
    for (uint32_t i = 0; c.class == &going_class && i < TIMERS; i++)
        free(all[i]);
    free(all);
    print(r, what, &w, TIMERS);
}

/* --- Records of calls --- */

static void measure_records(struct report *r)
{
    struct poller *poller = poller_eventfd_new();
    struct activator *loop =
        activator_open(&(struct activator_options){.poller = poller, .core = -1});
    struct call_record **all = calloc(RECORDS, sizeof *all);
    struct calls calls;
    struct watch w = watch_new();
    if (!loop || !all)
        exit(1);
    calls_init(&calls);
    for (uint32_t i = 0; i < RECORDS; i++)
        if (!(all[i] = calls_take(&calls, NULL, &going_class, loop)))
            exit(1);
    for (uint32_t i = 0; i < RECORDS; i++)
        calls_give(&calls, all[i]);
    bool more;
    do {
        watch_begin(&w);
        more = calls_shrink(&calls);
        watch_end(&w);
    } while (more);
    calls_fini(&calls);
    free(all);
    activator_close(loop);
    poller_eventfd_free(poller);
    print(r, "1 M records of calls that have ended", &w, RECORDS);
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"p50 ms", 3},     {"p99.9 ms", 3}, {"longest ms", 3}, {"by the clock ms", 1},
        {"above 1 ms", 0}, {"pieces", 0},   {"each ns", 1}};
    struct report r;
    report_begin(&r, "drain", argc, argv);
    report_table(&r, "What is done in one piece while a crowd ends at once: processor time",
                 "of what", columns, 7);
    measure_timers(&r, "10 M timers of one tick", (struct crowd){&going_class, ONE_TICK, 1, false});
    measure_timers(&r, "the same, in random order of memory",
                   (struct crowd){&going_class, ONE_TICK, 1, true});
    measure_timers(&r, "the same, each ends and is freed",
                   (struct crowd){&ending_class, ONE_TICK, 1, true});
    measure_timers(&r, "10 M timers of one slot of 4 s",
                   (struct crowd){&going_class, FAR_SLOT, AO_MS(4000), false});
    measure_timers(&r, "the same, in random order of memory",
                   (struct crowd){&going_class, FAR_SLOT, AO_MS(4000), true});
    measure_records(&r);
    report_end(&r);
    return 0;
}
