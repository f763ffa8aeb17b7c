/* ergon context: named servers, with how to reach them. */
#include "client/cli/context_file.h"
#include "client/cli/contexts.h"
#include "client/cli/files.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

#include "base/suggest.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STORED_TOKEN_MAX = CONTEXT_VALUE_MAX };

static const char *const MASK = "(not shown)";

static enum status no_such(const json_t *contexts, const char *name)
{
    struct suggestion near = suggest_for(span_text(name), strlen(name) / 2);
    char hint[CONTEXT_NAME_MAX + 32] = "see ergon context list";
    const char *other;
    json_t *context;
    json_object_foreach(json_object_get(contexts, "contexts"), other, context)
    {
        suggest_offer(&near, span_text(other));
    }
    if (near.name.len > 0)
        snprintf(hint, sizeof hint, "did you mean '%.*s'?", (int)near.name.len,
                 (const char *)near.name.at);
    complain_as("NOT_FOUND", hint, "there is no context '%s'", name);
    return STATUS_NOT_FOUND;
}

static enum status no_name(const char *name)
{
    complain("'%s' is no name of a context: 1 to %d letters, digits, '.', '_' and '-'", name,
             CONTEXT_NAME_MAX);
    return STATUS_USAGE;
}

/* ---- list ---- */

static json_t *list_row(const json_t *contexts, const char *name, json_t *context)
{
    const char *current = contexts_current(contexts);
    bool is_current = current != NULL && strcmp(current, name) == 0;
    const char *const *key;
    json_t *row = json_pack("{s:s, s:b}", "name", name, "current", is_current);
    for (key = CONTEXT_KEYS; *key != NULL; key++)
        if (strcmp(*key, "token") != 0)
            json_object_set(row, *key, json_object_get(context, *key));
    if (json_object_get(context, "token") != NULL)
        json_object_set_new(row, "token", json_string(MASK));
    return row;
}

