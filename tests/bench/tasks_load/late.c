/* A module that says how late delayed tasks are run.
 *
 *   late [due, anything]   notes how long after `due`, Unix ns, it was begun
 *   late.report []         {"count", "first", "last", "p50", "p99", "p999", "max"}, as JSON: Unix
 * ms of the first and the last start, lateness in ms; forgets them */
#include <pthread.h>
#include <stdlib.h>

#include <ergon/handler.h>

#include "base/clock.h"

enum { LATE_MS = 60000, STEPS = 10 }; /* buckets of a tenth of a millisecond, up to a minute */

static struct {
    pthread_mutex_t lock;
    uint64_t count, first, last, max; /* ns */
    uint32_t buckets[LATE_MS * STEPS];
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t unix_ns(void)
{
    return clock_wall();
}

static void note(uint64_t now, uint64_t due)
{
    uint64_t late = now > due ? now - due : 0, bucket = late * STEPS / 1000000;

    pthread_mutex_lock(&noted.lock);
    noted.first = noted.count == 0 ? now : noted.first;
    noted.last = now;
    noted.max = late > noted.max ? late : noted.max;
    noted.count++;
    noted.buckets[bucket < LATE_MS * STEPS ? bucket : LATE_MS * STEPS - 1]++;
    pthread_mutex_unlock(&noted.lock);
}

static enum ao_verdict run(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    int64_t due;

    if (ergon_params_open(task, &r) > 0 && ergon_read_int(&r, &due) && due > 0)
        note(unix_ns(), (uint64_t)due);
    return AO_DONE;
}

/* In ms, the end of its bucket. */
static double percentile(double share)
{
    uint64_t rank = (uint64_t)(share * (double)noted.count), seen = 0;

    for (uint32_t i = 0; i < LATE_MS * STEPS; i++) {
        seen += noted.buckets[i];
        if (seen > rank)
            return (double)(i + 1) / STEPS;
    }
    return 0;
}

static enum ao_verdict report(struct ao *self, struct ergon_task *task, void *state)
{
    char text[256];

    pthread_mutex_lock(&noted.lock);
    int len = snprintf(text, sizeof text,
                       "{\"count\": %llu, \"first\": %.1f, \"last\": %.1f, \"p50\": %.1f, "
                       "\"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}",
                       (unsigned long long)noted.count, (double)noted.first / 1e6,
                       (double)noted.last / 1e6, percentile(0.5), percentile(0.99),
                       percentile(0.999), (double)noted.max / 1e6);
    noted.count = noted.first = noted.last = noted.max = 0;
    memset(noted.buckets, 0, sizeof noted.buckets);
    pthread_mutex_unlock(&noted.lock);
    ergon_result_str(task, text, (size_t)len);
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "late",
     .summary = "note how late it is",
     .params = "[due: int]",
     .step = run},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "late.report",
     .summary = "how late they were, as JSON; forgets them",
     .params = "[]",
     .step = report},
};

ERGON_MODULE(late_module, "late", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
