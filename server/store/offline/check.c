/* Reports what of a store cannot be read. */
#include "server/store/offline/salvage.h"

#include <inttypes.h>
#include <limits.h>

#include "server/store/driver.h"

struct check {
    FILE *out, *errors;
    uint64_t tasks, events, findings, plain[SALVAGE_PLAIN];
};

static bool on_plain(void *arg, const struct salvage_plain *plain, const union salvage_row *row)
{
    (void)row;
    ((struct check *)arg)->plain[plain - salvage_plain]++;
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

static bool on_counters(void *arg, const struct row_counters *c)
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
    char name[PATH_MAX];
    struct check c = {.out = out, .errors = errors};
    const struct salvage_taker taker = {&c, on_plain, on_task, on_event, on_counters, on_finding};
    enum store_offline_end end = offline_read(o, &taker);
    if (end == OFFLINE_UNREADABLE)
        return end;
    driver_name(o->path, name, sizeof name);
    fprintf(out, "%s: %s: %" PRIu64 " tasks, %" PRIu64 " events", name,
            end == OFFLINE_GOOD ? "sound" : "damaged", c.tasks, c.events);
    for (int n = 0; n < SALVAGE_PLAIN; n++)
        fprintf(out, ", %" PRIu64 " %s", c.plain[n], salvage_plain[n].map->table);
    if (end == OFFLINE_GOOD)
        fputs("\n", out);
    else
        fprintf(out, " can be read; %" PRIu64 " findings\n", c.findings);
    if (fflush(out) == 0 && !ferror(out))
        return end;
    fputs("the findings cannot be written\n", errors);
    return OFFLINE_UNREADABLE;
}