static enum status run_list(const struct globals *g, const void *options, int argc, char **argv)
{
    static const char *const columns[] = {"current", "name", "server", "timeout", "output", NULL};
    const char *name;
    json_t *context, *all = context_file_read(), *rows = json_array();
    (void)options;
    (void)argc;
    (void)argv;
    if (all == NULL) {
        json_decref(rows);
        return STATUS_USAGE;
    }
    json_object_foreach(json_object_get(all, "contexts"), name, context)
    {
        json_t *row = list_row(all, name, context);
        if (!g->json) /* a mark reads faster than yes and no */
            json_object_set_new(
                row, "current",
                json_string(json_is_true(json_object_get(row, "current")) ? "*" : ""));
        json_array_append_new(rows, row);
    }
    json_decref(all);
    if (g->json)
        return print_json(rows);
    if (json_array_size(rows) > 0)
        table_print(rows, columns + output_is_names(), 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        notice("no contexts; see ergon context set --help");
    json_decref(rows);
    return STATUS_OK;
}

static const struct command LIST = {
    .name = "context list",
    .arguments = "",
    .summary = "list the contexts; a star stands at the current one",
    .text = "Prints a table: name, server and settings; a token is never shown.\n",
    .examples = "  ergon context list\n"
                "  ergon context list -o json | jq -r '.[].name'\n",
    .run = run_list,
    .offline = true,
};

/* ---- use ---- */

static enum status use(json_t *contexts, void *arg)
{
    const char *name = arg;
    if (contexts_find(contexts, name) == NULL)
        return no_such(contexts, name);
    json_object_set_new(contexts, "current", json_string(name));
    return STATUS_OK;
}

static enum status use_none(json_t *contexts, void *arg)
{
    (void)arg;
    json_object_del(contexts, "current");
    return STATUS_OK;
}

struct use_options {
    bool none;
};

static const struct option_spec USE_OPTIONS[] = {
    {0, "none", NULL, "make none the current one", OPTION_FLAG, offsetof(struct use_options, none)},
    {0},
};

static enum status run_use(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct use_options *o = options;
    (void)g;
    if (o->none != (argc == 0)) {
        complain(o->none ? "either a name or --none" : "which context? See ergon context list");
        return STATUS_USAGE;
    }
    return context_file_change(o->none ? use_none : use, argc > 0 ? argv[0] : NULL);
}

static const struct command USE = {
    .name = "context use",
    .arguments = "NAME",
    .summary = "make a context the current one",
    .text = "It is used by each command where neither --context nor ERGON_CONTEXT names another.\n",
    .examples = "  ergon context use prod\n"
                "  ergon context use --none\n",
    .options = USE_OPTIONS,
    .options_size = sizeof(struct use_options),
    .arguments_max = 1,
    .run = run_use,
    .offline = true,
};

/* ---- show ---- */

/* What is in force, as text for people; NULL: nothing. */
static json_t *value_of(const struct globals *g, enum setting setting)
{
    static const char *const formats[] = {"table", "wide", "json", "yaml"};
    char text[40];
    const char *value = NULL;
    switch (setting) {
    case SETTING_SERVER:
        value = g->server;
        break;
    case SETTING_TOKEN_FILE:
        value = g->token_file;
        break;
    case SETTING_TOKEN:
        value = g->from[SETTING_TOKEN] != NULL ? MASK : NULL;
        break;
    case SETTING_CACERT:
        value = g->cacert;
        break;
    case SETTING_CERT:
        value = g->cert;
        break;
    case SETTING_KEY:
        value = g->key;
        break;
    case SETTING_SERVER_NAME:
        value = g->server_name;
        break;
    case SETTING_INSECURE:
        return json_boolean(g->insecure);
    case SETTING_TIMEOUT:
        value = g->timeout_ns > 0 ? units_duration_text(g->timeout_ns, text, sizeof text) : NULL;
        break;
    case SETTING_OUTPUT:
        value = formats[g->format];
        break;
    case SETTINGS:
        break;
    }
    return value != NULL ? json_string(value) : json_null();
}

static const char *origin_of(const struct globals *g, enum setting setting, char *buf, size_t size)
{
    const char *from = g->from[setting];
    if (from == NULL)
        return "default";
    if (strcmp(from, "context") != 0)
        return from;
    snprintf(buf, size, "context %s", g->context);
    return buf;
}

static enum status show_settings(const struct globals *g)
{
    static const char *const columns[] = {"setting", "value", "from", NULL};
    char path[PATH_MAX] = "", text[CONTEXT_NAME_MAX + 16];
    json_t *rows = json_array(), *object = json_object();
    for (enum setting s = SETTING_SERVER; s < SETTINGS; s++) {
        const char *from = origin_of(g, s, text, sizeof text);
        json_t *value = value_of(g, s);
        json_object_set_new(object, CONTEXT_KEYS[s],
                            json_pack("{s:O, s:s}", "value", value, "from", from));
        if (!json_is_null(value))
            json_array_append_new(rows, json_pack("{s:s, s:O, s:s}", columns[0], CONTEXT_KEYS[s],
                                                  columns[1], value, columns[2], from));
        json_decref(value);
    }
    bool file = context_file_path(path) && access(path, F_OK) == 0;
    if (g->json) {
        json_decref(rows);
        return print_json(json_pack("{s:s?, s:s?, s:o}", "context", g->context, "file",
                                    file ? path : NULL, "settings", object));
    }
    say("context  %s\nfile     %s%s\n\n", g->context != NULL ? g->context : "-", path,
        file ? "" : " (not there)");
    table_print(rows, columns, 0, colour_wanted(g, stdout));
    json_decref(rows);
    json_decref(object);
    return STATUS_OK;
}

/* The token file is not read, so that what is in force is shown even if that cannot be. */
static enum status run_show(const struct globals *g, const void *options, int argc, char **argv)
{
    struct globals own = *g;
    (void)options;
    own.contexts = NULL;
    own.paths = NULL;
    own.token = NULL;
    if (argc > 0)
        own.context = argv[0];
    enum status status = globals_find(&own) ? show_settings(&own) : STATUS_USAGE;
    globals_fini(&own);
    return status;
}

static const struct command SHOW = {
    .name = "context show",
    .arguments = "[NAME]",
    .summary = "show which settings are in force, and where each is from",
    .text = "Flags go before the context that --context (or NAME) names, that before the\n"
            "environment, and that before the context of ERGON_CONTEXT or, without it, the\n"
            "current one. A context's token and certificates are for its server alone: with\n"
            "another --server or ERGON_URL they are not used. The token itself is not shown.\n",
    .examples = "  ergon context show\n"
                "  ergon context show prod -o yaml\n"
                "  ERGON_URL=ergon://127.0.0.1:7000 ergon context show\n",
    .arguments_max = 1,
    .run = run_show,
    .offline = true,
};

/* ---- set ---- */

struct set_options {
    struct option_list unset;
    bool keep_token;
    bool use;
};

static const struct option_spec SET_OPTIONS[] = {
    {0, "unset", "SETTING", "forget this setting: token_file, timeout, ...; may be repeated",
     OPTION_LIST, offsetof(struct set_options, unset)},
    {0, "keep-token", NULL, "keep the token itself, and not the name of its file", OPTION_FLAG,
     offsetof(struct set_options, keep_token)},
    {0, "use", NULL, "make it the current one as well", OPTION_FLAG,
     offsetof(struct set_options, use)},
    {0},
};

struct setting_change {
    const char *name;
    const struct set_options *options;
    json_t *values; /* by key; NULL-valued are to be forgotten */
};

/* Where it stands now, since the next command may run elsewhere. */
static json_t *absolute(const char *path)
{
    char here[PATH_MAX];
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        return json_string(path);
    return json_sprintf("%s/%s", here, path);
}

static void give(json_t *values, enum setting setting, json_t *value)
{
    json_object_set_new(values, CONTEXT_KEYS[setting], value);
}

/* A token of which there is no file to name. */
static bool give_token(const struct globals *g, json_t *values)
{
    struct file_bytes file;
    if (!file_read(g->token_file, STORED_TOKEN_MAX, &file))
        return false;
    file.at[strcspn((const char *)file.at, "\r\n")] = 0;
    give(values, SETTING_TOKEN, json_string((const char *)file.at));
    give(values, SETTING_TOKEN_FILE, json_null());
    explicit_bzero(file.at, file.len);
    file_bytes_fini(&file);
    return true;
}

/* The flags that all commands have are what is set. */
static bool collect(const struct globals *g, const struct set_options *o, json_t *values)
{
    char text[40];
    for (size_t i = 0; i < o->unset.count; i++)
        json_object_set_new(values, o->unset.at[i], json_null());
    if (g->server != NULL)
        give(values, SETTING_SERVER, json_string(g->server));
    if (g->cacert != NULL)
        give(values, SETTING_CACERT, absolute(g->cacert));
    if (g->cert != NULL)
        give(values, SETTING_CERT, absolute(g->cert));
    if (g->key != NULL)
        give(values, SETTING_KEY, absolute(g->key));
    if (g->server_name != NULL)
        give(values, SETTING_SERVER_NAME, json_string(g->server_name));
    if (g->insecure)
        give(values, SETTING_INSECURE, json_true());
    if (g->timeout_ns > 0)
        give(values, SETTING_TIMEOUT,
             json_string(units_duration_text(g->timeout_ns, text, sizeof text)));
    if (g->output != NULL)
        give(values, SETTING_OUTPUT, json_string(g->output));
    if (g->token_file == NULL)
        return true;
    if (o->keep_token || strcmp(g->token_file, "-") == 0)
        return give_token(g, values);
    give(values, SETTING_TOKEN_FILE, absolute(g->token_file));
    give(values, SETTING_TOKEN, json_null());
    return true;
}

static bool is_known(const char *key)
{
    for (const char *const *k = CONTEXT_KEYS; *k != NULL; k++)
        if (strcmp(key, *k) == 0)
            return true;
    return false;
}

static bool check(const struct set_options *o, const json_t *values)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < o->unset.count; i++)
        if (!is_known(o->unset.at[i])) {
            complain("option --unset: a context has no setting '%s'", o->unset.at[i]);
            return false;
        }
    json_object_foreach((json_t *)values, key, value)
    {
        const char *text = json_string_value(value);
        const char *wrong = text != NULL ? context_value_wrong(key, text) : NULL;
        if (value == NULL || wrong != NULL) {
            complain("%s: %s", key, wrong != NULL ? wrong : "that is no text");
            return false;
        }
    }
    return true;
}

