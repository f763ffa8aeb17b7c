#include "client/cli/top/views.h"

#include "base/units.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a figure is written. */
enum form { FORM_TEXT, FORM_COUNT, FORM_RATE, FORM_PERCENT, FORM_MS, FORM_BYTES, FORM_SINCE };

enum { COLUMNS_MAX = 13, CELL_MAX = 160, GAP = 2, NAME_MIN = 8 };

struct column {
    const char *key; /* NULL ends them */
    const char *head;
    enum form form;
};

struct view {
    const char *name;
    const char *rows;                       /* the member of the model */
    size_t sort;                            /* at first */
    struct column columns[COLUMNS_MAX + 1]; /* the first is the name, and cut where it must be */
};

/* In the order of what one looks for: a narrow screen leaves out the last. */
static const struct view VIEWS[VIEW_COUNT] = {
    [VIEW_ALL] = {.name = "overview"},
    [VIEW_HANDLERS] = {"handlers",
                       "handlers",
                       1,
                       {{"name", "handler", FORM_TEXT},
                        {"busy", "busy%", FORM_PERCENT},
                        {"share", "share%", FORM_PERCENT},
                        {"runs", "runs/s", FORM_RATE},
                        {"failed", "fail/s", FORM_RATE},
                        {"mean_ms", "mean", FORM_MS},
                        {"run_p99_ms", "p99", FORM_MS},
                        {"wait_p99_ms", "wait99", FORM_MS},
                        {"running", "run", FORM_COUNT},
                        {"parked", "parked", FORM_COUNT},
                        {"run_p50_ms", "p50", FORM_MS},
                        {"run_p95_ms", "p95", FORM_MS},
                        {"wait_p50_ms", "wait50", FORM_MS}}},
    [VIEW_QUEUES] = {"queues",
                     "queues",
                     1,
                     {{"method", "queue", FORM_TEXT},
                      {"queued", "queued", FORM_COUNT},
                      {"state", "state", FORM_TEXT},
                      {"at_work", "work", FORM_COUNT},
                      {"done", "done/s", FORM_RATE},
                      {"submitted", "in/s", FORM_RATE},
                      {"failed", "fail/s", FORM_RATE},
                      {"waiting", "wait", FORM_COUNT},
                      {"delayed", "delay", FORM_COUNT},
                      {"oldest", "oldest", FORM_SINCE}}},
    [VIEW_EXECUTORS] = {"executors",
                        "executors",
                        2,
                        {{"name", "executor", FORM_TEXT},
                         {"state", "state", FORM_TEXT},
                         {"busy", "busy%", FORM_PERCENT},
                         {"outstanding", "out", FORM_COUNT},
                         {"bound", "bound", FORM_COUNT},
                         {"done", "done/s", FORM_RATE},
                         {"failed", "fail/s", FORM_RATE},
                         {"parked", "parked", FORM_COUNT},
                         {"turning", "turns", FORM_COUNT},
                         {"running", "running", FORM_TEXT}}},
    [VIEW_LOOPS] = {"loops",
                    "loops",
                    0,
                    {{"name", "loop", FORM_TEXT},
                     {"state", "state", FORM_TEXT},
                     {"connections", "conns", FORM_COUNT},
                     {"rounds", "rounds/s", FORM_RATE},
                     {"steps", "steps/s", FORM_RATE},
                     {"blocks", "sleeps/s", FORM_RATE},
                     {"long_steps", "long", FORM_COUNT},
                     {"longest_step_minute_ms", "longest", FORM_MS},
                     {"workers", "workers", FORM_COUNT},
                     {"sleeping", "asleep", FORM_COUNT}}},
    [VIEW_CONNECTIONS] = {"connections",
                          "connections",
                          2,
                          {{"principal", "principal", FORM_TEXT},
                           {"id", "id", FORM_COUNT},
                           {"messages", "msgs/s", FORM_RATE},
                           {"in_flight", "flight", FORM_COUNT},
                           {"bytes", "holds", FORM_BYTES},
                           {"output_bytes", "output", FORM_BYTES},
                           {"peer", "peer", FORM_TEXT},
                           {"state", "state", FORM_TEXT},
                           {"age_ms", "age", FORM_MS},
                           {"idle_ms", "idle", FORM_MS}}},
    [VIEW_WORKERS] = {"workers",
                      "workers",
                      2,
                      {{"name", "worker", FORM_TEXT},
                       {"worker", "id", FORM_TEXT},
                       {"done", "done/s", FORM_RATE},
                       {"out", "out", FORM_COUNT},
                       {"slots", "slots", FORM_COUNT},
                       {"failed", "fail/s", FORM_RATE},
                       {"mean_ms", "mean", FORM_MS},
                       {"late", "late", FORM_COUNT},
                       {"state", "state", FORM_TEXT},
                       {"principal", "principal", FORM_TEXT}}},
};

