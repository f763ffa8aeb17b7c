#include "client/cli/completion_live.h"

#include "client/cli/completion_kinds.h"
#include "client/cli/completion_place.h"
#include "client/cli/context_file.h"
#include "client/cli/contexts.h"
#include "client/cli/json.h"
#include "client/cli/look.h"
#include "client/cli/topics.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ASK_MS = 700, /* connecting and asking */
    END_S = 2,    /* for names that no resolver knows, and disks that hang */
    IDS_MAX = 100
};

/* What is completed, and how many candidates there were. */
struct offers {
    const struct completion_place *at;
    size_t count;
};

/* Names are a server's: only what means nothing to a shell, and steers no terminal. */
static bool is_harmless(const char *name)
{
    for (const char *c = name; *c != 0; c++)
        if (!isalnum((unsigned char)*c) && strchr("._:/@+-", *c) == NULL)
            return false;
    return name[0] != 0 && name[0] != '-';
}

static void put(struct offers *o, const char *word, const char *about)
{
    const struct completion_place *p = o->at;
    if (strncmp(word, p->begin, strlen(p->begin)) != 0)
        return;
    printf("%.*s%s%s%s\n", p->prefix_len, p->prefix, word, about != NULL ? "\t" : "",
           about != NULL ? about : "");
    o->count++;
}

/* A word of ours. */
static void offer_word(struct offers *o, const char *dashes, const char *word, const char *about)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s%s", dashes, word);
    put(o, whole, about);
}

static void offer(struct offers *o, const char *name, const char *about)
{
    if (is_harmless(name))
        put(o, name, about);
}

static void offer_all(struct offers *o, const char *const *names)
{
    for (; *names != NULL; names++)
        offer(o, *names, NULL);
}

static void offer_commands(struct offers *o, const struct command *const *commands)
{
    for (; commands != NULL && *commands != NULL; commands++)
        offer_word(o, "", command_word(*commands), (*commands)->summary);
}

static void offer_topics(struct offers *o)
{
    for (const struct topic *t = TOPICS; t->name != NULL; t++)
        offer_word(o, "", t->name, t->summary);
}

static void offer_specs(struct offers *o, const struct option_spec *specs)
{
    for (; specs != NULL && specs->name != NULL; specs++)
        offer_word(o, "--", specs->name, specs->help);
}

static void offer_options(struct offers *o, const struct command *c)
{
    if (c != NULL) {
        offer_specs(o, c->options);
        offer_specs(o, c->shared);
        offer_specs(o, c->parameters ? PARAM_OPTIONS : NULL);
        offer_specs(o, c->repeats ? REPEAT_OPTIONS : NULL);
    }
    offer_specs(o, GLOBAL_OPTIONS);
}

static void offer_contexts(struct offers *o)
{
    json_t *contexts = context_file_read(), *context;
    const char *name;
    json_object_foreach(json_object_get(contexts, "contexts"), name, context)
    {
        offer(o, name, NULL);
    }
    json_decref(contexts);
}

/* "echo, done" of a task; NULL where there is nothing to say, or a shell could misread it. */
static const char *about_task(const json_t *entry, char *buf, size_t size)
{
    const char *method = json_string_value(json_object_get(entry, "method"));
    const char *state = json_string_value(json_object_get(entry, "state"));
    if (method == NULL || state == NULL || !is_harmless(method) || !is_harmless(state))
        return NULL;
    snprintf(buf, size, "%s, %s", method, state);
    return buf;
}

/* Members of the objects of a list, or its strings; takes `list`. */
static void offer_list(struct offers *o, json_t *list, const char *key)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const json_t *value = json_is_string(entry) ? entry : json_object_get(entry, key);
        char number[32], about[200];
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_string(value))
            offer(o, json_string_value(value), about_task(entry, about, sizeof about));
        else if (json_is_integer(value))
            offer(o, number, NULL);
    }
    json_decref(list);
}

