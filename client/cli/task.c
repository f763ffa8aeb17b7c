/* ergon task: the group, and its commands that ask something about tasks. */
#include "client/cli/task.h"

#include "base/utf8.h"
#include "client/cli/ask.h"
#include "client/cli/contents.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"
#include "client/cli/task_filter.h"

enum { ASK_TIMEOUT_MS = 10 * 1000, LIST_TIMEOUT_MS = 30 * 1000, PAGE_MAX = 1000, LIST_MAX = 100 };

/* ---- get ---- */

struct get_options {
    bool history;
    bool result;
    bool params;
    bool attempts;
};

static const struct option_spec GET_OPTIONS[] = {
    {0, "history", NULL, "with everything that happened to it", OPTION_FLAG,
     offsetof(struct get_options, history)},
    {0, "result", NULL, "nothing but the result, as ergon call prints it", OPTION_FLAG,
     offsetof(struct get_options, result)},
    {0, "params", NULL, "nothing but the parameters, whole, as JSON", OPTION_FLAG,
     offsetof(struct get_options, params)},
    {0, "attempts", NULL, "with the tracebacks of all attempts; else the last", OPTION_FLAG,
     offsetof(struct get_options, attempts)},
    {0},
};

static void show(const struct globals *g, json_t *task, bool all)
{
    bool colour = colour_wanted(g, stdout);
    json_t *attempts = contents_take_attempts(task);
    contents_tidy(task);
    humanize(task, now_ms());
    object_print(task, colour);
    if (attempts != NULL && !output_is_names())
        contents_print_attempts(attempts, all, colour);
    json_decref(attempts);
}

/* A server that is older refuses to show contents: then without. */
static enum status ask_task(struct session *s, const char *id, unsigned what, json_t **task)
{
    struct span raw;
    struct ergon_request *all =
        ergon_request_get(id, what | ERGON_ASK_PARAMS_TEXT | ERGON_ASK_ATTEMPTS);
    *task = session_probe(s, all, session_time_left(s), &raw) == STATUS_OK ? json_from_value(raw)
                                                                           : NULL;
    return *task != NULL ? STATUS_OK : ask_json(s, ergon_request_get(id, what), task);
}

static enum status get_task(struct session *s, const char *id, const struct get_options *o)
{
    json_t *task;
    enum status status = ask_task(s, id, o->history ? ERGON_ASK_HISTORY : 0, &task);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        status = print_json(json_incref(task));
    else
        show(s->globals, task, o->attempts);
    json_decref(task);
    return status;
}

static enum status print_params(struct session *s, const char *id)
{
    json_t *task;
    enum status status =
        ask_json(s, ergon_request_get(id, ERGON_ASK_PARAMS | ERGON_ASK_NO_RESULT), &task);
    if (status != STATUS_OK)
        return status;
    json_t *params = json_object_get(task, "params");
    if (json_is_array(params)) {
        status = print_json(json_incref(params));
    } else {
        complain_as("DENIED", NULL, "the parameters of %s are %s", id,
                    contents_hidden(json_text(task, "params_hidden")));
        status = STATUS_AUTH;
    }
    json_decref(task);
    return status;
}

static enum status print_end(const struct globals *g, struct span raw)
{
    struct ergon_task_shown task;
    if (ergon_read_task((struct ergon_raw){raw.at, raw.len}, &task) && task.ended == 0) {
        complain("%s is %s: there is no result yet; see ergon task wait", task.id, task.state);
        return STATUS_REMOTE;
    }
    return task_print_end(g, raw);
}

static enum status get(struct session *s, const void *options, int argc, char **argv)
{
    const struct get_options *o = options;
    struct span result;
    (void)argc;
    if (o->params && o->result) {
        complain("--params or --result, not both");
        return STATUS_USAGE;
    }
    if (o->params)
        return print_params(s, argv[0]);
    if (!o->result)
        return get_task(s, argv[0], o);
    enum status status = session_ask(s, ergon_request_get(argv[0], 0), &result);
    return status == STATUS_OK ? print_end(s->globals, result) : status;
}

