#include "client/cli/completion_live.h"

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
    IDS_MAX = 100,
    WORDS_MAX = 256
};

/* ---- what is completed ---- */

/* What a word can be. */
enum kind {
    KIND_NONE,
    KIND_METHODS,
    KIND_QUEUES,
    KIND_TASKS,
    KIND_SEMS,
    KIND_CRONS,
    KIND_WORKERS,
    KIND_CONNECTIONS,
    KIND_CONTEXTS,
    KIND_SHELLS
};

struct place {
    const struct command *command;    /* that or the group before the cursor; NULL: neither yet */
    const struct option_spec *option; /* whose value is completed; NULL: none */
    bool global;                      /* that option is one that all commands have */
    bool help;                        /* "help" stands before all other words */
    bool ended;                       /* a "--" has ended the options */
    int arguments;                    /* of the command, before the cursor */
    char *flags[WORDS_MAX];           /* words that are options of all commands, and their values */
    int flag_count;
};

static const struct option_spec *find_in(const struct option_spec *specs, const char *word)
{
    size_t len = strcspn(word + 2, "=");
    for (; specs != NULL && specs->name != NULL; specs++)
        if (word[1] == '-' ? strlen(specs->name) == len && strncmp(specs->name, word + 2, len) == 0
                           : specs->letter != 0 && specs->letter == word[1])
            return specs;
    return NULL;
}

static const struct option_spec *find_option(const struct command *c, const char *word,
                                             bool *global)
{
    const struct option_spec *spec = c != NULL ? find_in(c->options, word) : NULL;
    if (spec == NULL && c != NULL)
        spec = find_in(c->shared, word);
    if (spec == NULL && c != NULL && c->parameters)
        spec = find_in(PARAM_OPTIONS, word);
    if (spec == NULL && c != NULL && c->repeats)
        spec = find_in(REPEAT_OPTIONS, word);
    *global = spec == NULL;
    return spec != NULL ? spec : find_in(GLOBAL_OPTIONS, word);
}

static const struct command *find_command(const struct command *const *commands, const char *word)
{
    for (; commands != NULL && *commands != NULL; commands++)
        if (strcmp(command_word(*commands), word) == 0)
            return *commands;
    return NULL;
}

static void add_flag(struct place *p, char *word)
{
    if (p->flag_count < WORDS_MAX)
        p->flags[p->flag_count++] = word;
}

/* An option; true: the next word is its value. */
static bool pass_option(struct place *p, char *word)
{
    p->option = find_option(p->command, word, &p->global);
    if (p->option == NULL)
        return false;
    if (p->global)
        add_flag(p, word);
    bool has_value = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != 0;
    return p->option->kind != OPTION_FLAG && p->option->kind != OPTION_PERIOD && !has_value;
}

static void pass_word(struct place *p, const char *word)
{
    const struct command *const *parts = p->command == NULL ? COMMANDS : p->command->parts;
    const struct command *next = p->arguments == 0 ? find_command(parts, word) : NULL;
    if (p->command == NULL && !p->help && p->arguments == 0 && strcmp(word, "help") == 0)
        p->help = true;
    else if (next != NULL)
        p->command = next;
    else
        p->arguments++;
}

static void find_place(struct place *p, int count, char **words)
{
    bool value = false;
    *p = (struct place){0};
    for (int i = 0; i < count - 1; i++) {
        if (value && strcmp(words[i], "=") == 0)
            continue; /* bash makes it a word of its own */
        if (value && p->global)
            add_flag(p, words[i]);
        if (value) {
            value = false;
        } else if (!p->ended && strcmp(words[i], "--") == 0) {
            p->ended = true;
        } else if (!p->ended && words[i][0] == '-' && words[i][1] != 0) {
            value = pass_option(p, words[i]);
        } else {
            pass_word(p, words[i]);
        }
    }
    if (value && p->global)
        p->flag_count--; /* the option whose value is not there yet */
    if (!value)
        p->option = NULL;
}

/* The value of an option that the server or the contexts know. */
static enum kind kind_of_option(const struct option_spec *option)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        {"method", KIND_METHODS},  {"context", KIND_CONTEXTS}, {"after", KIND_TASKS},
        {"after-any", KIND_TASKS}, {"task", KIND_TASKS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(option->name, kinds[i].name) == 0)
            return kinds[i].kind;
    return KIND_NONE;
}

