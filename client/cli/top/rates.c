#include "client/cli/top/rates.h"

#include "client/cli/json.h"

#include <string.h>

struct step {
    const json_t *before, *now; /* samples; `before` NULL: all is since the start */
    double seconds;             /* more than 0 */
};

/* Of a counter, a second.  One that fell was counted anew. */
static double rate(const struct step *s, const json_t *before, const json_t *now, const char *key)
{
    double was = json_figure(before, key), is = json_figure(now, key);
    return (is >= was ? is - was : is) / s->seconds;
}

static void set(json_t *row, const char *key, double value)
{
    json_object_set_new(row, key, json_real(value));
}

static void copy(json_t *row, const json_t *from, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        json_t *value = json_object_get(from, *keys);
        if (value != NULL)
            json_object_set(row, *keys, value);
    }
}

/* The answer in a sample; NULL: it is missing. */
static const json_t *of(const json_t *sample, const char *part)
{
    return json_object_get(sample, part);
}

/* The entry with the same `key`; they come in the same order as a rule, so it is looked for from
 * the same place on. */
static const json_t *same(const json_t *list, size_t from, const char *key, const json_t *value)
{
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, (from + i) % count);
        if (json_equal(json_object_get(entry, key), value))
            return entry;
    }
    return NULL;
}

/* For each entry of a list of the sample a row, by `fill`; NULL: there is no such list. */
static json_t *
rows_of(const struct step *s, const json_t *before, const json_t *now, const char *key,
        void (*fill)(const struct step *s, json_t *row, const json_t *was, const json_t *is))
{
    size_t i;
    json_t *is;
    if (!json_is_array(now))
        return NULL;
    bool asked = s->before == NULL || json_is_array(before); /* else there is nothing to compare */
    json_t *rows = json_array();
    json_array_foreach(now, i, is)
    {
        json_t *row = json_object();
        if (json_is_object(is)) {
            fill(s, row, asked ? same(before, i, key, json_object_get(is, key)) : is, is);
            json_array_append(rows, row);
        }
        json_decref(row);
    }
    return rows;
}

/* ---- rows ---- */

static void fill_handler(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {"name",    "running", "parked",
                                              "wait_us", "run_us",  NULL};
    static const struct {
        const char *part, *key, *name; /* microseconds, which become milliseconds */
    } percentiles[] = {{"wait_us", "p50", "wait_p50_ms"},
                       {"wait_us", "p99", "wait_p99_ms"},
                       {"run_us", "p50", "run_p50_ms"},
                       {"run_us", "p95", "run_p95_ms"},
                       {"run_us", "p99", "run_p99_ms"}};
    double busy = rate(s, was, is, "busy_ms"), runs = rate(s, was, is, "steps");
    copy(row, is, as_they_are);
    set(row, "runs", runs);
    set(row, "busy", busy / 10); /* percent of a thread */
    set(row, "mean_ms", runs > 0 ? busy / runs : 0);
    if (json_object_get(is, "failed") != NULL)
        set(row, "failed", rate(s, was, is, "failed"));
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
        const json_t *part = json_object_get(is, percentiles[i].part);
        if (json_is_object(part))
            set(row, percentiles[i].name, json_figure(part, percentiles[i].key) / 1000);
    }
}

/* What each has of the time of all. */
static void share_time(json_t *handlers)
{
    double all = 0;
    size_t i;
    json_t *row;
    json_array_foreach(handlers, i, row)
    {
        all += json_figure(row, "busy");
    }
    json_array_foreach(handlers, i, row)
    {
        set(row, "share", all > 0 ? 100 * json_figure(row, "busy") / all : 0);
    }
}