static size_t column_count(const struct view *v)
{
    size_t count = 0;
    while (v->columns[count].key != NULL)
        count++;
    return count;
}

void view_state_init(struct view_state *s)
{
    *s = (struct view_state){.view = VIEW_ALL};
    for (size_t i = 0; i < VIEW_COUNT; i++)
        s->sort[i] = VIEWS[i].sort;
}

const char *view_name(enum view_id view)
{
    return VIEWS[view].name;
}

void view_sort_by(struct view_state *s, int by)
{
    size_t count = column_count(&VIEWS[s->view]);
    if (count > 0)
        s->sort[s->view] = (s->sort[s->view] + count + (size_t)by) % count;
}

/* ---- figures ---- */

static void write_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"", "k", "m", "g", "t"};
    size_t unit = 0;
    for (; bytes >= 9999.5 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, size, "%.0f%s", bytes, units[unit]);
}

static void write_count(double n, char *text, size_t size)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t unit = 0;
    for (; n >= 99999.5 && unit < 4; unit++)
        n /= 1000;
    snprintf(text, size, "%.0f%s", n, units[unit]);
}

static void write_rate(double n, char *text, size_t size)
{
    if (n > 0 && n < 99.95)
        snprintf(text, size, "%.1f", n);
    else
        write_count(n, text, size);
}

/* "3us", "2.4ms", "17s", "5m", "3h" */
static void write_ms(double ms, char *text, size_t size)
{
    if (ms <= 0)
        snprintf(text, size, "0");
    else if (ms < 1)
        snprintf(text, size, "%.0fus", ms * 1000);
    else if (ms < 100)
        snprintf(text, size, "%.1fms", ms);
    else if (ms < 10000)
        snprintf(text, size, "%.0fms", ms);
    else if (ms < 120e3)
        snprintf(text, size, "%.0fs", ms / 1e3);
    else if (ms < 7200e3)
        snprintf(text, size, "%.0fm", ms / 60e3);
    else if (ms < 48 * 3600e3)
        snprintf(text, size, "%.0fh", ms / 3600e3);
    else
        snprintf(text, size, "%.0fd", ms / 86400e3);
}

static void write_cell(const json_t *row, const struct column *c, char *text, size_t size)
{
    const json_t *value = json_object_get(row, c->key);
    double n = json_number_value(value);
    if (value == NULL || json_is_null(value)) {
        snprintf(text, size, "-");
        return;
    }
    switch (c->form) {
    case FORM_TEXT:
        snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : "?");
        break;
    case FORM_COUNT:
        write_count(n, text, size);
        break;
    case FORM_RATE:
        write_rate(n, text, size);
        break;
    case FORM_PERCENT:
        snprintf(text, size, "%.1f", n);
        break;
    case FORM_MS:
        write_ms(n, text, size);
        break;
    case FORM_BYTES:
        write_bytes(n, text, size);
        break;
    case FORM_SINCE:
        write_ms((double)now_ms() - n, text, size);
        break;
    }
}

/* ---- rows: chosen, sorted, laid out ---- */

static bool fits_filter(const struct view *v, const json_t *row, const char *filter)
{
    if (filter[0] == 0)
        return true;
    for (const struct column *c = v->columns; c->key != NULL; c++)
        if (c->form == FORM_TEXT && strcasestr(json_text(row, c->key), filter) != NULL)
            return true;
    return false;
}

struct order {
    const char *key;
    bool text, reversed;
    const char *name; /* what decides where both are the same */
};

/* The most first, and texts from a to z. */
static int compare(const void *a, const void *b, void *arg)
{
    const struct order *o = arg;
    const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
    int order;
    if (o->text) {
        order = strcmp(json_text(left, o->key), json_text(right, o->key));
    } else {
        double x = json_figure(left, o->key);
        double y = json_figure(right, o->key);
        order = x > y ? -1 : x < y;
    }
    if (order == 0)
        return strcmp(json_text(left, o->name), json_text(right, o->name));
    return o->reversed ? -order : order;
}

/* The rows that are shown, borrowed from the model; NULL: none, or no memory. */
static json_t **choose(const json_t *model, const struct view *v, const struct view_state *s,
                       size_t *count)
{
    const json_t *rows = json_object_get(model, v->rows);
    const struct column *by = &v->columns[s->sort[v - VIEWS]];
    struct order order = {.key = by->key,
                          .text = by->form == FORM_TEXT,
                          .reversed = s->reversed[v - VIEWS],
                          .name = v->columns[0].key};
    json_t **chosen = calloc(json_array_size(rows) + 1, sizeof *chosen), *row;
    size_t i;
    *count = 0;
    if (chosen == NULL)
        return NULL;
    json_array_foreach(rows, i, row)
    {
        if (fits_filter(v, row, s->filter))
            chosen[(*count)++] = row;
    }
    qsort_r(chosen, *count, sizeof *chosen, compare, &order);
    return chosen;
}

