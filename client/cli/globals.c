/* The options that all commands have. */
#include "client/cli/cli.h"

#include "client/cli/context_file.h"
#include "client/cli/contexts.h"
#include "client/cli/files.h"
#include "client/cli/humanize.h"
#include "client/cli/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/units.h"
#include "base/url.h"

enum { TOKEN_FILE_MAX = 4096 }; /* bytes */

static const char *const DEFAULT_SERVER = "ergon://127.0.0.1:7466";

#define GLOBAL(field) offsetof(struct globals, field)
const struct option_spec GLOBAL_OPTIONS[] = {
    {'s', "server", "URL", "ergon://host:port, ergons://host:port (TLS), unix:///path", OPTION_TEXT,
     GLOBAL(server)},
    {0, "token-file", "FILE", "file with the bearer token; - is standard input", OPTION_TEXT,
     GLOBAL(token_file)},
    {0, "cacert", "FILE", "authorities that may vouch for the server (PEM)", OPTION_TEXT,
     GLOBAL(cacert)},
    {0, "cert", "FILE", "client certificate with its chain (PEM)", OPTION_TEXT, GLOBAL(cert)},
    {0, "key", "FILE", "its private key (PEM); default: in --cert", OPTION_TEXT, GLOBAL(key)},
    {0, "server-name", "NAME", "what the server's certificate must name", OPTION_TEXT,
     GLOBAL(server_name)},
    {0, "insecure", NULL, "use TLS without looking at the server's certificate", OPTION_FLAG,
     GLOBAL(insecure)},
    {0, "timeout", "TIME", "give up after this long: 250ms, 5s", OPTION_DURATION,
     GLOBAL(timeout_ns)},
    {0, "context", "NAME", "use this context; see ergon context", OPTION_TEXT, GLOBAL(context)},
    {'o', "output", "FORMAT", "table, wide (all columns), name (ids alone), json or yaml",
     OPTION_TEXT, GLOBAL(output)},
    {0, "json", NULL, "short for -o json: JSON, on one line", OPTION_FLAG, GLOBAL(json)},
    {'q', "quiet", NULL, "print no messages; the exit status tells", OPTION_FLAG, GLOBAL(quiet)},
    {'v', "verbose", NULL, "print more", OPTION_FLAG, GLOBAL(verbose)},
    {0, "utc", NULL, "show times in UTC; default: in the local time zone", OPTION_FLAG,
     GLOBAL(utc)},
    {0, "no-headers", NULL, "tables without the names of their columns", OPTION_FLAG,
     GLOBAL(no_headers)},
    {0, "no-color", NULL, "no colours; as NO_COLOR", OPTION_FLAG, GLOBAL(no_color)},
    {'h', "help", NULL, "print this help", OPTION_FLAG, GLOBAL(help)},
    {'V', "version", NULL, "print the version", OPTION_FLAG, GLOBAL(version)},
    {0},
};
#undef GLOBAL

const struct option_spec PARAM_OPTIONS[] = {
    {0, "string", "TEXT", "an ARG that is this string, whatever it looks like", OPTION_ARGUMENT,
     offsetof(struct param_forms, strings)},
    {0, "json-arg", "JSON", "an ARG that is this JSON, or else an error", OPTION_ARGUMENT,
     offsetof(struct param_forms, jsons)},
    {0},
};

/* ---- flags ---- */

static const char *const FORMATS[] = {"table", "wide", "name", "json", "yaml", NULL};

static bool find_format(const char *text, enum output_format *format)
{
    for (size_t i = 0; FORMATS[i] != NULL; i++)
        if (strcmp(text, FORMATS[i]) == 0) {
            *format = (enum output_format)i;
            return true;
        }
    return false;
}

static void choose(struct globals *g, enum output_format format)
{
    g->format = format;
    g->json = format == FORMAT_JSON || format == FORMAT_YAML;
    output_choose(format);
    humanize_choose(g->utc, format == FORMAT_WIDE);
}

static bool choose_by_flag(struct globals *g)
{
    enum output_format format = FORMAT_JSON;
    if (g->output != NULL && !find_format(g->output, &format))
        complain("option --output: '%s' is not table, wide, name, json or yaml", g->output);
    else if (g->json && format != FORMAT_JSON)
        complain("--json is -o json, and -o %s is something else", g->output);
    else {
        if (g->json || g->output != NULL)
            choose(g, format);
        return true;
    }
    return false;
}

