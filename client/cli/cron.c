/* ergon cron: tasks by calendar. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/table.h"
#include "client/cli/task_options.h"

#include "base/units.h"

enum { CRON_TIMEOUT_MS = 10 * 1000 };

/* ---- put ---- */

struct put_options {
    struct task_options task; /* first: TASK_OPTIONS fills it */
    const char *zone, *jitter, *overlap, *catch_up;
};

static const struct option_spec PUT_OPTIONS[] = {
    {0, "zone", "NAME", "whose wall clock counts: Europe/Berlin; UTC", OPTION_TEXT,
     offsetof(struct put_options, zone)},
    {0, "jitter", "TIME", "up to so much later, by chance; 0", OPTION_TEXT,
     offsetof(struct put_options, jitter)},
    {0, "overlap", "HOW", "when the last is open: skip, allow or replace; skip", OPTION_TEXT,
     offsetof(struct put_options, overlap)},
    {0, "catch-up", "HOW", "what was missed: none, one or all; none", OPTION_TEXT,
     offsetof(struct put_options, catch_up)},
    {0},
};

static void set_text(json_t *map, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(map, key, json_string(text));
}

/* A new reference; NULL: a message was printed. */
static json_t *options_map(const struct put_options *o)
{
    uint64_t ns;
    if (o->jitter != NULL && !units_duration(span_text(o->jitter), &ns)) {
        complain("option --jitter: '%s' is not %s", o->jitter,
                 units_duration_expected(span_text(o->jitter)));
        return NULL;
    }
    json_t *map = task_options_map(&o->task);
    if (map == NULL)
        return NULL;
    set_text(map, "zone", o->zone);
    set_text(map, "jitter", o->jitter);
    set_text(map, "overlap", o->overlap);
    set_text(map, "catch_up", o->catch_up);
    return map;
}

static enum status show_put(const struct globals *g, json_t *answer)
{
    char text[40];
    json_int_t next = json_integer_value(json_object_get(answer, "next"));
    if (!g->json)
        say("%s next %s\n", json_text(answer, "name"),
            humanize_clock(next, now_ms(), text, sizeof text));
    return STATUS_OK;
}

static enum status put(const struct globals *g, const void *options, int argc, char **argv)
{
    struct task_spec spec;
    struct session s;
    json_t *map = options_map(options);
    bool good = map != NULL && task_spec_pack(&spec, &g->forms, map, argc - 2, argv + 2);
    json_decref(map);
    if (!good)
        return STATUS_USAGE;
    const struct ergon_cron_options task = {.size = sizeof task, .task = &spec.options};
    enum status status = session_open(&s, g, CRON_TIMEOUT_MS, false);
    if (status == STATUS_OK)
        status = ask_and_show(
            &s, ergon_request_cron_put(argv[0], argv[1], spec.method, spec.params, &task),
            show_put);
    session_close(&s);
    task_spec_fini(&spec);
    return status;
}

static const struct command CRON_PUT = {
    .name = "cron put",
    .arguments = "NAME SCHEDULE METHOD [ARG...]",
    .summary = "have a task submitted by calendar",
    .text = "Puts a new schedule, or one in place of that of this name, and prints when it fires\n"
            "next. SCHEDULE is 'MINUTE HOUR DAY MONTH WEEKDAY' as in cron(5), @hourly, @daily,\n"
            "@weekly, @monthly, @yearly, or 'every 5m'. The options of a task hold for each that\n"
            "is submitted; a cron has no --delay, --at, --task-key and --after.\n",
    .examples =
        "  ergon cron put nightly '30 3 * * *' --zone Europe/Berlin report\n"
        "  ergon cron put poll 'every 5m' --jitter 30s --retries 2 fetch https://example.org\n",
    .options = PUT_OPTIONS,
    .shared = TASK_OPTIONS + TASK_OPTIONS_ONCE,
    .options_size = sizeof(struct put_options),
    .arguments_min = 3,
    .arguments_max = -1,
    .parameters = true,
    .run = put,
};

/* ---- list ---- */

