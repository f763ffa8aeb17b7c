#include "sim/user/scenario.h"

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "sim/user/values.h"
#include "sim/user/yaml_tree.h"

enum { VALUES_MAX = 10000 /* bytes as JSON, of which a burst takes several */ };

/* The reading of one file: once something is wrong the rest is not looked at. */
struct reading {
    struct sim_scenario *s;
    char *error;
    size_t size;
    bool wrong;
};

__attribute__((format(printf, 3, 4))) static void wrong(struct reading *r, const json_t *at,
                                                        const char *format, ...)
{
    char text[400];
    va_list args;
    if (r->wrong)
        return;
    r->wrong = true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    unsigned line = at ? sim_yaml_line(at) : 0;
    if (line > 0)
        snprintf(r->error, r->size, "%s:%u: %s", r->s->path, line, text);
    else
        snprintf(r->error, r->size, "%s: %s", r->s->path, text);
}

/* --- Keys of a map, by a table --- */

struct key {
    const char *name;
    void (*read)(struct reading *r, const json_t *value, void *into);
    size_t at; /* in the struct */
};

static const struct key *find_key(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

static void unknown(struct reading *r, const json_t *map, const struct key *keys, const char *name)
{
    struct suggestion s = suggest_for(span_text(name), 3);
    char all[300] = "";
    for (const struct key *k = keys; k->name; k++) {
        suggest_offer(&s, span_text(k->name));
        size_t len = strlen(all);
        snprintf(all + len, sizeof all - len, "%s%s", len > 0 ? ", " : "", k->name);
    }
    if (s.name.len > 0)
        wrong(r, map, "%s: there is no such key; is it %.*s?", name, (int)s.name.len, s.name.at);
    else
        wrong(r, map, "%s: there is no such key; there are %s", name, all);
}

static void read_map(struct reading *r, const json_t *map, const struct key *keys, void *into)
{
    const char *name;
    json_t *value;
    if (!json_is_object(map)) {
        wrong(r, map, "a map belongs here: {%s: ...}", keys->name);
        return;
    }
    json_object_foreach((json_t *)map, name, value)
    {
        const struct key *k = find_key(keys, name);
        if (k)
            k->read(r, value, (char *)into + k->at);
        else
            unknown(r, map, keys, name);
    }
}

/* --- Kinds of values --- */

static void read_text(struct reading *r, const json_t *value, void *into)
{
    *(const char **)into = json_string_value(value);
    if (!json_is_string(value))
        wrong(r, value, "a text belongs here");
}

static const char *check_values(const json_t *value)
{
    return json_dumpb(value, NULL, 0, JSON_ENCODE_ANY) > VALUES_MAX
               ? "params or options have more than 10,000 bytes: a simulation takes no larger ones"
               : sim_values_check(value);
}

static void read_values(struct reading *r, const json_t *value, const json_t **into, bool is_good,
                        const char *what)
{
    const char *why = is_good ? check_values(value) : what;
    *into = value;
    if (why)
        wrong(r, value, "%s", why);
}

static void read_params(struct reading *r, const json_t *value, void *into)
{
    read_values(r, value, into, json_is_array(value), "params are a list: [1, {seq: order}]");
}

static void read_options(struct reading *r, const json_t *value, void *into)
{
    read_values(r, value, into, json_is_object(value), "options are a map: {retries: 5}");
}

static bool duration(const json_t *value, uint64_t *ns)
{
    const char *text = json_string_value(value);
    return text && units_duration(span_text(text), ns);
}

static void read_duration(struct reading *r, const json_t *value, void *into)
{
    uint64_t *ns = into;
    if (!duration(value, ns) || *ns == 0)
        wrong(r, value, "a duration belongs here, as 20ms, 5s, 10m or 1h");
}

/* "3/min": how many in what. */
static void read_rate(struct reading *r, const json_t *value, void *into)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", UINT64_C(1000000000)},
                 {"min", UINT64_C(60000000000)},
                 {"h", UINT64_C(3600000000000)},
                 {"d", UINT64_C(86400000000000)}};
    const char *text = json_string_value(value);
    char unit[8] = "";
    double count = 0;
    if (text && sscanf(text, "%lf/%7s", &count, unit) == 2 && count > 0 && isfinite(count))
        for (size_t n = 0; n < sizeof units / sizeof *units; n++)
            if (strcmp(unit, units[n].name) == 0)
                *(uint64_t *)into = 1 + (uint64_t)((double)units[n].ns / count);
    if (*(uint64_t *)into == 0)
        wrong(r, value, "how often belongs here, as 3/min, 1/h, 2/s or 1/d");
}

