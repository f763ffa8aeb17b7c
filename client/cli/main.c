/* ergon: the command line of an Ergon server.  Options in common, the command, its options, run. */
#include "client/cli/ask.h"
#include "client/cli/output.h"
#include "client/cli/synonyms.h"
#include "client/cli/topics.h"
#include "client/cli/wrap.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/suggest.h"

static const struct command *const COMMANDS[] = {
    &CALL,       &TASK,  &QUEUE, &CRON,    &WORKER,  &ACTOR, &BATCH,      &SEM, &EVENT,  &EVENTS,
    &CONNECTION, &AUDIT, &STORE, &CLUSTER, &CONTEXT, &PING,  &INFO,       &TOP, &DOCTOR, &METHODS,
    &WHOAMI,     &TOKEN, &BENCH, &SIM,     &MODULE,  &DEBUG, &COMPLETION, NULL};

static const char *const GENERAL =
    "Environment: ERGON_URL, ERGON_TOKEN or ERGON_TOKEN_FILE, ERGON_CONTEXT; options go first.\n"
    "Exit status: 0 good, 1 error from the server, 2 usage, 3 no connection or TLS,\n"
    "4 not allowed, 5 time is up, 6 no such method, task, queue, cron,\n"
    "semaphore or connection, 7 busy or over a limit,\n"
    "130 interrupted.\n";

static void print_commands(FILE *out, const struct command *const *commands)
{
    for (; *commands != NULL; commands++) {
        fprintf(out, "  %-28s ", (*commands)->name);
        wrap_behind(out, 31, (*commands)->summary);
    }
}

static void print_usage(FILE *out)
{
    fputs("Usage: ergon [OPTION...] COMMAND [ARG...]\n\n"
          "Talks to an Ergon server, or to any MessagePack-RPC server.\n\nCommands:\n",
          out);
    print_commands(out, COMMANDS);
    fputs("\nOptions, before or behind the command:\n", out);
    options_help(out, GLOBAL_OPTIONS);
    fputs("\nTopics of ergon help:\n", out);
    for (const struct topic *t = TOPICS; t->name != NULL; t++)
        fprintf(out, "  %-28s %s\n", t->name, t->summary);
    fprintf(out,
            "\n%s\nExamples:\n  ergon ping\n  ergon call echo hello\n"
            "  ergon call hash sha256 @README.md hex\n"
            "  ergon task submit --retries 5 hash sha256 @README.md\n  ergon call --help\n",
            GENERAL);
}

static const char GLOBAL_HINT[] =
    "Options of every command (--server, --output, --timeout ...): see ergon --help";

static enum status print_command_help(const struct command *c)
{
    printf("Usage: ergon %s [OPTION...]%s%s\n\n", c->name, c->arguments[0] != 0 ? " " : "",
           c->arguments);
    wrap_paragraphs(stdout, c->text);
    putchar('\n');
    if (c->options != NULL || c->shared != NULL || c->parameters || c->repeats) {
        puts("Options:");
        if (c->parameters)
            options_help(stdout, PARAM_OPTIONS);
        options_help(stdout, c->options);
        options_help(stdout, c->shared);
        options_help(stdout, c->repeats ? REPEAT_OPTIONS : NULL);
        putchar('\n');
    }
    if (c->parts != NULL) {
        puts("Commands:");
        print_commands(stdout, c->parts);
        putchar('\n');
    }
    puts(GLOBAL_HINT);
    printf("\nExamples:\n%s", c->examples);
    return STATUS_OK;
}

static enum status print_version(void)
{
    printf("ergon %s (libevent %s, %s)\n", ERGON_VERSION, event_get_version(),
           OpenSSL_version(OPENSSL_VERSION));
    return STATUS_OK;
}

/* The parts of groups that are called so, as "'task list' or 'queue list'"; false: none is. */
static bool parts_called(const char *word, char *text, size_t size)
{
    size_t len = 0;
    text[0] = 0;
    for (const struct command *const *g = COMMANDS; *g != NULL; g++)
        for (const struct command *const *c = (*g)->parts; c != NULL && *c != NULL; c++)
            if (strcmp(command_word(*c), word) == 0 && len < size)
                len += (size_t)snprintf(text + len, size - len, "%s'%s'", len > 0 ? " or " : "",
                                        (*c)->name);
    return len > 0;
}

static bool is_global_option(const char *word)
{
    for (const struct option_spec *o = GLOBAL_OPTIONS; o->name != NULL; o++)
        if (strcmp(o->name, word) == 0)
            return true;
    return false;
}

