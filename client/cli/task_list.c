/* ergon task list: what the server keeps, newest first. */
#include "client/cli/people.h"
#include "client/cli/render.h"
#include "client/cli/result.h"
#include "client/cli/task.h"

enum { LIST_TIMEOUT_MS = 30 * 1000, PAGE_MAX = 1000, LIST_MAX = 100 };

struct list_options {
    const char *state, *method, *tenant, *key;
    uint64_t older_ns, newer_ns;
    uint64_t limit;
};

static const struct option_spec OPTIONS[] = {
    {0, "state", "STATE", "queued, delayed, waiting, running, done, failed, dead...", OPTION_TEXT,
     offsetof(struct list_options, state)},
    {0, "method", "NAME", "of this method", OPTION_TEXT, offsetof(struct list_options, method)},
    {0, "tenant", "NAME", "of this tenant", OPTION_TEXT, offsetof(struct list_options, tenant)},
    {0, "task-key", "KEY", "of this key", OPTION_TEXT, offsetof(struct list_options, key)},
    {0, "older", "TIME", "submitted at least so long ago", OPTION_DURATION,
     offsetof(struct list_options, older_ns)},
    {0, "newer", "TIME", "submitted at most so long ago", OPTION_DURATION,
     offsetof(struct list_options, newer_ns)},
    {'n', "limit", "N", "how many at most; 100", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0},
};

static const struct list_options DEFAULTS = {.limit = LIST_MAX};

static void set_text(json_t *map, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(map, key, json_string(text));
}

static void set_age(json_t *map, const char *key, uint64_t ns)
{
    if (ns > 0)
        json_object_set_new(map, key, json_integer((json_int_t)((ns + 999999) / 1000000)));
}

static json_t *filter_of(const struct list_options *o, uint64_t left, const char *cursor)
{
    json_t *map = json_object();
    set_text(map, "state", o->state);
    set_text(map, "method", o->method);
    set_text(map, "tenant", o->tenant);
    set_text(map, "key", o->key);
    set_age(map, "older", o->older_ns);
    set_age(map, "newer", o->newer_ns);
    set_text(map, "cursor", cursor);
    json_object_set_new(map, "limit", json_integer(left < PAGE_MAX ? (json_int_t)left : PAGE_MAX));
    return map;
}

/* Page after page, until there are enough.  *more: there would be others. */
static enum status collect(struct session *s, const struct list_options *o, json_t *tasks,
                           bool *more)
{
    char cursor[64] = "";
    do {
        json_t *page;
        uint64_t left = o->limit - json_array_size(tasks);
        json_t *filter = filter_of(o, left, cursor[0] != 0 ? cursor : NULL);
        enum status status = ask_json(s, "task.list", json_pack("[o]", filter), &page);
        if (status != STATUS_OK)
            return status;
        json_array_extend(tasks, json_object_get(page, "tasks"));
        snprintf(cursor, sizeof cursor, "%s", people_text(page, "next"));
        json_decref(page);
    } while (cursor[0] != 0 && json_array_size(tasks) < o->limit);
    *more = cursor[0] != 0;
    return STATUS_OK;
}

/* The state, with the reason where that says more. */
static json_t *state_of(const json_t *task)
{
    const char *state = people_text(task, "state");
    const char *reason = people_text(task, "reason");
    bool plain = strcmp(reason, state) == 0 || strcmp(reason, "ended") == 0 || reason[0] == 0 ||
                 strcmp(reason, "turn") == 0;
    return plain ? json_string(state) : json_sprintf("%s (%s)", state, reason);
}

static json_t *row_of(json_t *task, int64_t now)
{
    static const char *const same[] = {"id", "method", NULL};
    static const char *const later[] = {"attempt", "tenant", "created", "ended", "error", NULL};
    json_t *row = json_object();
    people_object(task, now);
    for (const char *const *key = same; *key != NULL; key++)
        json_object_set(row, *key, json_object_get(task, *key));
    json_object_set_new(row, "state", state_of(task));
    for (const char *const *key = later; *key != NULL; key++)
        json_object_set(row, *key, json_object_get(task, *key));
    return row;
}

static void print_table(const struct globals *g, const json_t *tasks)
{
    static const char *const first[] = {"id",     "method",  "state", "attempt",
                                        "tenant", "created", "ended", NULL};
    json_t *rows = json_array();
    size_t i;
    json_t *task;
    int64_t now = people_now();
    json_array_foreach((json_t *)tasks, i, task)
    {
        json_array_append_new(rows, row_of(task, now));
    }
    render_table(rows, first, 0, colour_wanted(g, stdout));
    json_decref(rows);
}

static enum status print_tasks(const struct globals *g, json_t *tasks, bool more)
{
    if (g->json)
        return print_json(tasks);
    if (json_array_size(tasks) > 0)
        print_table(g, tasks);
    else if (!g->quiet)
        complain("there is no such task");
    if (more && !g->quiet)
        complain("there are more; see --limit");
    json_decref(tasks);
    return STATUS_OK;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct list_options *o = options;
    struct session s;
    bool more = false;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, LIST_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    json_t *tasks = json_array();
    status = collect(&s, o, tasks, &more);
    if (status == STATUS_OK)
        status = print_tasks(g, tasks, more);
    else
        json_decref(tasks);
    session_close(&s);
    return status;
}

const struct command TASK_LIST = {
    .name = "task list",
    .arguments = "",
    .summary = "list tasks, newest first",
    .text =
        "Prints a table: id, method, state with the reason of a wait, attempt, tenant, when it\n"
        "was submitted and when it ended, error. With --json an array of objects, as ergon\n"
        "task get shows them but without results. All conditions must hold.\n",
    .examples = "  ergon task list\n"
                "  ergon task list --state dead --newer 1d\n"
                "  ergon task list --method mail --state waiting -n 1000 --json | jq length\n",
    .options = OPTIONS,
    .options_size = sizeof(struct list_options),
    .defaults = &DEFAULTS,
    .run = run,
};