/* "1ms..2s", or one duration. */
static void read_range(struct reading *r, const json_t *value, void *into)
{
    uint64_t *ns = into;
    const char *text = json_string_value(value), *dots = text ? strstr(text, "..") : NULL;
    bool good = dots ? units_duration(span_of(text, (size_t)(dots - text)), &ns[0]) &&
                           units_duration(span_text(dots + 2), &ns[1])
                     : duration(value, &ns[1]);
    if (!good || ns[0] > ns[1])
        wrong(r, value, "a duration or a range of them belongs here, as 1ms..2s");
}

static void read_share(struct reading *r, const json_t *value, void *into)
{
    const char *text = json_string_value(value);
    double percent = -1;
    int end = 0;
    if (!text || sscanf(text, "%lf%%%n", &percent, &end) != 1 || text[end] != '\0' || end == 0 ||
        !(percent >= 0 && percent <= 100))
        wrong(r, value, "a share belongs here, as 1%%");
    *(double *)into = percent / 100;
}

/* --- The parts --- */

struct load_row {
    struct sim_load load;
    uint64_t length;
};

static void add_load(struct reading *r, const json_t *row)
{
    static const struct key keys[] = {
        {"method", read_text, offsetof(struct load_row, load.method)},
        {"params", read_params, offsetof(struct load_row, load.params)},
        {"options", read_options, offsetof(struct load_row, load.options)},
        {"every", read_duration, offsetof(struct load_row, load.every)},
        {"for", read_duration, offsetof(struct load_row, length)},
        {0}};
    struct load_row l = {0};
    read_map(r, row, keys, &l);
    if (!l.load.method || l.load.every == 0 || l.length == 0)
        wrong(r, row, "a load needs method, every and for");
    if (r->wrong)
        return;
    l.load.count = (l.length + l.load.every - 1) / l.load.every;
    if (l.length > r->s->lasts)
        r->s->lasts = l.length;
    r->s->loads[r->s->load_count++] = l.load;
}

static void add_cron(struct reading *r, const json_t *row)
{
    static const struct key keys[] = {{"name", read_text, offsetof(struct sim_cron, name)},
                                      {"schedule", read_text, offsetof(struct sim_cron, schedule)},
                                      {"method", read_text, offsetof(struct sim_cron, method)},
                                      {"params", read_params, offsetof(struct sim_cron, params)},
                                      {"options", read_options, offsetof(struct sim_cron, options)},
                                      {0}};
    struct sim_cron c = {0};
    read_map(r, row, keys, &c);
    if (!c.name || !c.schedule || !c.method)
        wrong(r, row, "a cron needs name, schedule and method");
    r->s->crons[r->s->cron_count++] = c;
}

static void add_expect(struct reading *r, const json_t *row)
{
    const char *why = "a sentence belongs here";
    if (json_is_string(row))
        why = sim_expect_read(json_string_value(row), &r->s->expects[r->s->expect_count++]);
    if (why)
        wrong(r, row, "%s", why);
}

static void read_rows(struct reading *r, const json_t *list,
                      void (*add)(struct reading *r, const json_t *row))
{
    json_t *row;
    size_t n;
    if (!json_is_array(list) || json_array_size(list) > SIM_ROWS_MAX) {
        wrong(r, list, "a list of at most %d belongs here: - ...", SIM_ROWS_MAX);
        return;
    }
    json_array_foreach(list, n, row) add(r, row);
}

static void read_loads(struct reading *r, const json_t *list, void *into)
{
    (void)into;
    read_rows(r, list, add_load);
}

static void read_crons(struct reading *r, const json_t *list, void *into)
{
    (void)into;
    read_rows(r, list, add_cron);
}

static void read_expects(struct reading *r, const json_t *list, void *into)
{
    (void)into;
    read_rows(r, list, add_expect);
}