static enum status show_crons(const struct globals *g, json_t *crons)
{
    static const char *const first[] = {"name",      "tenant",  "schedule", "zone",  "method",
                                        "state",     "next",    "last",     "fired", "skipped",
                                        "last_task", "made_by", "error",    NULL};
    static const char *const left_out[] = {"params", "params_hidden", "options",
                                           "cut",    "durable",       NULL};
    size_t i;
    json_t *cron;
    if (g->json)
        return STATUS_OK;
    json_array_foreach(crons, i, cron)
    {
        for (const char *const *key = left_out; *key != NULL && !output_is_wide(); key++)
            json_object_del(cron, *key);
        json_object_set_new(
            cron, "state",
            json_string(json_is_true(json_object_get(cron, "paused")) ? "paused" : "open"));
        json_object_del(cron, "paused");
    }
    humanize(crons, now_ms());
    if (json_array_size(crons) > 0)
        table_print(crons, first, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        notice("no crons");
    return STATUS_OK;
}

static const struct command CRON_LIST = {
    .name = "cron list",
    .arguments = "",
    .summary = "list the schedules, and when they fire next",
    .text = "Prints a table; with --json an array, with parameters and options too.\n",
    .examples = "  ergon cron list\n",
    .ask = ergon_request_crons,
    .show = show_crons,
    .timeout_ms = CRON_TIMEOUT_MS,
    .repeats = true,
};

/* ---- delete, pause, resume, run ---- */

struct whose_options {
    const char *tenant;
};

static const struct option_spec WHOSE_OPTIONS[] = {
    {0, "tenant", "NAME", "whose they are; one's own", OPTION_TEXT,
     offsetof(struct whose_options, tenant)},
    {0},
};

static enum status delete_one(struct session *s, const char *name, const char *tenant)
{
    json_t *answer;
    enum status status = ask_json(s,
                                  tenant != NULL ? ergon_request_cron_delete_of(name, tenant)
                                                 : ergon_request_cron_delete(name),
                                  &answer);
    bool there = json_is_true(answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        status = print_json(answer);
    else
        json_decref(answer);
    if (!there && !s->globals->quiet)
        complain_as("NOT_FOUND", "see ergon cron list", "there is no cron '%s'", name);
    return there ? status : STATUS_NOT_FOUND;
}

static enum status delete_all(struct session *s, const void *options, int argc, char **argv)
{
    enum status status = STATUS_OK;
    const struct whose_options *o = options;
    for (int i = 0; i < argc; i++) {
        enum status one = delete_one(s, argv[i], o->tenant);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static const struct command CRON_DELETE = {
    .name = "cron delete",
    .arguments = "NAME...",
    .summary = "end schedules",
    .text =
        "The tasks that they submitted stay. Names are each tenant's own: without --tenant those\n"
        "of the caller's tenant are meant. Exit status 6: there is none of that name.\n",
    .examples = "  ergon cron delete nightly\n"
                "  ergon cron delete nightly --tenant acme\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = delete_all,
    .timeout_ms = CRON_TIMEOUT_MS,
};

static enum status show_paused(const struct globals *g, json_t *answer)
{
    char text[40];
    bool paused = json_is_true(json_object_get(answer, "paused"));
    const json_t *next = json_object_get(answer, "next");
    if (g->json || g->quiet)
        return STATUS_OK;
    if (paused)
        say("%s is paused\n", json_text(answer, "name"));
    else if (json_is_integer(next))
        say("%s next %s\n", json_text(answer, "name"),
            humanize_clock(json_integer_value(next), now_ms(), text, sizeof text));
    else
        say("%s never comes again\n", json_text(answer, "name"));
    return STATUS_OK;
}

static enum status turn_all(struct session *s, const char *tenant, int argc, char **argv,
                            struct ergon_request *(*request)(const char *, const char *),
                            enum status (*show)(const struct globals *, json_t *))
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        enum status one = ask_and_show(s, request(argv[i], tenant), show);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static enum status pause_all(struct session *s, const void *options, int argc, char **argv)
{
    const struct whose_options *o = options;
    return turn_all(s, o->tenant, argc, argv, ergon_request_cron_pause, show_paused);
}

static enum status resume_all(struct session *s, const void *options, int argc, char **argv)
{
    const struct whose_options *o = options;
    return turn_all(s, o->tenant, argc, argv, ergon_request_cron_resume, show_paused);
}

static enum status show_run(const struct globals *g, json_t *answer)
{
    if (!g->json)
        say("%s\n", json_text(answer, "id"));
    return STATUS_OK;
}

static enum status run_all(struct session *s, const void *options, int argc, char **argv)
{
    const struct whose_options *o = options;
    return turn_all(s, o->tenant, argc, argv, ergon_request_cron_run, show_run);
}

static const struct command CRON_PAUSE = {
    .name = "cron pause",
    .arguments = "NAME...",
    .summary = "have schedules submit nothing, until they are resumed",
    .text = "Also over a restart of the server, and if the cron is put again meanwhile. What it\n"
            "has submitted goes on. Exit status 6: there is none of that name.\n",
    .examples = "  ergon cron pause nightly\n"
                "  ergon cron pause nightly --tenant acme\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = pause_all,
    .timeout_ms = CRON_TIMEOUT_MS,
};

static const struct command CRON_RESUME = {
    .name = "cron resume",
    .arguments = "NAME...",
    .summary = "have paused schedules submit again",
    .text = "From their next time on, which is printed: what came while they were paused is left\n"
            "out, also with --catch-up.\n",
    .examples = "  ergon cron resume nightly\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = resume_all,
    .timeout_ms = CRON_TIMEOUT_MS,
};

static const struct command CRON_RUN = {
    .name = "cron run",
    .arguments = "NAME...",
    .summary = "submit the tasks of schedules now",
    .text = "Prints the id of each task. The schedule goes on as it was: a paused one stays\n"
            "paused, and --overlap does not count this task. Exit status 6: there is none of that\n"
            "name.\n",
    .examples = "  ergon cron run nightly\n"
                "  ergon task wait $(ergon cron run nightly)\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = run_all,
    .timeout_ms = CRON_TIMEOUT_MS,
};

static const struct command *const PARTS[] = {&CRON_PUT, &CRON_LIST,   &CRON_PAUSE, &CRON_RESUME,
                                              &CRON_RUN, &CRON_DELETE, NULL};

const struct command CRON = {
    .name = "cron",
    .summary = "have tasks submitted by calendar",
    .text = "A cron submits a task each time that its schedule says.\n",
    .examples = "  ergon cron put nightly '30 3 * * *' --zone Europe/Berlin report\n"
                "  ergon cron list\n"
                "  ergon cron delete nightly\n",
    .parts = PARTS,
};