/* The words that an option takes and no others; NULL: it takes what it is given. */
static const char *const *choices_of_option(const struct place *p)
{
    static const struct {
        const char *command; /* NULL: every one that has the option, or "" those of all commands */
        const char *option;
        const char *words[12];
    } choices[] = {
        {"", "output", {"table", "wide", "name", "json", "yaml"}},
        {"worker", "output", {"auto", "json", "bin"}},
        {"worker", "input", {"json", "raw", "args"}},
        {"worker", "on-lost", {"kill", "finish"}},
        {"sem run", "on-lost", {"kill", "warn"}},
        {NULL,
         "state",
         {"queued", "delayed", "waiting", "running", "parked", "done", "failed", "cancelled",
          "expired", "dead"}},
        {"cron put", "overlap", {"skip", "allow", "replace"}},
        {"cron put", "catch-up", {"none", "one", "all"}},
        {"task submit", "durable", {"none", "async", "fsync"}},
        {"task call", "durable", {"none", "async", "fsync"}},
        {"cron put", "durable", {"none", "async", "fsync"}},
        {"doctor", "fail-on", {"error", "warning", "note", "never"}},
        {"bench", "arrivals", {"poisson", "fixed"}},
        {"bench", "handshake", {"full", "resumed"}},
    };
    const char *command = p->global || p->command == NULL ? "" : p->command->name;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strcmp(p->option->name, choices[i].option) == 0 &&
            (choices[i].command == NULL || strcmp(command, choices[i].command) == 0))
            return choices[i].words;
    return NULL;
}

