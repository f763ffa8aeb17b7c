/* ergon actor: states with a name, which take messages one at a time. */
#include "client/cli/actor_remind.h"
#include "client/cli/actor_steer.h"
#include "client/cli/actor_watch.h"
#include "client/cli/ask.h"
#include "client/cli/contents.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/pages.h"
#include "client/cli/params.h"
#include "client/cli/table.h"
#include "client/cli/task_options.h"
#include "client/cli/trace.h"

#include <ergon/client_actors.h>

enum { ACTOR_TIMEOUT_MS = 10 * 1000, LIST_MAX = 1000 };

/* ---- call, tell ---- */

typedef struct ergon_request *message_fn(const char *actor, const char *method,
                                         struct ergon_raw params,
                                         const struct ergon_task_options *options);

static enum status send_message(const struct globals *g, message_fn *make, const void *options,
                                int argc, char **argv,
                                enum status (*print)(const struct globals *g, struct span result))
{
    struct session s;
    struct span result;
    struct task_spec spec;
    json_t *map = task_options_map(options);
    if (map != NULL)
        trace_inherit(map);
    bool good = map != NULL && task_spec_pack(&spec, &g->forms, map, argc - 1, argv + 1);
    json_decref(map);
    if (!good)
        return STATUS_USAGE;
    enum status status = session_open(&s, g, 0, false);
    if (status == STATUS_OK)
        status = session_ask(&s, make(argv[0], spec.method, spec.params, &spec.options), &result);
    if (status == STATUS_OK)
        status = print(g, result);
    session_close(&s);
    task_spec_fini(&spec);
    return status;
}

static enum status print_answer(const struct globals *g, struct span result)
{
    return print_result(g, result, false);
}

static enum status print_id(const struct globals *g, struct span result)
{
    struct ergon_submitted told;
    if (g->json)
        return print_json(json_from_value(result));
    if (!ergon_read_submitted((struct ergon_raw){result.at, result.len}, &told)) {
        complain("the answer of actor.tell has no id");
        return STATUS_REMOTE;
    }
    say("%s\n", told.id);
    return STATUS_OK;
}

static enum status call(const struct globals *g, const void *options, int argc, char **argv)
{
    return send_message(g, ergon_request_actor_call, options, argc, argv, print_answer);
}

static const struct command ACTOR_CALL = {
    .name = "actor call",
    .arguments = "TYPE/KEY METHOD [ARG...]",
    .summary = "send a message to an actor and print its result",
    .text = "METHOD is named without its type. An ARG is as with ergon call. If this program is\n"
            "interrupted the message is cancelled, unless it has a --task-key.\n",
    .examples = "  ergon actor call counter/eggs add 12\n"
                "  ergon actor call --task-key line-2 cart/42 add pear 80\n",
    .shared = MESSAGE_OPTIONS,
    .options_size = sizeof(struct task_options),
    .arguments_min = 2,
    .arguments_max = -1,
    .parameters = true,
    .run = call,
};

static enum status tell(const struct globals *g, const void *options, int argc, char **argv)
{
    return send_message(g, ergon_request_actor_tell, options, argc, argv, print_id);
}

static const struct command ACTOR_TELL = {
    .name = "actor tell",
    .arguments = "TYPE/KEY METHOD [ARG...]",
    .summary = "leave a message for an actor and print its id",
    .text = "The message is a task: ergon task watch, wait and explain take the id.\n",
    .examples = "  ergon actor tell counter/eggs add 12\n"
                "  ergon actor tell --delay 1h cart/42 empty\n",
    .shared = MESSAGE_OPTIONS,
    .options_size = sizeof(struct task_options),
    .arguments_min = 2,
    .arguments_max = -1,
    .parameters = true,
    .run = tell,
};

/* ---- about some actors ---- */

struct actor_options {
    const char *tenant; /* first: TENANT_OPTIONS fills it */
};

static const struct option_spec TENANT_OPTIONS[] = {
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct actor_options, tenant)},
    {0},
};

typedef struct ergon_request *about_fn(const char *actor,
                                       const struct ergon_actor_options *options);

static struct ergon_request *about(about_fn *make, const char *name, const struct actor_options *o)
{
    struct ergon_actor_options options = {
        .size = sizeof options, .tenant = o->tenant, .state = make == ergon_request_actor_get};
    return make(name, &options);
}

static enum status show_actor(const struct globals *g, json_t *answer)
{
    if (g->json)
        return STATUS_OK;
    contents_tidy(answer);
    if (!json_is_true(json_object_get(answer, "state_hidden")))
        json_object_del(answer, "state_hidden");
    humanize(answer, now_ms());
    object_print(answer, colour_wanted(g, stdout));
    return STATUS_OK;
}

static enum status show_reason(const struct globals *g, json_t *answer)
{
    if (g->json)
        return STATUS_OK;
    print_text(json_text(answer, "text"));
    puts("\n");
    json_object_del(answer, "text");
    return show_actor(g, answer);
}