static void complain_unknown(const struct command *const *commands, const char *word,
                             const struct command *group, bool help)
{
    char parts[256];
    const char *name = group != NULL ? group->name : "";
    const char *blank = group != NULL ? " " : "";
    const char *likely = synonym_likely(name, word);
    struct suggestion near = suggest_for(span_text(word), strlen(word) / 2);
    for (const struct command *const *c = commands; *c != NULL; c++)
        suggest_offer(&near, span_text(command_word(*c)));
    for (const struct topic *t = TOPICS; help && t->name != NULL; t++)
        suggest_offer(&near, span_text(t->name));
    if (likely != NULL)
        complain("unknown command '%s%s%s'; did you mean %s?", name, blank, word, likely);
    else if (group == NULL && parts_called(word, parts, sizeof parts))
        complain("unknown command '%s'; did you mean %s?", word, parts);
    else if (group == NULL && is_global_option(word))
        complain("unknown command '%s'; did you mean --%s?", word, word);
    else if (near.name.len > 0)
        complain("unknown command '%s%s%s'; did you mean '%s%s%.*s'?", name, blank, word, name,
                 blank, (int)near.name.len, (const char *)near.name.at);
    else
        complain("unknown command '%s%s%s'; see ergon %s%s--help", name, blank, word, name, blank);
}

/* `group` is NULL, or that whose parts these are.  NULL, and a message was printed: there is no
 * such command. */
static const struct command *find_command(const struct command *const *commands, const char *word,
                                          const struct command *group, bool help)
{
    const struct command *c = command_called(commands, group, word);
    if (c == NULL)
        complain_unknown(commands, word, group, help);
    return c;
}

static enum status usage_error(const struct command *c, const char *why)
{
    complain("%s; see ergon %s%s--help", why, c != NULL ? c->name : "", c != NULL ? " " : "");
    return STATUS_USAGE;
}

/* Not as many arguments as there have to be: which these are. */
static enum status count_error(const struct command *c, const char *why)
{
    complain("%s: ergon %s%s%s; see ergon %s --help", why, c->name, c->arguments[0] != 0 ? " " : "",
             c->arguments, c->name);
    return STATUS_USAGE;
}

static enum status run_with(const struct command *c, struct globals *g, void *options, int argc,
                            char **argv)
{
    char why[256];
    struct option_set sets[] = {{c->options, options},
                                {c->shared, options},
                                {c->parameters ? PARAM_OPTIONS : NULL, &g->forms},
                                {c->repeats ? REPEAT_OPTIONS : NULL, g},
                                {GLOBAL_OPTIONS, g}};
    g->command = c->name;
    if (!options_parse(sets, 5, &argc, argv, false, why, sizeof why))
        return usage_error(c, why);
    if (g->version)
        return print_version();
    if (g->help)
        return print_command_help(c);
    if (!globals_flags(g))
        return STATUS_USAGE;
    if (argc < c->arguments_min)
        return count_error(c, "an argument is missing");
    if (c->arguments_max >= 0 && argc > c->arguments_max)
        return count_error(c, "there is an argument too many");
    if (!c->offline && !globals_finish(g))
        return STATUS_USAGE;
    return command_run(c, g, options, argc, argv);
}

/* The group alone: what it holds. */
static enum status print_group(const struct globals *g, const struct command *group)
{
    FILE *out = g->help ? stdout : stderr;
    fprintf(out, "Usage: ergon %s COMMAND [OPTION...] [ARG...]\n\n", group->name);
    wrap_paragraphs(out, group->text);
    fputs("\nCommands:\n", out);
    print_commands(out, group->parts);
    fprintf(out, "\n%s\n", GLOBAL_HINT);
    fprintf(out, "\nExamples:\n%s", group->examples);
    return g->help ? STATUS_OK : STATUS_USAGE;
}

static enum status run_alone(const struct command *c, struct globals *g, int argc, char **argv)
{
    void *options = calloc(1, c->options_size + 1);
    if (options == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
        return STATUS_REMOTE;
    }
    if (c->defaults != NULL)
        memcpy(options, c->defaults, c->options_size);
    enum status status = run_with(c, g, options, argc, argv);
    free(options);
    return status;
}

/* A group that is a command itself is that where its first word names no part of it.  Which word
 * that is, its own options say too: one of them may be called as one that all commands have. */
static bool is_command_itself(const struct command *group, int argc, char *const *argv)
{
    char why[256];
    struct globals g = {0};
    if (group->run == NULL)
        return false;
    char **words = calloc((size_t)argc + 1, sizeof *words);
    void *options = calloc(1, group->options_size + 1);
    struct option_set sets[] = {{group->options, options}, {GLOBAL_OPTIONS, &g}};
    for (int i = 0; words != NULL && i < argc; i++)
        words[i] = argv[i];
    bool part = words != NULL && options != NULL &&
                options_parse(sets, 2, &argc, words, true, why, sizeof why) && argc > 0 &&
                command_called(group->parts, group, words[0]) != NULL;
    free(words);
    free(options);
    return !part;
}