static enum status set(json_t *contexts, void *arg)
{
    const struct setting_change *change = arg;
    json_t *context = contexts_find(contexts, change->name), *value;
    const char *key;
    if (context == NULL) {
        context = json_object();
        json_object_set_new(json_object_get(contexts, "contexts"), change->name, context);
    }
    json_object_foreach(change->values, key, value)
    {
        if (json_is_null(value))
            json_object_del(context, key);
        else
            json_object_set(context, key, value);
    }
    if (change->options->use)
        json_object_set_new(contexts, "current", json_string(change->name));
    return STATUS_OK;
}

static enum status run_set(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct set_options *o = options;
    struct setting_change change = {argv[0], o, json_object()};
    enum status status = STATUS_USAGE;
    (void)argc;
    if (!context_name_is_good(argv[0]))
        status = no_name(argv[0]);
    else if (o->keep_token && g->token_file == NULL)
        complain("--keep-token keeps the token of --token-file; - is standard input");
    else if (collect(g, o, change.values) && check(o, change.values))
        status = context_file_change(set, &change);
    json_decref(change.values);
    return status;
}

static const struct command SET = {
    .name = "context set",
    .arguments = "NAME",
    .summary = "make a context, or change one",
    .text = "What it holds is given by the options that every command has: --server,\n"
            "--token-file, --cacert, --cert, --key, --server-name, --insecure, --timeout and\n"
            "-o. What is not given stays. File names are kept as absolute ones. With\n"
            "--token-file - the token is read from standard input, and kept in the file of\n"
            "contexts itself, which nobody else may read. Comments in that file are lost.\n",
    .examples = "  ergon context set prod -s ergons://ergon.example.org --token-file prod.token\n"
                "  ergon context set prod --timeout 5s -o wide --use\n"
                "  pass show ergon | ergon context set prod --token-file -\n"
                "  ergon context set prod --unset timeout --unset output\n",
    .options = SET_OPTIONS,
    .options_size = sizeof(struct set_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_set,
    .offline = true,
};

/* ---- delete, rename ---- */

static enum status delete_one(json_t *contexts, void *arg)
{
    const char *name = arg;
    if (contexts_find(contexts, name) == NULL)
        return no_such(contexts, name);
    contexts_delete(contexts, name);
    return STATUS_OK;
}

static enum status run_delete(const struct globals *g, const void *options, int argc, char **argv)
{
    enum status status = STATUS_OK;
    (void)g;
    (void)options;
    for (int i = 0; i < argc && status == STATUS_OK; i++)
        status = context_file_change(delete_one, argv[i]);
    return status;
}

static const struct command DELETE = {
    .name = "context delete",
    .arguments = "NAME...",
    .summary = "forget contexts",
    .text = "Where the current one is among them, there is none then. Files that it names stay.\n",
    .examples = "  ergon context delete staging\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run_delete,
    .offline = true,
};

static enum status rename_one(json_t *contexts, void *arg)
{
    char **names = arg;
    if (contexts_find(contexts, names[0]) == NULL)
        return no_such(contexts, names[0]);
    if (strcmp(names[0], names[1]) != 0 && contexts_find(contexts, names[1]) != NULL) {
        complain("there is a context '%s' already", names[1]);
        return STATUS_USAGE;
    }
    contexts_rename(contexts, names[0], names[1]);
    return STATUS_OK;
}

static enum status run_rename(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
    return context_name_is_good(argv[1]) ? context_file_change(rename_one, argv) : no_name(argv[1]);
}

static const struct command RENAME = {
    .name = "context rename",
    .arguments = "NAME NEW",
    .summary = "give a context another name",
    .text = "It stays the current one if it was.\n",
    .examples = "  ergon context rename prod production\n",
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run_rename,
    .offline = true,
};

static const struct command *const PARTS[] = {&LIST, &USE, &SHOW, &SET, &DELETE, &RENAME, NULL};

const struct command CONTEXT = {
    .name = "context",
    .summary = "keep servers under names, with how to reach them",
    .text = "A context holds the URL of a server, the file with the token, certificates, the time\n"
            "limit and the format of the output. They are kept in\n"
            "$XDG_CONFIG_HOME/ergon/config.yaml, or ~/.config/ergon/config.yaml.\n",
    .examples = "  ergon context set prod -s ergons://ergon.example.org --token-file prod.token\n"
                "  ergon context use prod\n"
                "  ergon --context staging queue list\n",
    .parts = PARTS,
};