/* The first status that is not good is that of all. */
static enum status look(struct session *s, about_fn *make, const void *options, show_fn *show,
                        int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        s->about = argc > 1 ? argv[i] : NULL;
        enum status one = ask_and_show(s, about(make, argv[i], options), show);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static enum status get(struct session *s, const void *options, int argc, char **argv)
{
    return look(s, ergon_request_actor_get, options, show_actor, argc, argv);
}

static const struct command ACTOR_GET = {
    .name = "actor get",
    .arguments = "TYPE/KEY...",
    .summary = "show an actor: stage, version, state, mailbox",
    .text = "The state is shown to those who may call all its methods, or see the parameters of\n"
            "its tasks.\n",
    .examples = "  ergon actor get counter/eggs\n"
                "  ergon actor get counter/eggs -o json | jq .state\n",
    .shared = TENANT_OPTIONS,
    .options_size = sizeof(struct actor_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = get,
    .timeout_ms = ACTOR_TIMEOUT_MS,
    .repeats = true,
};

static enum status explain(struct session *s, const void *options, int argc, char **argv)
{
    return look(s, ergon_request_actor_explain, options, show_reason, argc, argv);
}

static const struct command ACTOR_EXPLAIN = {
    .name = "actor explain",
    .arguments = "TYPE/KEY...",
    .summary = "say why an actor does what it does, and what waits for it",
    .text = "For one message: ergon task explain.\n",
    .examples = "  ergon actor explain counter/eggs\n",
    .shared = TENANT_OPTIONS,
    .options_size = sizeof(struct actor_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = explain,
    .timeout_ms = ACTOR_TIMEOUT_MS,
};

/* ---- list, types ---- */

struct list_options {
    const char *tenant; /* first: TENANT_OPTIONS fills it */
    const char *type, *stage, *sort;
    uint64_t limit;
    const char *prefix; /* the argument */
};

static const struct option_spec LIST_OPTIONS[] = {
    {0, "type", "TYPE", "of this type", OPTION_TEXT, offsetof(struct list_options, type)},
    {0, "stage", "STAGE", "active, sleeping or stopped", OPTION_TEXT,
     offsetof(struct list_options, stage)},
    {0, "sort", "waiting", "the 100 in memory with the longest mailboxes", OPTION_TEXT,
     offsetof(struct list_options, sort)},
    {'n', "limit", "N", "how many at most; 1000", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0},
};

static const struct list_options LIST_DEFAULTS = {.limit = LIST_MAX};

static struct ergon_request *ask_page(const void *options, uint64_t limit, const char *cursor)
{
    const struct list_options *o = options;
    struct ergon_actor_filter filter = {.size = sizeof filter,
                                        .type = o->type,
                                        .prefix = o->prefix,
                                        .stage = o->stage,
                                        .tenant = o->tenant,
                                        .limit = limit,
                                        .cursor = cursor,
                                        .sort = o->sort};
    return ergon_request_actors(&filter);
}

static json_t *row_of(const json_t *actor)
{
    static const char *const columns[] = {"actor",   "stage",  "version", "waiting",
                                          "stopped", "tenant", NULL};
    return table_row(actor, columns);
}

static enum status list(struct session *s, const void *options, int argc, char **argv)
{
    static const char *const columns[] = {"actor",   "stage",  "version", "waiting",
                                          "stopped", "tenant", NULL};
    struct list_options o = *(const struct list_options *)options;
    const struct paged_list actors = {.key = "actors",
                                      .none = "no actors",
                                      .options = &o,
                                      .limit = o.limit,
                                      .ask = ask_page,
                                      .row_of = row_of,
                                      .columns = columns};
    o.prefix = argc > 0 ? argv[0] : NULL;
    return pages_show(s, &actors);
}

static const struct command ACTOR_LIST = {
    .name = "actor list",
    .arguments = "[PREFIX]",
    .summary = "list actors by name",
    .text = "PREFIX is the begin of their names. Prints a table: how often the state has changed\n"
            "(version), how many messages wait, and why it is stopped.\n",
    .examples = "  ergon actor list cart/eu-\n"
                "  ergon actor list --stage stopped\n"
                "  ergon actor list --sort waiting\n",
    .options = LIST_OPTIONS,
    .shared = TENANT_OPTIONS,
    .options_size = sizeof(struct list_options),
    .defaults = &LIST_DEFAULTS,
    .arguments_max = 1,
    .talk = list,
    .timeout_ms = ACTOR_TIMEOUT_MS,
    .repeats = true,
};

static enum status show_types(const struct globals *g, json_t *answer)
{
    static const char *const columns[] = {"type",  "hosts",   "actors", "active", "stopped",
                                          "steps", "durable", "schema", NULL};
    json_t *rows = json_array();
    if (!g->json) {
        for (size_t i = 0; i < json_array_size(answer); i++)
            json_array_append_new(rows, table_row(json_array_get(answer, i), columns));
        if (json_array_size(rows) > 0)
            table_print(rows, columns, 0, colour_wanted(g, stdout));
        else if (!g->quiet)
            notice("no types of actors");
    }
    json_decref(rows);
    return STATUS_OK;
}

static const struct command ACTOR_TYPES = {
    .name = "actor types",
    .arguments = "",
    .summary = "list the types of actors, and how many actors they have",
    .text = "A type is there once a module or a worker has offered it. Without hosts its messages\n"
            "wait. Of the actors those in memory are counted.\n",
    .examples = "  ergon actor types\n",
    .ask = ergon_request_actor_types,
    .show = show_types,
    .timeout_ms = ACTOR_TIMEOUT_MS,
    .repeats = true,
};

static const struct command *const PARTS[] = {
    &ACTOR_CALL,    &ACTOR_TELL,   &ACTOR_GET,   &ACTOR_WATCH, &ACTOR_LIST,
    &ACTOR_EXPLAIN, &ACTOR_START,  &ACTOR_STOP,  &ACTOR_WAKE,  &ACTOR_DROP,
    &ACTOR_REMIND,  &ACTOR_FORGET, &ACTOR_TYPES, NULL};

const struct command ACTOR = {
    .name = "actor",
    .summary = "actors: states with a name, one message at a time",
    .text = "An actor is made by its first message. Its type says whether its state is on disk.\n",
    .examples = "  ergon actor call counter/eggs add 12\n"
                "  ergon actor get counter/eggs\n",
    .parts = PARTS,
};