static void offer_actor_types(struct offers *o, struct session *s, const char *behind)
{
    enum status status;
    size_t i;
    json_t *list = look_at(s, "actor.types", NULL, ASK_MS, &status), *entry;
    json_array_foreach(list, i, entry)
    {
        char word[128];
        const char *type = json_string_value(json_object_get(entry, "type"));
        snprintf(word, sizeof word, "%s%s", type != NULL ? type : "", behind);
        offer(o, word, NULL);
    }
    json_decref(list);
}

/* Of a server with a million of them only some that fit are asked for. */
static void offer_actors(struct offers *o, struct session *s)
{
    enum status status;
    if (strchr(o->at->begin, '/') == NULL) {
        offer_actor_types(o, s, "/");
        return;
    }
    json_t *params = json_pack("[{s:s,s:i}]", "prefix", o->at->begin, "limit", IDS_MAX);
    json_t *page = look_at(s, "actor.list", params, ASK_MS, &status);
    offer_list(o, json_incref(json_object_get(page, "actors")), "actor");
    json_decref(page);
}

/* Nobody sends a step. */
static void offer_actor_methods(struct offers *o, struct session *s)
{
    enum status status;
    size_t i, len = strcspn(o->at->first, "/");
    json_t *methods = look_at(s, "server.methods", NULL, ASK_MS, &status), *method;
    json_array_foreach(methods, i, method)
    {
        const char *name = json_string_value(method);
        if (name != NULL && strncmp(name, o->at->first, len) == 0 && name[len] == '.' &&
            strcmp(name + len, ".step") != 0)
            offer(o, name + len + 1, NULL);
    }
    json_decref(methods);
}

static void offer_from_list(struct offers *o, struct session *s, enum completion_kind kind)
{
    static const struct {
        const char *method, *pages, *key; /* `pages` NULL: the answer is the list */
    } lists[] = {
        [KIND_METHODS] = {"server.methods", NULL, ""},
        [KIND_QUEUES] = {"queue.list", NULL, "method"},
        [KIND_TASKS] = {"task.list", "tasks", "id"},
        [KIND_SEMS] = {"sem.list", NULL, "name"},
        [KIND_BATCHES] = {"batch.list", "batches", "id"},
        [KIND_CRONS] = {"cron.list", NULL, "name"},
        [KIND_WORKERS] = {"worker.list", "workers", "worker"},
        [KIND_CONNECTIONS] = {"connection.list", "connections", "id"},
        [KIND_NODES] = {"cluster.status", NULL, "node"},
    };
    enum status status;
    json_t *list =
        lists[kind].pages == NULL
            ? look_at(s, lists[kind].method, NULL, ASK_MS, &status)
            : look_at_pages(s, lists[kind].method, lists[kind].pages, IDS_MAX, ASK_MS, &status);
    if (kind == KIND_NODES) { /* one of its members is the list */
        json_t *nodes = json_incref(json_object_get(list, "nodes"));
        json_decref(list);
        list = nodes;
    }
    offer_list(o, list, lists[kind].key);
}

static void offer_of_server(struct offers *o, struct session *s, enum completion_kind kind)
{
    if (kind == KIND_ACTORS)
        offer_actors(o, s);
    else if (kind == KIND_ACTOR_TYPES)
        offer_actor_types(o, s, "");
    else if (kind == KIND_ACTOR_METHODS)
        offer_actor_methods(o, s);
    else
        offer_from_list(o, s, kind);
}

/* With the options that all commands have, as far as they are good. */
static void ask_server(struct offers *o, enum completion_kind kind)
{
    char *flags[COMPLETION_FLAGS_MAX]; /* are moved */
    int count = o->at->flag_count;
    memcpy(flags, o->at->flags, sizeof flags);
    struct globals g = {0};
    struct session s;
    char why[256];
    struct option_set sets[] = {{GLOBAL_OPTIONS, &g}};
    bool good = options_parse(sets, 1, &count, flags, false, why, sizeof why) &&
                (g.token_file == NULL || strcmp(g.token_file, "-") != 0) && globals_flags(&g) &&
                globals_finish(&g);
    g.quiet = true;
    g.timeout_ns = 0;
    if (good && session_open(&s, &g, ASK_MS, false) == STATUS_OK) {
        offer_of_server(o, &s, kind);
        session_close(&s);
    }
    globals_fini(&g);
}