static void fill_queue(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {"method",  "kind",   "queued", "waiting",
                                              "delayed", "oldest", NULL};
    bool paused = json_is_true(json_object_get(is, "paused"));
    copy(row, is, as_they_are);
    json_object_set_new(row, "state",
                        json_string(json_is_true(json_object_get(is, "draining")) ? "draining"
                                    : paused                                      ? "paused"
                                                                                  : "open"));
    set(row, "at_work",
        json_figure(is, "assigned") + json_figure(is, "running") + json_figure(is, "parked"));
    set(row, "submitted", rate(s, was, is, "submitted"));
    set(row, "done", rate(s, was, is, "done"));
    set(row, "failed", rate(s, was, is, "failed"));
}

static void fill_executor(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {"name",        "kind",  "state",  "loop",
                                              "outstanding", "bound", "parked", "turning",
                                              "running",     NULL};
    const char *state = json_text(is, "state");
    copy(row, is, as_they_are);
    set(row, "done", rate(s, was, is, "done"));
    set(row, "failed", rate(s, was, is, "failed"));
    set(row, "busy", rate(s, was, is, "busy_ms") / 10);
    json_object_set_new(row, "stuck",
                        json_boolean(strcmp(state, "away") == 0 || strcmp(state, "outlived") == 0));
}

static void fill_loop(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {"name",     "connections", "workers",
                                              "sleeping", "long_steps",  NULL};
    copy(row, is, as_they_are);
    if (json_object_get(is, "longest_step_us") != NULL) {
        set(row, "longest_step_ms", json_figure(is, "longest_step_us") / 1000);
        set(row, "longest_step_minute_ms", json_figure(is, "longest_step_minute_us") / 1000);
    }
    set(row, "rounds", rate(s, was, is, "rounds"));
    set(row, "steps", rate(s, was, is, "steps"));
    set(row, "blocks", rate(s, was, is, "blocks"));
}

/* A loop whose executors are away hangs. */
static void mark_loops(json_t *loops, const json_t *executors)
{
    size_t i, k;
    json_t *loop, *e;
    json_array_foreach(loops, i, loop)
    {
        bool away = false;
        json_array_foreach(executors, k, e)
        {
            const json_t *its = json_object_get(e, "loop");
            away = away || (json_is_integer(its) && json_integer_value(its) == (json_int_t)i &&
                            strcmp(json_text(e, "state"), "away") == 0);
        }
        json_object_set_new(loop, "state", json_string(away ? "away" : "ready"));
        json_object_set_new(loop, "stuck", json_boolean(away));
    }
}

static void fill_connection(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {
        "id",        "principal", "peer",         "listener", "state", "age_ms", "idle_ms",
        "in_flight", "workers",   "output_bytes", "bytes",    "tls",   NULL};
    copy(row, is, as_they_are);
    set(row, "messages", rate(s, was, is, "messages"));
    json_object_set_new(row, "stuck", json_boolean(json_is_true(json_object_get(is, "stopped"))));
}

static void fill_worker(const struct step *s, json_t *row, const json_t *was, const json_t *is)
{
    static const char *const as_they_are[] = {"worker", "name", "principal", "state",   "version",
                                              "slots",  "out",  "late",      "mean_ms", NULL};
    copy(row, is, as_they_are);
    set(row, "done", rate(s, was, is, "done"));
    set(row, "failed", rate(s, was, is, "failed"));
    json_object_set_new(row, "stuck", json_boolean(json_figure(is, "late") > 0));
}

/* ---- the whole ---- */