bool globals_flags(struct globals *g)
{
    const struct {
        bool given;
        enum setting setting;
        const char *flag;
    } flags[] = {
        {g->server != NULL, SETTING_SERVER, "--server"},
        {g->token_file != NULL, SETTING_TOKEN_FILE, "--token-file"},
        {g->cacert != NULL, SETTING_CACERT, "--cacert"},
        {g->cert != NULL, SETTING_CERT, "--cert"},
        {g->key != NULL, SETTING_KEY, "--key"},
        {g->server_name != NULL, SETTING_SERVER_NAME, "--server-name"},
        {g->insecure, SETTING_INSECURE, "--insecure"},
        {g->timeout_ns > 0, SETTING_TIMEOUT, "--timeout"},
        {g->json, SETTING_OUTPUT, "--json"},
        {g->output != NULL, SETTING_OUTPUT, "--output"},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].given)
            g->from[flags[i].setting] = flags[i].flag;
    humanize_choose(g->utc, false);
    output_headers(!g->no_headers);
    return choose_by_flag(g);
}

/* ---- one setting, from the environment or a context ---- */

/* A token is one, whether it stands there or in a file. */
static bool is_set(const struct globals *g, enum setting setting)
{
    bool token = setting == SETTING_TOKEN || setting == SETTING_TOKEN_FILE;
    return token ? g->from[SETTING_TOKEN] != NULL || g->from[SETTING_TOKEN_FILE] != NULL
                 : g->from[setting] != NULL;
}

/* Takes a value, which lives as long as `g`, unless the setting has one.  NULL, or what is wrong
 * with it. */
static const char *take(struct globals *g, enum setting setting, const char *value,
                        const char *from)
{
    enum output_format format;
    if (is_set(g, setting))
        return NULL;
    if (setting == SETTING_TIMEOUT || setting == SETTING_OUTPUT) {
        const char *wrong = context_value_wrong(CONTEXT_KEYS[setting], value);
        if (wrong != NULL)
            return wrong;
    }
    g->from[setting] = from;
    switch (setting) {
    case SETTING_SERVER:
        g->server = value;
        break;
    case SETTING_TOKEN_FILE:
        g->token_file = value;
        break;
    case SETTING_TOKEN:
        g->token = strdup(value);
        return g->token != NULL ? NULL : "out of memory";
    case SETTING_CACERT:
        g->cacert = value;
        break;
    case SETTING_CERT:
        g->cert = value;
        break;
    case SETTING_KEY:
        g->key = value;
        break;
    case SETTING_SERVER_NAME:
        g->server_name = value;
        break;
    case SETTING_INSECURE:
        g->insecure = true;
        break;
    case SETTING_TIMEOUT:
        units_duration(span_text(value), &g->timeout_ns);
        break;
    case SETTING_OUTPUT:
        if (find_format(value, &format))
            choose(g, format);
        break;
    case SETTINGS:
        break;
    }
    return NULL;
}

static bool take_environment(struct globals *g)
{
    static const struct {
        const char *name;
        enum setting setting;
    } variables[] = {
        {"ERGON_URL", SETTING_SERVER},
        {"ERGON_TOKEN", SETTING_TOKEN},
        {"ERGON_TOKEN_FILE", SETTING_TOKEN_FILE},
        {"ERGON_CACERT", SETTING_CACERT},
        {"ERGON_CERT", SETTING_CERT},
        {"ERGON_KEY", SETTING_KEY},
        {"ERGON_TIMEOUT", SETTING_TIMEOUT},
        {"ERGON_OUTPUT", SETTING_OUTPUT},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = environment(variables[i].name);
        const char *wrong =
            value != NULL ? take(g, variables[i].setting, value, variables[i].name) : NULL;
        if (wrong != NULL) {
            complain("%s: %s", variables[i].name, wrong);
            return false;
        }
    }
    return true;
}

/* ---- contexts ---- */

/* File names in a context: "~/" is the home, and what is relative is so to the file of contexts.
 * NULL: out of memory. */
static const char *whole_path(struct globals *g, const char *path)
{
    char file[PATH_MAX] = "";
    const char *home = environment("HOME");
    json_t *whole = NULL;
    context_file_path(file);
    if (path[0] == '/')
        return path;
    if (path[0] == '~' && path[1] == '/' && home != NULL)
        whole = json_sprintf("%s%s", home, path + 1);
    else
        whole = json_sprintf("%.*s/%s", (int)(strrchr(file, '/') - file), file, path);
    if (g->paths == NULL)
        g->paths = json_array();
    return json_array_append_new(g->paths, whole) == 0 ? json_string_value(whole) : NULL;
}

static bool is_file(enum setting setting)
{
    return setting == SETTING_TOKEN_FILE || setting == SETTING_CACERT || setting == SETTING_CERT ||
           setting == SETTING_KEY;
}

/* How a server is reached and who we are is for that server alone: with another one of a flag or of
 * the environment no token of a context goes there. */
static bool is_for_its_server(enum setting setting)
{
    return setting != SETTING_TIMEOUT && setting != SETTING_OUTPUT;
}

