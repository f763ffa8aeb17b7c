#include "server/store/offline/salvage.h"

#include <inttypes.h>

struct check {
    FILE *out, *errors;
    uint64_t tasks, open, events, crons, queues, findings;
};

static bool on_queue(void *arg, const struct store_queue *queue)
{
    (void)queue;
    ((struct check *)arg)->queues++;
    return true;
}

static bool on_cron(void *arg, const struct store_cron *cron)
{
    (void)cron;
    ((struct check *)arg)->crons++;
    return true;
}

static bool on_task(void *arg, const struct store_task *task, bool has_life)
{
    (void)task;
    (void)has_life;
    ((struct check *)arg)->tasks++;
    return true;
}

static bool on_event(void *arg, const struct store_event *event)
{
    (void)event;
    ((struct check *)arg)->events++;
    return true;
}

static bool on_counters(void *arg, const struct salvage_counters *c)
{
    (void)arg;
    (void)c;
    return true;
}

static void on_finding(void *arg, const char *text, bool harmless)
{
    struct check *c = arg;
    c->findings += !harmless;
    fprintf(c->out, "%s%s\n", harmless ? "harmless: " : "", text);
}

enum store_offline_end store_check(const struct store_offline *o, FILE *out, FILE *errors)
{
    struct check c = {.out = out, .errors = errors};
    const struct salvage_taker taker = {&c,       on_queue,    on_cron,   on_task,
                                        on_event, on_counters, on_finding};
    enum store_offline_end end = salvage(o, &taker);
    if (end == OFFLINE_UNREADABLE)
        return end;
    fprintf(out,
            "%s: %s: %" PRIu64 " tasks, %" PRIu64 " events, %" PRIu64 " crons, %" PRIu64
            " queues that are not open",
            o->path, end == OFFLINE_GOOD ? "sound" : "damaged", c.tasks, c.events, c.crons,
            c.queues);
    if (end == OFFLINE_GOOD)
        fputs("\n", out);
    else
        fprintf(out, " can be read; %" PRIu64 " findings\n", c.findings);
    if (fflush(out) == 0 && !ferror(out))
        return end;
    fputs("the findings cannot be written\n", errors);
    return OFFLINE_UNREADABLE;
}