static json_t *server_model(const struct step *s)
{
    static const char *const whole[] = {"version", "pid", "uptime_ms", "draining", NULL};
    static const struct {
        const char *part, *key, *name; /* of a counter, and of its rate */
    } rates[] = {
        {"tasks", "calls", "calls"},
        {"tasks", "failed", "failed"},
        {"tasks", "late", "late"},
        {"tasks", "refused", "refused"},
        {"kept", "submitted", "submitted"},
        {"kept", "starts", "starts"},
        {"kept", "retries", "retries"},
        {"store", "commits", "commits"},
        {"connections", "messages", "messages"},
        {"connections", "bytes_in", "bytes_in"},
        {"connections", "bytes_out", "bytes_out"},
        {"connections", "accepted", "accepted"},
        {"log", "dropped", "log_dropped"},
    };
    static const struct {
        const char *part, *key, *name;
    } figures[] = {
        {"connections", "open", "connections"},
        {"memory", "bytes", "memory"},
        {"memory", "limit", "memory_limit"},
        {"kept", "held", "tasks"},
        {"kept", "limit", "tasks_limit"},
        {"kept", "bytes", "tasks_bytes"},
        {"kept", "bytes_limit", "tasks_bytes_limit"},
        {"store", "bytes", "store_bytes"},
        {"store", "commit_us", "commit_us"},
        {"store", "error", "store_error"},
        {"cluster", "node", "node"},
        {"cluster", "role", "role"},
        {"cluster", "owner", "owner"},
        {"cluster", "epoch", "epoch"},
        {"cluster", "moving_from", "moving_from"},
        {"workers", "registered", "workers"},
        {"workers", "slots", "slots"},
        {"workers", "out", "out"},
    };
    const json_t *now = of(s->now, "info"), *before = of(s->before, "info");
    json_t *row = json_object();
    copy(row, now, whole);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        set(row, rates[i].name,
            rate(s, of(before, rates[i].part), of(now, rates[i].part), rates[i].key));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        json_t *value = json_object_get(of(now, figures[i].part), figures[i].key);
        if (value != NULL)
            json_object_set(row, figures[i].name, value);
    }
    json_object_set_new(row, "store", json_boolean(json_is_object(of(now, "store"))));
    set(row, "queued_calls", json_figure(of(of(s->now, "topology"), "manager"), "queued"));
    if (of(of(now, "kept"), "states") != NULL)
        json_object_set(row, "states", json_object_get(of(now, "kept"), "states"));
    return row;
}

static bool has_restarted(const json_t *before, const json_t *now)
{
    const json_t *was = of(before, "info"), *is = of(now, "info");
    return was != NULL && is != NULL &&
           (json_figure(was, "pid") != json_figure(is, "pid") ||
            json_figure(is, "uptime_ms") < json_figure(was, "uptime_ms"));
}

static void put_rows(json_t *model, const char *key, json_t *rows)
{
    if (rows != NULL)
        json_object_set_new(model, key, rows);
}

/* Two samples within one millisecond have no rates: the time is 1 ms, and the differences are 0. */
static double seconds_between(const json_t *before, const json_t *now)
{
    double ms =
        json_figure(of(now, "info"), "uptime_ms") - json_figure(of(before, "info"), "uptime_ms");
    return ms > 1 ? ms / 1000 : 0.001;
}

json_t *model_of(const json_t *before, const json_t *now)
{
    bool restarted = has_restarted(before, now);
    struct step s = {.before = restarted ? NULL : before, .now = now};
    const json_t *topology = of(now, "topology"), *was = of(s.before, "topology");
    s.seconds = seconds_between(s.before, now);
    json_t *model = json_pack("{s:f, s:b, s:o}", "seconds", s.seconds, "restarted", restarted,
                              "server", server_model(&s));
    put_rows(model, "handlers",
             rows_of(&s, of(of(s.before, "info"), "handlers"), of(of(now, "info"), "handlers"),
                     "name", fill_handler));
    share_time(json_object_get(model, "handlers"));
    put_rows(model, "queues",
             rows_of(&s, of(s.before, "queues"), of(now, "queues"), "method", fill_queue));
    put_rows(model, "executors",
             rows_of(&s, of(was, "executors"), of(topology, "executors"), "name", fill_executor));
    put_rows(model, "loops",
             rows_of(&s, of(was, "loops"), of(topology, "loops"), "name", fill_loop));
    mark_loops(json_object_get(model, "loops"), of(topology, "executors"));
    put_rows(
        model, "connections",
        rows_of(&s, of(s.before, "connections"), of(now, "connections"), "id", fill_connection));
    put_rows(model, "workers",
             rows_of(&s, of(s.before, "workers"), of(now, "workers"), "worker", fill_worker));
    return model;
}