struct layout {
    size_t width[COLUMNS_MAX];
    size_t count; /* columns that there is room for */
};

/* Each column is as wide as its widest cell; the name has a quarter, and what is left. */
static struct layout lay_out(const struct view *v, json_t *const *rows, size_t count, size_t width)
{
    struct layout l = {.count = 0};
    size_t taken = 0, name = width / 4;
    for (const struct column *c = v->columns; c->key != NULL; c++) {
        char text[CELL_MAX];
        size_t widest = text_width(c->head) + 1; /* the mark of the order */
        for (size_t i = 0; i < count; i++) {
            write_cell(rows[i], c, text, sizeof text);
            size_t one = text_width(text);
            widest = one > widest ? one : widest;
        }
        l.width[c - v->columns] = widest;
    }
    name = name < l.width[0] ? name : l.width[0];
    name = name > NAME_MIN ? name : NAME_MIN;
    for (; v->columns[l.count].key != NULL; l.count++) {
        size_t least = l.count > 0 ? l.width[l.count] + GAP : name;
        if (taken + least > width && l.count > 0)
            break;
        taken += least;
    }
    size_t left = width > taken - name ? width - (taken - name) : name;
    l.width[0] = l.width[0] < left ? l.width[0] : left;
    return l;
}

static void add_cell(FILE *out, const char *text, size_t width, bool right, bool first)
{
    char *plain = plain_text(text);
    char *fit = text_fit(plain != NULL ? plain : "?", width, right);
    fprintf(out, "%*s%s", first ? 0 : GAP, "", fit != NULL ? fit : "");
    free(plain);
    free(fit);
}

/* `row` NULL: the heads. */
static void say_row(struct frame *f, const struct view *v, const struct layout *l,
                    const struct view_state *s, const json_t *row)
{
    char *line = NULL, text[CELL_MAX];
    size_t len;
    FILE *out = open_memstream(&line, &len);
    if (out == NULL)
        return;
    for (size_t i = 0; i < l->count; i++) {
        const struct column *c = &v->columns[i];
        if (row != NULL)
            write_cell(row, c, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s%s", c->head,
                     i != s->sort[v - VIEWS]  ? ""
                     : s->reversed[v - VIEWS] ? "^"
                                              : "v");
        add_cell(out, text, l->width[i], c->form != FORM_TEXT, i == 0);
    }
    fclose(out);
    while (len > 0 && line[len - 1] == ' ')
        line[--len] = 0;
    frame_say(f,
              row == NULL                                   ? TONE_HEAD
              : json_is_true(json_object_get(row, "stuck")) ? TONE_BAD
                                                            : TONE_PLAIN,
              "%s", line);
    free(line);
}

/* At most `most` lines, with the heads. */
static void say_view(struct frame *f, const json_t *model, const struct view *v,
                     const struct view_state *s, size_t most)
{
    size_t count, from = s->scroll;
    json_t **rows = choose(model, v, s, &count);
    if (json_object_get(model, v->rows) == NULL) {
        frame_say(f, TONE_BAD, "%s: the server does not say", v->name);
    } else if (rows != NULL && most > 0) {
        struct layout l = lay_out(v, rows, count, f->width);
        if (s->view == VIEW_ALL || from >= count)
            from = s->view != VIEW_ALL && count > 0 ? count - 1 : 0;
        say_row(f, v, &l, s, NULL);
        for (size_t i = from; i < count && i - from + 1 < most && frame_has_room(f); i++)
            say_row(f, v, &l, s, rows[i]);
        if (count == 0)
            frame_say(f, TONE_PLAIN, "(none)");
    }
    free(rows);
}

static size_t row_count(const json_t *model, enum view_id id)
{
    return json_array_size(json_object_get(model, VIEWS[id].rows));
}