static enum kind kind_of_argument(const char *command, int position)
{
    static const struct {
        const char *command;
        enum kind kind;
        int first, last; /* which arguments; -1: all behind */
    } kinds[] = {
        {"call", KIND_METHODS, 0, 0},
        {"task submit", KIND_METHODS, 0, 0},
        {"task call", KIND_METHODS, 0, 0},
        {"cron put", KIND_METHODS, 2, 2},
        {"queue explain", KIND_QUEUES, 0, 0},
        {"queue pause", KIND_QUEUES, 0, -1},
        {"queue resume", KIND_QUEUES, 0, -1},
        {"queue drain", KIND_QUEUES, 0, -1},
        {"task get", KIND_TASKS, 0, 0},
        {"task watch", KIND_TASKS, 0, 0},
        {"task explain", KIND_TASKS, 0, 0},
        {"task wait", KIND_TASKS, 0, -1},
        {"task cancel", KIND_TASKS, 0, -1},
        {"task retry", KIND_TASKS, 0, -1},
        {"task forget", KIND_TASKS, 0, -1},
        {"task change", KIND_TASKS, 0, -1},
        {"task run-now", KIND_TASKS, 0, -1},
        {"sem run", KIND_SEMS, 0, 0},
        {"sem explain", KIND_SEMS, 0, -1},
        {"sem delete", KIND_SEMS, 0, -1},
        {"sem revoke", KIND_SEMS, 0, 0},
        {"cron delete", KIND_CRONS, 0, -1},
        {"cron pause", KIND_CRONS, 0, -1},
        {"cron resume", KIND_CRONS, 0, -1},
        {"worker quiet", KIND_WORKERS, 0, -1},
        {"worker resume", KIND_WORKERS, 0, -1},
        {"connection kill", KIND_CONNECTIONS, 0, -1},
        {"context use", KIND_CONTEXTS, 0, 0},
        {"context show", KIND_CONTEXTS, 0, 0},
        {"context set", KIND_CONTEXTS, 0, 0},
        {"context delete", KIND_CONTEXTS, 0, -1},
        {"context rename", KIND_CONTEXTS, 0, 0},
        {"completion", KIND_SHELLS, 0, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(command, kinds[i].command) == 0 && position >= kinds[i].first &&
            (kinds[i].last < 0 || position <= kinds[i].last))
            return kinds[i].kind;
    return KIND_NONE;
}

/* ---- candidates ---- */

/* What is completed, and how many candidates there were. */
struct offers {
    const char *begin;  /* as which they begin */
    const char *prefix; /* what stands before it in the same word: "--state=" */
    int prefix_len;
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

/* A word of ours. */
static void offer_word(struct offers *o, const char *dashes, const char *word, const char *about)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s%s", dashes, word);
    if (strncmp(whole, o->begin, strlen(o->begin)) != 0)
        return;
    printf("%.*s%s%s%s\n", o->prefix_len, o->prefix, whole, about != NULL ? "\t" : "",
           about != NULL ? about : "");
    o->count++;
}

static void offer(struct offers *o, const char *name, const char *about)
{
    if (strncmp(name, o->begin, strlen(o->begin)) != 0 || !is_harmless(name))
        return;
    printf("%.*s%s%s%s\n", o->prefix_len, o->prefix, name, about != NULL ? "\t" : "",
           about != NULL ? about : "");
    o->count++;
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

static void offer_of_server(struct session *s, enum kind kind, struct offers *o)
{
    static const struct {
        const char *method, *pages, *key; /* `pages` NULL: the answer is the list */
    } lists[] = {
        [KIND_METHODS] = {"server.methods", NULL, ""},
        [KIND_QUEUES] = {"queue.list", NULL, "method"},
        [KIND_TASKS] = {"task.list", "tasks", "id"},
        [KIND_SEMS] = {"sem.list", NULL, "name"},
        [KIND_CRONS] = {"cron.list", NULL, "name"},
        [KIND_WORKERS] = {"worker.list", "workers", "worker"},
        [KIND_CONNECTIONS] = {"connection.list", "connections", "id"},
    };
    enum status status;
    json_t *list =
        lists[kind].pages == NULL
            ? look_at(s, lists[kind].method, NULL, ASK_MS, &status)
            : look_at_pages(s, lists[kind].method, lists[kind].pages, IDS_MAX, ASK_MS, &status);
    offer_list(o, list, lists[kind].key);
}

/* With the options that all commands have, as far as they are good. */
static void ask_server(struct place *p, enum kind kind, struct offers *o)
{
    struct globals g = {0};
    struct session s;
    char why[256];
    struct option_set sets[] = {{GLOBAL_OPTIONS, &g}};
    bool good = options_parse(sets, 1, &p->flag_count, p->flags, false, why, sizeof why) &&
                (g.token_file == NULL || strcmp(g.token_file, "-") != 0) && globals_flags(&g) &&
                globals_finish(&g);
    g.quiet = true;
    g.timeout_ns = 0;
    if (good && session_open(&s, &g, ASK_MS, false) == STATUS_OK) {
        offer_of_server(&s, kind, o);
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

static void offer_file(struct offers *o, int folder, const char *path, int head, const char *name)
{
    struct stat about;
    bool is_folder = fstatat(folder, name, &about, 0) == 0 && S_ISDIR(about.st_mode);
    if (is_line(path) && is_line(name)) {
        printf("%.*s@%.*s%s%s\n", o->prefix_len, o->prefix, head, path, name, is_folder ? "/" : "");
        o->count++;
    }
}

static void offer_files(struct offers *o)
{
    const char *path = o->begin + 1;
    const char *slash = strrchr(path, '/');
    const char *begin = slash != NULL ? slash + 1 : path;
    int head = (int)(begin - path);
    char *folder = strndup(path, (size_t)head);
    DIR *d = folder != NULL ? opendir(head > 0 ? folder : ".") : NULL;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0 &&
            (e->d_name[0] != '.' || begin[0] == '.') && strcmp(e->d_name, ".") != 0 &&
            strcmp(e->d_name, "..") != 0)
            offer_file(o, dirfd(d), path, head, e->d_name);
    if (d != NULL)
        closedir(d);
    free(folder);
}

/* ---- all of it ---- */

static void offer_kind(struct place *p, enum kind kind, struct offers *o)
{
    static const char *const shells[] = {"bash", "zsh", "fish", NULL};
    if (kind == KIND_CONTEXTS)
        offer_contexts(o);
    else if (kind == KIND_SHELLS)
        offer_all(o, shells);
    else if (kind != KIND_NONE)
        ask_server(p, kind, o);
}

static void offer_value(struct place *p, struct offers *o)
{
    const char *const *choices = choices_of_option(p);
    if (choices != NULL)
        offer_all(o, choices);
    else if (o->begin[0] == '@' && p->option->kind == OPTION_ARGUMENT)
        offer_files(o);
    else
        offer_kind(p, kind_of_option(p->option), o);
}

/* "--state=d": the option is part of the word. */
static bool splits(struct place *p, struct offers *o)
{
    const char *equals = strchr(o->begin, '=');
    if (p->ended || equals == NULL || strncmp(o->begin, "--", 2) != 0)
        return false;
    p->option = find_option(p->command, o->begin, &p->global);
    o->prefix = o->begin;
    o->prefix_len = (int)(equals + 1 - o->begin);
    o->begin = equals + 1;
    return true;
}

/* Nothing but options can follow: all its arguments are there. */
static bool is_full(const struct place *p)
{
    return p->command != NULL && p->command->arguments_max >= 0 &&
           p->arguments >= p->command->arguments_max;
}

static void offer_argument(struct place *p, struct offers *o)
{
    const struct command *c = p->command;
    if (o->begin[0] == '@' && c != NULL && (c->parameters || p->arguments > 0)) {
        offer_files(o);
        return;
    }
    if (p->arguments == 0)
        offer_commands(o, c == NULL ? COMMANDS : c->parts);
    if (p->arguments == 0 && c == NULL)
        offer_word(o, "", "help", "how a command is used, or a topic");
    if (p->arguments == 0 && c == NULL && p->help)
        offer_topics(o);
    if (c != NULL && !p->help)
        offer_kind(p, kind_of_argument(c->name, p->arguments), o);
}

void completion_live(int count, char **words)
{
    struct place p;
    struct offers o = {.begin = count > 0 ? words[count - 1] : "", .prefix = ""};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    alarm(END_S);
    find_place(&p, count, words);
    if (p.option != NULL && strcmp(o.begin, "=") == 0)
        o.begin = ""; /* bash's */
    if (p.option != NULL || splits(&p, &o)) {
        if (p.option != NULL)
            offer_value(&p, &o);
        return;
    }
    if (o.begin[0] != '-')
        offer_argument(&p, &o);
    if (!p.ended && (o.begin[0] == '-' || (o.count == 0 && o.begin[0] == 0 && is_full(&p))))
        offer_options(&o, p.command);
}
