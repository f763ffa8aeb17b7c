/* ergon batch: tasks that belong together. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/table.h"

#include <stdio.h>
#include <string.h>

#include <ergon/client_batches.h>

enum { BATCH_TIMEOUT_MS = 60 * 1000, WAIT_MS = 30 * 1000, CALL_METHOD_MAX = 256 };

/* ---- What all answer: a batch ---- */

static enum status show_line(const struct globals *g, json_t *answer)
{
    const char *outcome = json_text(answer, "outcome");
    if (!g->json && !g->quiet)
        say("%s %s%s%s\n", json_text(answer, "id"), json_text(answer, "state"),
            outcome[0] != 0 ? " " : "", outcome);
    return STATUS_OK;
}

/* ---- create ---- */

struct create_options {
    const char *success, *failure, *end, *parent, *durable, *tenant, *keep;
};

static const struct option_spec CREATE_OPTIONS[] = {
    {0, "on-success", "CALL", "submitted when all members are done", OPTION_TEXT,
     offsetof(struct create_options, success)},
    {0, "on-failure", "CALL", "submitted at the first member that ends otherwise", OPTION_TEXT,
     offsetof(struct create_options, failure)},
    {0, "on-end", "CALL", "submitted when all members have ended", OPTION_TEXT,
     offsetof(struct create_options, end)},
    {0, "parent", "ID", "the batch that it is a member of", OPTION_TEXT,
     offsetof(struct create_options, parent)},
    {0, "durable", "LEVEL", "none, async, fsync or replicated", OPTION_TEXT,
     offsetof(struct create_options, durable)},
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct create_options, tenant)},
    {0, "keep", "TIME", "how long it is kept after its end; 1h", OPTION_TEXT,
     offsetof(struct create_options, keep)},
    {0},
};