static bool take_context(struct globals *g, const json_t *context)
{
    const char *server = json_string_value(json_object_get(context, CONTEXT_KEYS[SETTING_SERVER]));
    if (server == NULL)
        server = DEFAULT_SERVER;
    bool ours = g->server == NULL || strcmp(server, g->server) == 0;
    take(g, SETTING_SERVER, server, "context");
    for (enum setting s = SETTING_SERVER + 1; s < SETTINGS; s++) {
        const json_t *value = json_object_get(context, CONTEXT_KEYS[s]);
        const char *text = json_is_true(value) ? "true" : json_string_value(value);
        if (text == NULL || (is_for_its_server(s) && !ours))
            continue;
        if (is_file(s))
            text = whole_path(g, text);
        if (text == NULL || take(g, s, text, "context") != NULL) {
            complain_as("MEMORY", NULL, "out of memory");
            return false;
        }
    }
    return true;
}

static bool no_context(const struct globals *g, const char *by)
{
    struct suggestion near = suggest_for(span_text(g->context), strlen(g->context) / 2);
    const char *name;
    json_t *context;
    json_object_foreach(json_object_get(g->contexts, "contexts"), name, context)
    {
        suggest_offer(&near, span_text(name));
    }
    if (near.name.len > 0)
        complain("there is no context '%s' (%s); did you mean '%.*s'?", g->context, by,
                 (int)near.name.len, (const char *)near.name.at);
    else
        complain("there is no context '%s' (%s); see ergon context list", g->context, by);
    return false;
}

/* Which context is in use: *context is NULL where none is. */
static bool find_context(struct globals *g, const json_t **context)
{
    const char *by = "--context";
    *context = NULL;
    g->contexts = context_file_read();
    if (g->contexts == NULL)
        return false;
    if (g->context == NULL) {
        g->context = environment("ERGON_CONTEXT");
        by = "ERGON_CONTEXT";
    }
    if (g->context == NULL)
        g->context = contexts_current(g->contexts);
    if (g->context == NULL)
        return true;
    *context = contexts_find(g->contexts, g->context);
    return *context != NULL || no_context(g, by);
}

/* ---- all of it ---- */

/* A file that a context names is ours to keep. */
static bool is_secret(const struct globals *g)
{
    struct stat about;
    bool checked = g->from[SETTING_TOKEN_FILE] != NULL &&
                   strcmp(g->from[SETTING_TOKEN_FILE], "context") == 0 &&
                   stat(g->token_file, &about) == 0 && about.st_uid == geteuid();
    if (!checked || (about.st_mode & 077) == 0)
        return true;
    complain("others may read the token file %s; chmod 600 %s", g->token_file, g->token_file);
    return false;
}

static bool read_token(struct globals *g)
{
    bool from_input = strcmp(g->token_file, "-") == 0;
    struct file_bytes file;
    if (!is_secret(g) || !file_read(g->token_file, TOKEN_FILE_MAX, &file))
        return false;
    g->token = strndup((const char *)file.at, strcspn((const char *)file.at, "\r\n"));
    explicit_bzero(file.at, file.len);
    file_bytes_fini(&file);
    if (g->token != NULL && g->token[0] != 0)
        return true;
    complain("%s%s holds no token in its first line", from_input ? "" : "token file ",
             from_input ? "standard input" : g->token_file);
    return false;
}

/* Flags come first.  A context that a flag names is as good as flags; another one comes behind the
 * environment. */
bool globals_find(struct globals *g)
{
    const json_t *context;
    bool by_flag = g->context != NULL;
    if (!find_context(g, &context) || (by_flag && !take_context(g, context)) ||
        !take_environment(g) || (!by_flag && context != NULL && !take_context(g, context)))
        return false;
    if (g->server == NULL)
        g->server = DEFAULT_SERVER;
    return true;
}

/* A certificate that is shown nowhere was meant otherwise: --key is taken for the key of a task. */
static bool shows_certificate(const struct globals *g)
{
    struct url url;
    const char *flag = g->from[SETTING_KEY];
    if (flag == NULL || strcmp(flag, "--key") != 0)
        flag = g->from[SETTING_CERT];
    if (flag == NULL || (strcmp(flag, "--key") != 0 && strcmp(flag, "--cert") != 0) ||
        url_parse(g->server, URL_CONNECT, &url) != NULL || url.scheme == URL_TLS)
        return true;
    complain("option %s is about a client's certificate, and %s has no TLS%s", flag, g->server,
             strcmp(flag, "--key") == 0 ? "; the key of a task is --task-key" : "");
    return false;
}

bool globals_finish(struct globals *g)
{
    return globals_find(g) && shows_certificate(g) && (g->token_file == NULL || read_token(g));
}

void globals_fini(struct globals *g)
{
    if (g->token != NULL)
        explicit_bzero(g->token, strlen(g->token));
    free(g->token);
    json_decref(g->contexts);
    json_decref(g->paths);
    g->token = NULL;
    g->contexts = NULL;
    g->paths = NULL;
}
