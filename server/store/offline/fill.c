/* Fills a database with the rows of a store's file. */
#include <stdio.h>

#include "server/store/driver.h"
#include "server/store/offline/salvage.h"

enum { LINE = 600 };

struct filling {
    const struct store_fill *fill;
    void *database;
    FILE *errors;
    struct store_fault fault;
    struct row_counters counters;
    bool failed; /* the database has refused a row */
    bool whole;  /* the counters came */
    uint64_t tasks;
};

static bool put(struct filling *f, const struct store_table *table, const void *row)
{
    f->failed = f->fill->row(f->database, table, row, &f->fault) != 0;
    return !f->failed;
}

static bool on_plain(void *arg, const struct salvage_plain *plain, const union salvage_row *row)
{
    return put(arg, plain->map, row);
}

static bool on_task(void *arg, const struct store_task *task, bool has_life)
{
    struct filling *f = arg;
    f->tasks++;
    return put(f, &row_submissions, task) && (!task->has_options || put(f, &row_options, task)) &&
           (!has_life || put(f, &row_lives, task));
}

static bool on_event(void *arg, const struct store_event *event)
{
    return put(arg, &row_events, event);
}

static bool on_counters(void *arg, const struct row_counters *counters)
{
    struct filling *f = arg;
    f->counters = *counters;
    f->whole = true;
    return true;
}

static void on_finding(void *arg, const char *text, bool harmless)
{
    fprintf(((struct filling *)arg)->errors, "%s%s\n", harmless ? "harmless: " : "", text);
}

static enum store_offline_end fill_from(struct filling *f, const struct store_offline *from,
                                        const char *name)
{
    const struct salvage_taker taker = {f, on_plain, on_task, on_event, on_counters, on_finding};
    enum store_offline_end end = salvage(from, &taker);
    bool good = end == OFFLINE_GOOD && f->whole && !f->failed;
    struct store_fault ignored;
    int ended = f->fill->end(f->database, good ? &f->counters : NULL, good ? &f->fault : &ignored);
    if (good && ended == 0) {
        fprintf(f->errors, "%s: %llu tasks imported\n", name, (unsigned long long)f->tasks);
        return OFFLINE_GOOD;
    }
    if (f->failed || good)
        fprintf(f->errors, "%s; nothing was imported\n", f->fault.text);
    else
        fprintf(f->errors, "%s: nothing was imported\n", name);
    return end == OFFLINE_GOOD ? OFFLINE_DAMAGED : end;
}

enum store_offline_end database_fill(const struct store_offline *o, const char *from, FILE *errors)
{
    char text[LINE], name[LINE];
    struct store_offline file = *o;
    struct filling f = {.errors = errors};
    file.path = from;
    driver_name(o->path, name, sizeof name);
    f.fill = driver_symbol(o->path, STORE_FILL_SYMBOL, text, sizeof text);
    if (!f.fill) {
        fprintf(errors, "%s; nothing was imported\n", text);
        return OFFLINE_UNREADABLE;
    }
    const struct store_setup setup = {.where = o->path,
                                      .names = row_names_of(o->states, o->state_count)};
    f.database = f.fill->begin(&setup, &f.fault);
    if (!f.database) {
        fprintf(errors, "%s; nothing was imported\n", f.fault.text);
        return OFFLINE_UNREADABLE;
    }
    return fill_from(&f, &file, name);
}