static enum status run_group(const struct command *group, struct globals *g, int argc, char **argv)
{
    char why[256];
    struct option_set sets[] = {{GLOBAL_OPTIONS, g}};
    if (is_command_itself(group, argc, argv))
        return run_alone(group, g, argc, argv);
    if (!options_parse(sets, 1, &argc, argv, true, why, sizeof why))
        return usage_error(group, why);
    if (argc == 0)
        return print_group(g, group);
    const struct command *c = find_command(group->parts, argv[0], group, false);
    return c != NULL ? run_alone(c, g, argc - 1, argv + 1) : STATUS_USAGE;
}

static enum status run_command(struct globals *g, int argc, char **argv);

/* Runs the words that argv[0] is another name of, with what is behind it. */
static enum status run_alias(struct globals *g, const char *alias, int argc, char **argv)
{
    int count = 0;
    char *text = strdup(alias), *rest = NULL;
    char **words = calloc(strlen(alias) + (size_t)argc, sizeof *words);
    enum status status = STATUS_REMOTE;
    if (text == NULL || words == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
    } else {
        for (char *w = strtok_r(text, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
            words[count++] = w;
        memcpy(words + count, argv + 1, (size_t)(argc - 1) * sizeof *words);
        status = run_command(g, count + argc - 1, words);
    }
    free(words);
    free(text);
    return status;
}

static enum status run_command(struct globals *g, int argc, char **argv)
{
    const char *alias = synonym_alias("", argv[0]);
    if (alias != NULL)
        return run_alias(g, alias, argc, argv);
    const struct command *c = find_command(COMMANDS, argv[0], NULL, g->help);
    if (c == NULL)
        return STATUS_USAGE;
    if (c->parts != NULL)
        return run_group(c, g, argc - 1, argv + 1);
    return run_alone(c, g, argc - 1, argv + 1);
}

static bool print_topic(const char *name)
{
    for (const struct topic *t = TOPICS; t->name != NULL; t++)
        if (strcmp(t->name, name) == 0) {
            fputs(t->text, stdout);
            return true;
        }
    return false;
}

static enum status run(struct globals *g, int argc, char **argv)
{
    char why[256];
    struct option_set sets[] = {{GLOBAL_OPTIONS, g}};
    if (!options_parse(sets, 1, &argc, argv, true, why, sizeof why))
        return usage_error(NULL, why);
    if (g->version)
        return print_version();
    if (argc > 0 && strcmp(argv[0], "help") == 0) {
        g->help = true;
        argc--;
        argv++;
        if (argc == 1 && print_topic(argv[0]))
            return STATUS_OK;
    }
    if (argc > 0)
        return run_command(g, argc, argv);
    if (!g->help) {
        fputs(GUIDE, stderr);
        return STATUS_USAGE;
    }
    print_usage(stdout);
    return STATUS_OK;
}

/* What was printed must have arrived; a reader that has gone away is not worth a message. */
static enum status flush_output(enum status status)
{
    char text[96];
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    /* Of an earlier write something else may have taken errno since. */
    bool known = errno == ENOSPC || errno == EBADF || errno == EIO || errno == EDQUOT;
    if (errno != EPIPE)
        complain_as("OUTPUT", NULL, "cannot write to standard output%s%s", known ? ": " : "",
                    known ? strerror_r(errno, text, sizeof text) : "");
    return status == STATUS_OK ? STATUS_REMOTE : status;
}

/* What is wrong with the words themselves is told as they ask for, wherever that stands in them. */
static void choose_early(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *format = NULL;
        if (strcmp(argv[i], "--json") == 0)
            format = "json";
        else if (strncmp(argv[i], "--output=", 9) == 0)
            format = argv[i] + 9;
        else if (strncmp(argv[i], "-o", 2) == 0)
            format = argv[i][2] != 0 ? argv[i] + 2 : argv[i + 1];
        if (format != NULL && strcmp(format, "json") == 0)
            output_choose(FORMAT_JSON);
        if (format != NULL && strcmp(format, "yaml") == 0)
            output_choose(FORMAT_YAML);
    }
}

int main(int argc, char **argv)
{
    struct globals g = {.commands = COMMANDS};
    choose_early(argc, argv);
    /* Texts of a server are UTF-8, whatever the terminal's locale is called. */
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGINT,
           session_on_interrupt); /* also as process 1 of a container, where the default is none */
    signal(SIGPIPE, SIG_IGN);
    enum status status = flush_output(run(&g, argc - 1, argv + 1));
    globals_fini(&g);
    return (int)status;
}