const struct command TASK_GET = {
    .name = "task get",
    .arguments = "ID",
    .summary = "show a task: state, parameters, attempts, result",
    .text = "Prints what the server knows of the task, its parameters up to 4 KiB, its attempts\n"
            "and the last traceback; the error is that of the last attempt, or of the whole.\n"
            "Parameters, tracebacks and results take the right task.params; those that a worker\n"
            "declared as secret are never shown. With --result only the result is printed, and\n"
            "the exit status is that of ergon task wait.\n",
    .examples = "  ergon task get t0abc4k2mq7rz\n"
                "  ergon task get --history t0abc4k2mq7rz\n"
                "  ergon task get --params t0abc4k2mq7rz | jq '.[0]'\n"
                "  ergon task get --json t0abc4k2mq7rz | jq .state\n",
    .options = GET_OPTIONS,
    .options_size = sizeof(struct get_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .talk = get,
    .timeout_ms = ASK_TIMEOUT_MS,
};

/* ---- explain ---- */

const struct command TASK_EXPLAIN = {
    .name = "task explain",
    .arguments = "ID",
    .summary = "say why a task is where it is",
    .text = "Prints one sentence, then what it is made of: what is ahead in the queue, which\n"
            "limit or rate holds it and when that lets go, which executors are full, what it\n"
            "waits for, when the next attempt comes and why the last one failed.\n",
    .examples = "  ergon task explain t0abc4k2mq7rz\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .ask_each = ergon_request_explain,
    .show = show_explanation,
    .timeout_ms = ASK_TIMEOUT_MS,
};

/* ---- list ---- */

struct list_options {
    struct filter_options filter; /* first */
    uint64_t limit;
    const char *contains;
};

static const struct option_spec LIST_OPTIONS[] = {
    {'n', "limit", "N", "how many at most; 100", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0, "contains", "TEXT", "whose parameters contain this text", OPTION_TEXT,
     offsetof(struct list_options, contains)},
    {0},
};

static const struct list_options LIST_DEFAULTS = {.limit = LIST_MAX};

/* A server that is older refuses to show parameters: then without. */
static enum status ask_page(struct session *s, struct ergon_task_filter *filter, json_t **page)
{
    struct span raw;
    *page = NULL;
    if (filter->params_text &&
        session_probe(s, ergon_request_list(filter), session_time_left(s), &raw) == STATUS_OK)
        *page = json_from_value(raw);
    filter->params_text = *page != NULL;
    return *page != NULL ? STATUS_OK : ask_json(s, ergon_request_list(filter), page);
}

/* Page after page, until there are enough.  *more: there would be others. */
static enum status collect(struct session *s, const struct list_options *o, json_t *tasks,
                           bool *more)
{
    char cursor[64] = "";
    struct ergon_task_filter filter = filter_of(&o->filter);
    filter.contains = o->contains;
    filter.params_text = s->globals->format == FORMAT_WIDE || s->globals->json;
    do {
        json_t *page;
        uint64_t left = o->limit - json_array_size(tasks);
        filter.limit = left < PAGE_MAX ? left : PAGE_MAX;
        filter.cursor = cursor[0] != 0 ? cursor : NULL;
        enum status status = ask_page(s, &filter, &page);
        if (status != STATUS_OK)
            return status;
        json_array_extend(tasks, json_object_get(page, "tasks"));
        snprintf(cursor, sizeof cursor, "%s", json_text(page, "next"));
        json_decref(page);
    } while (cursor[0] != 0 && json_array_size(tasks) < o->limit);
    *more = cursor[0] != 0;
    return STATUS_OK;
}

/* The state, with the reason where that says more. */
static json_t *state_of(const json_t *task)
{
    const char *state = json_text(task, "state");
    const char *reason = json_text(task, "reason");
    bool plain = strcmp(reason, state) == 0 || strcmp(reason, "ended") == 0 || reason[0] == 0 ||
                 strcmp(reason, "turn") == 0;
    return plain ? json_string(state) : json_sprintf("%s (%s)", state, reason);
}

/* A text that takes one line of the terminal at most, a new reference; elsewhere it is whole. */
static json_t *one_line(const char *text)
{
    size_t room = table_terminal_width();
    struct span rest = span_text(text);
    if (room == 0)
        return json_string(text);
    while (rest.len > 0 && room > 1) {
        size_t len = utf8_length(rest);
        rest = span_behind(rest, len > 0 ? len : 1);
        room--;
    }
    return rest.len == 0
               ? json_string(text)
               : json_sprintf("%.*s\xe2\x80\xa6", (int)((const char *)rest.at - text), text);
}

/* With -o wide the parameters are the last column, so that nothing has to keep away from them: the
 * first row has all columns of the others. */
static void add_params(json_t *rows, const json_t *tasks)
{
    size_t i;
    void *next;
    const char *key;
    json_t *row, *value, *first = json_array_get(rows, 0);
    json_array_foreach(rows, i, row)
    {
        json_object_foreach_safe(row, next, key, value)
        {
            if (json_object_get(first, key) == NULL)
                json_object_set_new(first, key, json_null());
        }
    }
    json_array_foreach(rows, i, row)
    {
        json_t *params = json_object_get(json_array_get(tasks, i), "params");
        if (params != NULL)
            json_object_set_new(row, "params", one_line(json_string_value(params)));
    }
}

static void print_table(const struct globals *g, const json_t *tasks)
{
    static const char *const columns[] = {"id",      "method", "state", "attempt", "tenant",
                                          "created", "ended",  "error", NULL};
    json_t *rows = json_array();
    size_t i;
    json_t *task;
    json_array_foreach((json_t *)tasks, i, task)
    {
        contents_tidy(task);
        humanize(task, now_ms());
        json_object_set_new(task, "state", state_of(task));
        json_t *row = table_row(task, columns);
        json_object_del(row, "params");
        json_array_append_new(rows, row);
    }
    if (output_is_wide())
        add_params(rows, tasks);
    table_print(rows, columns, 0, colour_wanted(g, stdout));
    json_decref(rows);
}

static enum status print_tasks(const struct globals *g, json_t *tasks, bool more)
{
    enum status status = STATUS_OK;
    if (g->json)
        status = print_json(json_incref(tasks));
    else if (json_array_size(tasks) > 0)
        print_table(g, tasks);
    else if (!g->quiet)
        notice("no tasks");
    if (more && !g->quiet)
        notice("there are more; see --limit");
    return status;
}

static enum status list(struct session *s, const void *options, int argc, char **argv)
{
    bool more = false;
    json_t *tasks = json_array();
    (void)argc;
    (void)argv;
    enum status status = collect(s, options, tasks, &more);
    if (status == STATUS_OK)
        status = print_tasks(s->globals, tasks, more);
    json_decref(tasks);
    return status;
}

const struct command TASK_LIST = {
    .name = "task list",
    .arguments = "",
    .summary = "list tasks, newest first",
    .text =
        "Prints a table: id, method, state with the reason of a wait, attempt, tenant, when it\n"
        "was submitted and when it ended, error; with -o wide also the parameters.\n"
        "With --json an array of objects, as ergon task get shows them but without results.\n"
        "All conditions must hold. --contains finds what stands within a string, bytes or a\n"
        "key of a map, or is a whole number, of parameters that you may see.\n",
    .examples = "  ergon task list\n"
                "  ergon task list --state dead --newer 1d\n"
                "  ergon task list --contains order-17 -o wide\n"
                "  ergon task list --method mail --state waiting -n 1000 --json | jq length\n",
    .options = LIST_OPTIONS,
    .shared = FILTER_OPTIONS,
    .options_size = sizeof(struct list_options),
    .defaults = &LIST_DEFAULTS,
    .talk = list,
    .timeout_ms = LIST_TIMEOUT_MS,
    .repeats = true,
};

/* ---- the group ---- */

static const struct command *const PARTS[] = {
    &TASK_SUBMIT, &TASK_CALL, &TASK_GET,    &TASK_WAIT,    &TASK_WATCH, &TASK_CANCEL,  &TASK_RETRY,
    &TASK_FORGET, &TASK_EDIT, &TASK_CHANGE, &TASK_RUN_NOW, &TASK_LIST,  &TASK_EXPLAIN, NULL};

const struct command TASK = {
    .name = "task",
    .summary = "leave tasks with the server, follow and steer them",
    .text = "A submitted task outlives its connection: the server keeps it, runs it when its\n"
            "turn has come, tries it again, and remembers how it ended.\n",
    .examples = "  id=$(ergon task submit --retries 5 hash sha256 @README.md)\n"
                "  ergon task wait $id\n"
                "  ergon task explain $id\n"
                "  ergon task submit --help\n",
    .parts = PARTS,
};