static void read_faults(struct reading *r, const json_t *map, void *into)
{
    static const struct key keys[] = {
#define APART(fault) offsetof(struct sim_scenario, apart) + (fault) * sizeof(uint64_t)
        {"restart", read_rate, APART(SIM_FAULT_RESTART)},
        {"kill", read_rate, APART(SIM_FAULT_KILL)},
        {"power", read_rate, APART(SIM_FAULT_POWER)},
        {"connection_lost", read_rate, APART(SIM_FAULT_CONNECTION_LOST)},
        {"worker_lost", read_rate, APART(SIM_FAULT_WORKER_LOST)},
        {"worker_killed", read_rate, APART(SIM_FAULT_WORKER_KILLED)},
        {"suspend", read_rate, APART(SIM_FAULT_SUSPEND)},
        {"clock", read_rate, APART(SIM_FAULT_CLOCK)},
#undef APART
        {"latency", read_range, offsetof(struct sim_scenario, latency)},
        {"cancel", read_share, offsetof(struct sim_scenario, cancels)},
        {0}};
    (void)into;
    read_map(r, map, keys, r->s);
}

/* The simulation takes the place of clients, operators and the system. */
static void read_server(struct reading *r, const json_t *map, void *into)
{
    static const char *const refused[] = {"listen", "admin",    "modules", "audit",       "log",
                                          "trace",  "recorder", "sandbox", "tokens_file", "tls"};
    const json_t *store = json_object_get(map, "store");
    (void)into;
    if (!json_is_object(map))
        wrong(r, map, "the configuration of the server belongs here: {tasks: {crashes: 3}}");
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++)
        if (json_object_get(map, refused[n]))
            wrong(r, map,
                  "the simulation decides on listen, admin, modules, audit, log, trace, tls, "
                  "recorder, sandbox and tokens_file: leave them out of server");
    if (store && !json_is_boolean(store))
        wrong(r, store, "store is true or false: its file is on the simulated disk");
    r->s->store = !json_is_false(store);
    json_object_del((json_t *)map, "store");
    r->s->server = map;
}

/* --- Names that an expectation refers to --- */

static bool has_method(const struct sim_scenario *s, const char *glob)
{
    for (uint32_t n = 0; n < s->load_count; n++)
        if (fnmatch(glob, s->loads[n].method, 0) == 0)
            return true;
    for (uint32_t n = 0; n < s->cron_count; n++)
        if (fnmatch(glob, s->crons[n].method, 0) == 0)
            return true;
    return false;
}

static bool has_sequence(const struct sim_scenario *s, const char *name)
{
    for (uint32_t n = 0; n < s->load_count; n++)
        if (sim_values_have(s->loads[n].params, name) || sim_values_have(s->loads[n].options, name))
            return true;
    return false;
}

/* A misspelt name would be an expectation that every run keeps. */
static void check_names(struct reading *r, const json_t *list)
{
    for (uint32_t n = 0; n < r->s->expect_count; n++) {
        const struct sim_expect *e = &r->s->expects[n];
        const json_t *at = json_array_get(list, n);
        if (*e->method && !has_method(r->s, e->method))
            wrong(r, at, "no load and no cron has a method like %s", e->method);
        if (*e->sequence && !has_sequence(r->s, e->sequence))
            wrong(r, at, "no load draws {seq: %s}", e->sequence);
    }
}

bool sim_scenario_read(const char *path, struct sim_scenario *out, char *error, size_t size)
{
    static const struct key keys[] = {{"server", read_server, 0},
                                      {"load", read_loads, 0},
                                      {"crons", read_crons, 0},
                                      {"faults", read_faults, 0},
                                      {"expect", read_expects, 0},
                                      {"for", read_duration, offsetof(struct sim_scenario, lasts)},
                                      {0}};
    struct reading r = {.s = out, .error = error, .size = size};
    *out = (struct sim_scenario){.path = path, .store = true};
    json_t *root = sim_yaml_read(path, error, size);
    if (!root)
        return false;
    read_map(&r, root, keys, out);
    if (out->load_count + out->cron_count == 0)
        wrong(&r, root, "nothing happens: write a load or crons");
    if (out->lasts == 0)
        wrong(&r, root, "how long do the crons go on? write for: 1h");
    check_names(&r, json_object_get(root, "expect"));
    return !r.wrong;
}
