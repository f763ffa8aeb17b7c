/* Writes the rows of a store as lines of JSON. */
#include "server/store/offline/json_row.h"
#include "server/store/offline/salvage.h"
#include "server/store/sqlite/schema.h"

struct export
{
    FILE *out, *errors;
    struct row_names names;
    bool failed;
};

/* Takes the value over; NULL: there was no memory. */
static bool write_line(struct export *e, const char *name, json_t *value)
{
    json_t *line = value ? json_pack("{s:o}", name, value) : NULL;
    int rc = line ? json_dumpf(line, e->out, JSON_COMPACT) : -1;
    json_decref(line);
    e->failed = rc != 0 || putc('\n', e->out) == EOF;
    return !e->failed;
}

static bool on_plain(void *arg, const struct salvage_plain *plain, const union salvage_row *row)
{
    struct export *e = arg;
    return write_line(e, plain->name, json_of_row(plain->map, row, &e->names));
}

/* A part has no id: that is the task's. */
static bool add_part(const struct export *e, json_t *to, const char *name,
                     const struct store_table *m, const struct store_task *task)
{
    json_t *part = json_of_row(m, task, &e->names);
    if (part)
        json_object_del(part, "id");
    return json_object_set_new(to, name, part) == 0;
}

static bool on_task(void *arg, const struct store_task *task, bool has_life)
{
    struct export *e = arg;
    json_t *row = json_of_row(&row_submissions, task, &e->names);
    bool good = row && (!task->has_options || add_part(e, row, "options", &row_options, task)) &&
                (!has_life || add_part(e, row, "life", &row_lives, task));
    if (good)
        return write_line(e, "task", row);
    json_decref(row);
    e->failed = true;
    return false;
}

static bool on_event(void *arg, const struct store_event *event)
{
    struct export *e = arg;
    return write_line(e, "event", json_of_row(&row_events, event, &e->names));
}

static bool on_counters(void *arg, const struct row_counters *c)
{
    struct export *e = arg;
    return write_line(e, "counters", json_of_row(&row_counters, c, &e->names));
}

static void on_finding(void *arg, const char *text, bool harmless)
{
    struct export *e = arg;
    fprintf(e->errors, "%s%s\n", harmless ? "harmless: " : "", text);
}

enum store_offline_end store_export(const struct store_offline *o, FILE *out, FILE *errors)
{
    struct export e = {
        .out = out, .errors = errors, .names = row_names_of(o->states, o->state_count)};
    const struct salvage_taker taker = {&e, on_plain, on_task, on_event, on_counters, on_finding};
    if (!write_line(&e, "store", json_pack("{s:i}", "version", schema_version)))
        goto unwritten;
    enum store_offline_end end = offline_read(o, &taker);
    if (!e.failed && fflush(out) == 0)
        return end;
unwritten:
    fputs("the lines cannot be written, or there is no memory for one\n", errors);
    return OFFLINE_UNREADABLE;
}