/* A part needs its head, and a line for each row, or for "(none)". */
static void say_all(struct frame *f, const json_t *model, const struct view_state *s)
{
    static const enum view_id parts[] = {VIEW_HANDLERS, VIEW_QUEUES, VIEW_EXECUTORS};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < PARTS && frame_has_room(f); i++) {
        size_t left = f->height - f->count, later = PARTS - 1 - i;
        size_t fair = left / (later + 1), needs = 0;
        for (size_t k = i + 1; k < PARTS; k++) {
            size_t rows = row_count(model, parts[k]), wants = 2 + (rows > 0 ? rows : 1);
            needs += wants < fair ? wants : fair;
        }
        size_t most = left > needs ? left - needs : fair;
        if (i > 0 && f->width > 0) {
            frame_say(f, TONE_PLAIN, "%s", "");
            most = most > 1 ? most - 1 : 1;
        }
        say_view(f, model, &VIEWS[parts[i]], s, most);
    }
}

void view_rows(struct frame *f, const json_t *model, const struct view_state *s)
{
    if (s->view == VIEW_ALL)
        say_all(f, model, s);
    else
        say_view(f, model, &VIEWS[s->view], s, f->height - f->count);
}

/* ---- the header ---- */

struct words {
    char text[32];
};

static struct words rate_words(const json_t *server, const char *key)
{
    struct words w;
    write_rate(json_figure(server, key), w.text, sizeof w.text);
    return w;
}

static struct words bytes_words(const json_t *server, const char *key)
{
    struct words w;
    write_bytes(json_figure(server, key), w.text, sizeof w.text);
    return w;
}

static struct words count_words(const json_t *server, const char *key)
{
    struct words w;
    write_count(json_figure(server, key), w.text, sizeof w.text);
    return w;
}

static void say_store(struct frame *f, const json_t *s)
{
    struct words commit;
    const char *error = json_text(s, "store_error");
    write_ms(json_figure(s, "commit_us") / 1000, commit.text, sizeof commit.text);
    if (error[0] != 0)
        frame_say(f, TONE_BAD, "store   cannot write: %s", error);
    else if (json_is_true(json_object_get(s, "store")))
        frame_say(f, TONE_PLAIN, "store   %s, %s commits/s, the last took %s",
                  bytes_words(s, "store_bytes").text, rate_words(s, "commits").text, commit.text);
}

static void say_cluster(struct frame *f, const json_t *s)
{
    const char *node = json_text(s, "node"), *owner = json_text(s, "owner");
    const char *from = json_text(s, "moving_from");
    if (node[0] == 0)
        return;
    if (owner[0] == 0)
        frame_say(f, TONE_BAD, "cluster %s is %s, and no node owns the tasks%s%s", node,
                  json_text(s, "role"), from[0] ? ": they move from " : "", from);
    else if (from[0] != 0)
        frame_say(f, TONE_BAD, "cluster %s is %s, the tasks move from %s to %s", node,
                  json_text(s, "role"), from, owner);
    else
        frame_say(f, TONE_PLAIN, "cluster %s is %s, %s owns the tasks, epoch %.0f", node,
                  json_text(s, "role"), owner, json_figure(s, "epoch"));
}

void view_header(struct frame *f, const json_t *model, const char *url)
{
    const json_t *s = json_object_get(model, "server");
    struct words up;
    write_ms(json_figure(s, "uptime_ms"), up.text, sizeof up.text);
    frame_say(f, TONE_TITLE, "ergon %s at %s, pid %.0f, up %s%s%s", json_text(s, "version"), url,
              json_figure(s, "pid"), up.text,
              json_is_true(json_object_get(s, "draining")) ? ", STOPPING" : "",
              json_is_true(json_object_get(model, "restarted")) ? ", has started anew" : "");
    frame_say(f, TONE_PLAIN, "calls   %s/s, %s failed/s, %s busy/s, %s queued",
              rate_words(s, "calls").text, rate_words(s, "failed").text,
              rate_words(s, "refused").text, count_words(s, "queued_calls").text);
    frame_say(f, TONE_PLAIN, "tasks   %s held, %s submitted/s, %s begun/s, %s retried/s",
              count_words(s, "tasks").text, rate_words(s, "submitted").text,
              rate_words(s, "starts").text, rate_words(s, "retries").text);
    frame_say(f, TONE_PLAIN, "peers   %s connections, %s workers, %s msgs/s, in %s/s, out %s/s",
              count_words(s, "connections").text, count_words(s, "workers").text,
              rate_words(s, "messages").text, bytes_words(s, "bytes_in").text,
              bytes_words(s, "bytes_out").text);
    frame_say(f, TONE_PLAIN, "memory  calls %s of %s, tasks %s of %s",
              bytes_words(s, "memory").text, bytes_words(s, "memory_limit").text,
              bytes_words(s, "tasks_bytes").text, bytes_words(s, "tasks_bytes_limit").text);
    say_store(f, s);
    say_cluster(f, s);
    if (json_figure(s, "log_dropped") > 0)
        frame_say(f, TONE_BAD, "log     %s records/s are dropped",
                  rate_words(s, "log_dropped").text);
}