/* ---- files ---- */

static bool is_line(const char *name)
{
    for (const char *c = name; *c != 0; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* A folder, or a file with this end. */
static void offer_file(struct offers *o, int folder, const char *path, int head, const char *name,
                       const char *end)
{
    struct stat about;
    bool is_folder = fstatat(folder, name, &about, 0) == 0 && S_ISDIR(about.st_mode);
    const char *mark = path == o->at->begin ? "" : "@";
    if (is_line(path) && is_line(name) && (is_folder || ends_with(name, end))) {
        printf("%.*s%s%.*s%s%s\n", o->at->prefix_len, o->at->prefix, mark, head, path, name,
               is_folder ? "/" : "");
        o->count++;
    }
}

/* Files whose path begins with `path`, what the cursor is behind, or all of that but its '@'. */
static void offer_files(struct offers *o, const char *path, const char *end)
{
    const char *slash = strrchr(path, '/');
    const char *begin = slash != NULL ? slash + 1 : path;
    int head = (int)(begin - path);
    char *folder = strndup(path, (size_t)head);
    DIR *d = folder != NULL ? opendir(head > 0 ? folder : ".") : NULL;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0 &&
            (e->d_name[0] != '.' || begin[0] == '.') && strcmp(e->d_name, ".") != 0 &&
            strcmp(e->d_name, "..") != 0)
            offer_file(o, dirfd(d), path, head, e->d_name, end);
    if (d != NULL)
        closedir(d);
    free(folder);
}

/* ---- all of it ---- */

static void offer_kind(struct offers *o, enum completion_kind kind)
{
    static const char *const shells[] = {"bash", "zsh", "fish", NULL};
    if (kind == KIND_CONTEXTS)
        offer_contexts(o);
    else if (kind == KIND_SHELLS)
        offer_all(o, shells);
    else if (kind == KIND_MODULES)
        offer_files(o, o->at->begin, ".so");
    else if (kind != KIND_NONE)
        ask_server(o, kind);
}

static void offer_value(struct offers *o)
{
    const struct completion_place *p = o->at;
    const char *command = p->global || p->command == NULL ? "" : p->command->name;
    const char *const *choices = completion_choices(command, p->option->name);
    if (choices != NULL)
        offer_all(o, choices);
    else if (p->begin[0] == '@' && p->option->kind == OPTION_ARGUMENT)
        offer_files(o, p->begin + 1, "");
    else
        offer_kind(o, completion_kind_of_option(p->option->name));
}

static void offer_argument(struct offers *o)
{
    const struct completion_place *p = o->at;
    const struct command *c = p->command;
    if (p->begin[0] == '@' && c != NULL && (c->parameters || p->arguments > 0)) {
        offer_files(o, p->begin + 1, "");
        return;
    }
    if (p->arguments == 0)
        offer_commands(o, c == NULL ? p->commands : c->parts);
    if (p->arguments == 0 && c == NULL)
        offer_word(o, "", "help", "how a command is used, or a topic");
    if (p->arguments == 0 && c == NULL && p->help)
        offer_topics(o);
    if (c != NULL && !p->help)
        offer_kind(o, completion_kind_of_argument(c->name, p->arguments));
}

static void offer_word_or_option(struct offers *o)
{
    const struct completion_place *p = o->at;
    if (p->begin[0] != '-')
        offer_argument(o);
    bool nothing_else = o->count == 0 && p->begin[0] == 0 && completion_place_is_full(p);
    if (!p->ended && (p->begin[0] == '-' || nothing_else))
        offer_options(o, p->command);
}

void completion_live(const struct command *const *commands, int count, char **words)
{
    struct completion_place place;
    struct offers offers = {.at = &place};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    alarm(END_S);
    completion_place_find(&place, commands, count, words);
    if (!place.value)
        offer_word_or_option(&offers);
    else if (place.option != NULL)
        offer_value(&offers);
}