/* Appends each JSON value of the text to the array.  False: it is none. */
static bool add_values(json_t *call, const char *text)
{
    size_t left = strlen(text);
    while (left > strspn(text, " ")) {
        json_error_t error;
        json_t *value = json_loadb(text, left, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
        if (value == NULL || json_array_append_new(call, value) != 0)
            return false;
        text += error.position;
        left -= (size_t)error.position;
    }
    return true;
}

/* METHOD [PARAMETERS [OPTIONS]]; NULL: a message was printed. */
static json_t *call_of(const char *option, const char *text)
{
    size_t len = strcspn(text, " ");
    json_t *call = json_array();
    json_array_append_new(call, json_stringn(text, len));
    if (len > 0 && len <= CALL_METHOD_MAX && add_values(call, text + len) &&
        json_array_size(call) <= 3)
        return call;
    json_decref(call);
    complain("option --%s: '%s' is not METHOD [PARAMETERS [OPTIONS]], as 'mail [\"done\"]'", option,
             text);
    return NULL;
}

static bool set_call(json_t *map, const char *key, const char *option, const char *text)
{
    json_t *call = text != NULL ? call_of(option, text) : NULL;
    if (text == NULL)
        return true;
    return call != NULL && json_object_set_new(map, key, call) == 0;
}

static void set_text(json_t *map, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(map, key, json_string(text));
}

static enum status show_created(const struct globals *g, json_t *answer)
{
    if (!g->json)
        say("%s\n", json_text(answer, "id"));
    return STATUS_OK;
}

static enum status create(struct session *s, const void *options, int argc, char **argv)
{
    const struct create_options *o = options;
    json_t *map = json_object();
    (void)argc;
    (void)argv;
    if (!set_call(map, "on_success", "on-success", o->success) ||
        !set_call(map, "on_failure", "on-failure", o->failure) ||
        !set_call(map, "on_end", "on-end", o->end)) {
        json_decref(map);
        return STATUS_USAGE;
    }
    set_text(map, "parent", o->parent);
    set_text(map, "durable", o->durable);
    set_text(map, "tenant", o->tenant);
    set_text(map, "keep", o->keep);
    json_t *params = json_array();
    json_array_append_new(params, map);
    return ask_and_show(s, json_request("batch.create", params), show_created);
}

static const struct command BATCH_CREATE = {
    .name = "batch create",
    .arguments = "",
    .summary = "make a batch, and print its id",
    .text =
        "A CALL is a method, its parameters as a JSON array, and the options of the task as a\n"
        "JSON map: 'mail [\"done\"] {\"retries\": 3}'. The server submits it once. A batch ends\n"
        "when it is closed and none of its members is open.\n",
    .examples = "  id=$(ergon batch create --on-success 'mail [\"done\"]')\n"
                "  ergon task submit --batch $id resize a.png\n"
                "  ergon batch close $id\n",
    .options = CREATE_OPTIONS,
    .options_size = sizeof(struct create_options),
    .talk = create,
    .timeout_ms = BATCH_TIMEOUT_MS,
};

/* ---- add ---- */

static json_t *read_tasks(const char *name)
{
    json_error_t error;
    json_t *tasks =
        strcmp(name, "-") == 0 ? json_loadf(stdin, 0, &error) : json_load_file(name, 0, &error);
    if (json_is_array(tasks))
        return tasks;
    json_decref(tasks);
    complain("%s is not a JSON array of tasks, [[\"METHOD\", [PARAMETERS], {OPTIONS}], ...]: %s",
             name, tasks == NULL ? error.text : "it is another value");
    return NULL;
}

static enum status show_added(const struct globals *g, json_t *answer)
{
    enum status status = STATUS_OK;
    size_t i;
    json_t *one;
    json_array_foreach(answer, i, one)
    {
        const char *error = json_text(one, "error");
        if (error[0] != 0) {
            complain("task %zu: %s", i + 1, error);
            status = STATUS_REMOTE;
        } else if (!g->json) {
            say("%s\n", json_text(one, "id"));
        }
    }
    return status;
}

static enum status add(struct session *s, const void *options, int argc, char **argv)
{
    json_t *tasks = read_tasks(argc > 1 ? argv[1] : "-");
    (void)options;
    if (tasks == NULL)
        return STATUS_USAGE;
    json_t *params = json_array();
    json_array_append_new(params, json_string(argv[0]));
    json_array_append_new(params, tasks);
    return ask_and_show(s, json_request("batch.add", params), show_added);
}

static const struct command BATCH_ADD = {
    .name = "batch add",
    .arguments = "ID [FILE]",
    .summary = "submit tasks that are members of a batch, and print their ids",
    .text =
        "Reads a JSON array of at most 16384 tasks from FILE, or standard input: each is\n"
        "[\"METHOD\", [PARAMETERS], {OPTIONS}]. One task alone: ergon task submit --batch ID.\n",
    .examples = "  echo '[[\"resize\", [\"a.png\"]], [\"resize\", [\"b.png\"]]]' | "
                "ergon batch add $id\n",
    .arguments_min = 1,
    .arguments_max = 2,
    .talk = add,
    .timeout_ms = BATCH_TIMEOUT_MS,
};

/* ---- close, cancel ---- */

static const struct command BATCH_CLOSE = {
    .name = "batch close",
    .arguments = "ID...",
    .summary = "let a batch end with its last member",
    .text = "Handlers of its members may still add others. One without members ends at once.\n",
    .examples = "  ergon batch close b02jj1wr000000\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_batch_close,
    .show = show_line,
    .timeout_ms = BATCH_TIMEOUT_MS,
};

static const struct command BATCH_CANCEL = {
    .name = "batch cancel",
    .arguments = "ID...",
    .summary = "cancel a batch, and all its members that are open",
    .text =
        "It does not wait for them: ergon batch wait does. Of what the batch submits, only what\n"
        "--on-end says follows.\n",
    .examples = "  ergon batch cancel b02jj1wr000000\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_batch_cancel,
    .show = show_line,
    .timeout_ms = BATCH_TIMEOUT_MS,
};

/* ---- get, wait ---- */

static struct ergon_request *ask_get(const char *id)
{
    return ergon_request_batch_get(id, 0);
}

static enum status show_batch(const struct globals *g, json_t *answer)
{
    if (g->json)
        return STATUS_OK;
    humanize(answer, now_ms());
    object_print(answer, colour_wanted(g, stdout));
    return STATUS_OK;
}

static const struct command BATCH_GET = {
    .name = "batch get",
    .arguments = "ID...",
    .summary = "show state and counts of a batch, and what it submitted",
    .text = "Its members: ergon task list --batch ID.\n",
    .examples = "  ergon batch get b02jj1wr000000\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ask_get,
    .show = show_batch,
    .timeout_ms = BATCH_TIMEOUT_MS,
};

static bool has_ended(const json_t *answer)
{
    return strcmp(json_text(answer, "state"), "ended") == 0;
}

static enum status status_of_batch(const json_t *answer)
{
    return strcmp(json_text(answer, "outcome"), "done") == 0 ? STATUS_OK : STATUS_REMOTE;
}

static enum status wait_for(struct session *s, const char *id)
{
    json_t *answer = NULL;
    enum status status;
    do {
        json_decref(answer);
        status = ask_json(s, ergon_request_batch_get(id, WAIT_MS), &answer);
    } while (status == STATUS_OK && !has_ended(answer));
    if (status == STATUS_OK) {
        if (s->globals->json)
            status = print_json(json_incref(answer));
        show_line(s->globals, answer);
        status = status == STATUS_OK ? status_of_batch(answer) : status;
    }
    json_decref(answer);
    return status;
}

static enum status wait_all(struct session *s, const void *options, int argc, char **argv)
{
    enum status status = STATUS_OK;
    (void)options;
    for (int i = 0; i < argc; i++) {
        enum status one = wait_for(s, argv[i]);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static const struct command BATCH_WAIT = {
    .name = "batch wait",
    .arguments = "ID...",
    .summary = "wait until batches have ended",
    .text = "Prints how each ended; the exit status is 1 unless all members are done. It goes on\n"
            "over connections that break.\n",
    .examples = "  ergon batch wait b02jj1wr000000 --timeout 1h\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = wait_all,
    .durable = true,
};

/* ---- list ---- */

struct list_options {
    const char *state, *tenant, *parent, *cursor;
    uint64_t limit;
};

static const struct option_spec LIST_OPTIONS[] = {
    {0, "state", "STATE", "open, closed, cancelling, ending or ended", OPTION_TEXT,
     offsetof(struct list_options, state)},
    {0, "tenant", "NAME", "of this tenant", OPTION_TEXT, offsetof(struct list_options, tenant)},
    {0, "parent", "ID", "members of this batch", OPTION_TEXT,
     offsetof(struct list_options, parent)},
    {'n', "limit", "N", "at most so many; 100", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0, "cursor", "CURSOR", "what the page before said last", OPTION_TEXT,
     offsetof(struct list_options, cursor)},
    {0},
};

static enum status show_list(const struct globals *g, json_t *answer)
{
    static const char *const columns[] = {"id",      "state",  "outcome",   "total",   "open",
                                          "done",    "failed", "cancelled", "expired", "dead",
                                          "created", "ended",  NULL};
    static const char *const left_out[] = {"on_success", "on_failure", "on_end", "keep", "durable",
                                           "parent",     "tenant",     "error",  NULL};
    json_t *batches = json_object_get(answer, "batches"), *one;
    const char *next = json_text(answer, "next");
    size_t i;
    if (g->json)
        return STATUS_OK;
    json_array_foreach(batches, i, one) for (const char *const *key = left_out;
                                             *key != NULL && !output_is_wide(); key++)
        json_object_del(one, *key);
    humanize(batches, now_ms());
    if (json_array_size(batches) > 0)
        table_print(batches, columns, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        notice("no batches");
    if (next[0] != 0 && !g->quiet)
        notice("more: --cursor %s", next);
    return STATUS_OK;
}

static enum status list(struct session *s, const void *options, int argc, char **argv)
{
    const struct list_options *o = options;
    (void)argc;
    (void)argv;
    return ask_and_show(
        s, ergon_request_batches(o->state, o->tenant, o->parent, o->cursor, o->limit), show_list);
}

static const struct command BATCH_LIST = {
    .name = "batch list",
    .arguments = "",
    .summary = "list the batches, newest first",
    .text = "Prints a table, with what became of the members of each.\n",
    .examples = "  ergon batch list --state open\n",
    .options = LIST_OPTIONS,
    .options_size = sizeof(struct list_options),
    .talk = list,
    .timeout_ms = BATCH_TIMEOUT_MS,
    .repeats = true,
};

static const struct command *const PARTS[] = {&BATCH_CREATE, &BATCH_ADD,  &BATCH_CLOSE,  &BATCH_GET,
                                              &BATCH_WAIT,   &BATCH_LIST, &BATCH_CANCEL, NULL};

const struct command BATCH = {
    .name = "batch",
    .summary = "tasks that belong together, and what follows their end",
    .text =
        "A batch counts its members, and submits tasks when all are done, when one has failed,\n"
        "and when all have ended: each once.\n",
    .examples = "  id=$(ergon batch create --on-end 'report [7]')\n"
                "  ergon task submit --batch $id resize a.png\n"
                "  ergon batch close $id\n"
                "  ergon batch wait $id\n",
    .parts = PARTS,
};
