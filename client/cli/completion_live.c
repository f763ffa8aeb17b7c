#include "client/cli/completion_live.h"

#include "client/cli/context_file.h"
#include "client/cli/contexts.h"
#include "client/cli/json.h"
#include "client/cli/look.h"

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
    KIND_STATES,
    KIND_FORMATS
};

struct place {
    const struct command *command;    /* that or the group before the cursor; NULL: neither yet */
    const struct option_spec *option; /* whose value is completed; NULL: none */
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
static bool pass_option(struct place *p, char *word, bool *global)
{
    p->option = find_option(p->command, word, global);
    if (p->option == NULL)
        return false;
    if (*global)
        add_flag(p, word);
    bool has_value = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != 0;
    return p->option->kind != OPTION_FLAG && !has_value;
}

static void pass_word(struct place *p, const char *word)
{
    const struct command *const *parts = p->command == NULL ? COMMANDS : p->command->parts;
    const struct command *next = p->arguments == 0 ? find_command(parts, word) : NULL;
    if (next != NULL)
        p->command = next;
    else
        p->arguments++;
}

static void find_place(struct place *p, int count, char **words)
{
    bool value = false, global = false, ended = false;
    *p = (struct place){0};
    for (int i = 0; i < count - 1; i++) {
        if (value && strcmp(words[i], "=") == 0)
            continue; /* bash makes it a word of its own */
        if (value && global)
            add_flag(p, words[i]);
        if (value) {
            value = false;
        } else if (!ended && strcmp(words[i], "--") == 0) {
            ended = true;
        } else if (!ended && words[i][0] == '-' && words[i][1] != 0) {
            value = pass_option(p, words[i], &global);
        } else {
            pass_word(p, words[i]);
        }
    }
    if (value && global)
        p->flag_count--; /* the option whose value is not there yet */
    if (!value)
        p->option = NULL;
}

static enum kind kind_of_option(const struct option_spec *option)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        {"method", KIND_METHODS}, {"state", KIND_STATES},    {"context", KIND_CONTEXTS},
        {"after", KIND_TASKS},    {"after-any", KIND_TASKS}, {"output", KIND_FORMATS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(option->name, kinds[i].name) == 0)
            return kinds[i].kind;
    return KIND_NONE;
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
        {"cron delete", KIND_CRONS, 0, -1},
        {"worker quiet", KIND_WORKERS, 0, -1},
        {"worker resume", KIND_WORKERS, 0, -1},
        {"connection kill", KIND_CONNECTIONS, 0, -1},
        {"context use", KIND_CONTEXTS, 0, 0},
        {"context show", KIND_CONTEXTS, 0, 0},
        {"context set", KIND_CONTEXTS, 0, 0},
        {"context delete", KIND_CONTEXTS, 0, -1},
        {"context rename", KIND_CONTEXTS, 0, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(command, kinds[i].command) == 0 && position >= kinds[i].first &&
            (kinds[i].last < 0 || position <= kinds[i].last))
            return kinds[i].kind;
    return KIND_NONE;
}

/* ---- candidates ---- */

/* Names are a server's: only what means nothing to a shell, and steers no terminal. */
static bool is_harmless(const char *name)
{
    for (const char *c = name; *c != 0; c++)
        if (!isalnum((unsigned char)*c) && strchr("._:/@+-", *c) == NULL)
            return false;
    return name[0] != 0 && name[0] != '-';
}

static void offer(const char *name, const char *begin)
{
    if (strncmp(name, begin, strlen(begin)) == 0 && is_harmless(name))
        puts(name);
}

static void offer_all(const char *const *names, const char *begin)
{
    for (; *names != NULL; names++)
        offer(*names, begin);
}

static void offer_contexts(const char *begin)
{
    json_t *contexts = context_file_read(), *context;
    const char *name;
    json_object_foreach(json_object_get(contexts, "contexts"), name, context)
    {
        offer(name, begin);
    }
    json_decref(contexts);
}

/* Members of the objects of a list, or its strings; takes `list`. */
static void offer_list(json_t *list, const char *key, const char *begin)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const json_t *value = json_is_string(entry) ? entry : json_object_get(entry, key);
        char number[32];
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_string(value))
            offer(json_string_value(value), begin);
        else if (json_is_integer(value))
            offer(number, begin);
    }
    json_decref(list);
}

static void offer_of_server(struct session *s, enum kind kind, const char *begin)
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
    offer_list(list, lists[kind].key, begin);
}

/* With the options that all commands have, as far as they are good. */
static void ask_server(struct place *p, enum kind kind, const char *begin)
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
        offer_of_server(&s, kind, begin);
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

static void offer_file(int folder, const char *path, int head, const char *name)
{
    struct stat about;
    bool is_folder = fstatat(folder, name, &about, 0) == 0 && S_ISDIR(about.st_mode);
    if (is_line(path) && is_line(name))
        printf("@%.*s%s%s\n", head, path, name, is_folder ? "/" : "");
}

static void offer_files(const char *path)
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
            offer_file(dirfd(d), path, head, e->d_name);
    if (d != NULL)
        closedir(d);
    free(folder);
}

/* ---- all of it ---- */

static void offer_kind(struct place *p, enum kind kind, const char *begin)
{
    static const char *const states[] = {"queued",  "delayed", "waiting", "running",
                                         "parked",  "done",    "failed",  "cancelled",
                                         "expired", "dead",    NULL};
    static const char *const formats[] = {"table", "wide", "json", "yaml", NULL};
    if (kind == KIND_STATES)
        offer_all(states, begin);
    else if (kind == KIND_FORMATS)
        offer_all(formats, begin);
    else if (kind == KIND_CONTEXTS)
        offer_contexts(begin);
    else if (kind != KIND_NONE)
        ask_server(p, kind, begin);
}

void completion_live(int count, char **words)
{
    struct place p;
    const char *begin = count > 0 ? words[count - 1] : "";
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    alarm(END_S);
    find_place(&p, count, words);
    if (strcmp(begin, "=") == 0)
        begin = "";
    if (p.option != NULL)
        offer_kind(&p, kind_of_option(p.option), begin);
    else if (begin[0] == '@' && p.command != NULL && (p.command->parameters || p.arguments > 0))
        offer_files(begin + 1);
    else if (p.command != NULL)
        offer_kind(&p, kind_of_argument(p.command->name, p.arguments), begin);
}
