/* ergon cron: tasks by calendar. */
#include "client/cli/json.h"
#include "client/cli/people.h"
#include "client/cli/render.h"
#include "client/cli/result.h"
#include "client/cli/task.h"
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

static enum status print_put(const struct globals *g, struct span result)
{
    char text[40];
    json_t *answer = json_from_value(result);
    if (g->json)
        return print_json(answer);
    json_int_t next = json_integer_value(json_object_get(answer, "next"));
    printf("%s next %s\n", people_text(answer, "name"),
           people_clock(next, people_now(), text, sizeof text));
    json_decref(answer);
    return STATUS_OK;
}

static enum status put_packed(const struct globals *g, struct span params)
{
    struct session s;
    struct span result;
    enum status status = session_open(&s, g, CRON_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    status = session_call(&s, "cron.put", params, &result);
    if (status == STATUS_OK)
        status = print_put(g, result);
    session_close(&s);
    return status;
}

static enum status put(const struct globals *g, const void *options, int argc, char **argv)
{
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    json_t *map = options_map(options);
    if (map == NULL)
        return status;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 5);
    msgpack_pack_str_with_body(&packer, argv[0], strlen(argv[0]));
    msgpack_pack_str_with_body(&packer, argv[1], strlen(argv[1]));
    if (task_pack_order(&packer, map, argc - 2, argv + 2))
        status = put_packed(g, span_of(params.data, params.size));
    msgpack_sbuffer_destroy(&params);
    json_decref(map);
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
    .run = put,
};

/* ---- list ---- */

static enum status print_crons(const struct globals *g, json_t *crons)
{
    static const char *const first[] = {"name",  "schedule", "zone",      "method", "next", "last",
                                        "fired", "skipped",  "last_task", "error",  NULL};
    static const char *const left_out[] = {"params", "options", "durable", NULL};
    size_t i;
    json_t *cron;
    if (g->json)
        return print_json(crons);
    json_array_foreach(crons, i, cron)
    {
        for (const char *const *key = left_out; *key != NULL; key++)
            json_object_del(cron, *key);
    }
    people_object(crons, people_now());
    if (json_array_size(crons) > 0)
        render_table(crons, first, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        complain("there is no cron");
    json_decref(crons);
    return STATUS_OK;
}

static enum status list(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    json_t *crons;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, CRON_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    status = ask_json(&s, "cron.list", json_array(), &crons);
    if (status == STATUS_OK)
        status = print_crons(g, crons);
    session_close(&s);
    return status;
}

static const struct command CRON_LIST = {
    .name = "cron list",
    .arguments = "",
    .summary = "list the schedules, and when they fire next",
    .text = "Prints a table; with --json an array, with parameters and options too.\n",
    .examples = "  ergon cron list\n",
    .run = list,
};

/* ---- delete ---- */

static enum status delete_one(struct session *s, const char *name)
{
    json_t *answer;
    enum status status = ask_json(s, "cron.delete", json_pack("[s]", name), &answer);
    if (status != STATUS_OK)
        return status;
    bool there = json_is_true(answer);
    if (s->globals->json)
        return print_json(answer);
    json_decref(answer);
    if (!there && !s->globals->quiet)
        complain("there is no cron '%s'; see ergon cron list", name);
    return there ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum status delete_all(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    (void)options;
    enum status status = session_open(&s, g, CRON_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < argc; i++) {
        enum status one = delete_one(&s, argv[i]);
        if (status == STATUS_OK)
            status = one;
    }
    session_close(&s);
    return status;
}

static const struct command CRON_DELETE = {
    .name = "cron delete",
    .arguments = "NAME...",
    .summary = "end schedules",
    .text = "The tasks that they submitted stay. Exit status 6: there is none of that name.\n",
    .examples = "  ergon cron delete nightly\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = delete_all,
};

static const struct command *const PARTS[] = {&CRON_PUT, &CRON_LIST, &CRON_DELETE, NULL};

const struct command CRON = {
    .name = "cron",
    .summary = "have tasks submitted by calendar",
    .text = "A cron submits a task each time that its schedule says.\n",
    .examples = "  ergon cron put nightly '30 3 * * *' --zone Europe/Berlin report\n"
                "  ergon cron list\n"
                "  ergon cron delete nightly\n",
    .parts = PARTS,
};
