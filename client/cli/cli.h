/* What every command of `ergon` is, and the options that all share.
 *
 * Of all headers of this folder: `ergon` has one thread, and what a function is given stays the
 * caller's unless its comment says otherwise.  A function that returns a status has printed what
 * went wrong when it is not STATUS_OK. */
#ifndef ERGON_CLI_CLI_H
#define ERGON_CLI_CLI_H

#include "client/cli/options.h"
#include "client/cli/status.h"

#include <jansson.h>
#include <string.h>

#include <ergon/client_tasks.h>

/* What is printed on standard output; json and yaml are for programs, name for the next command of
 * a pipe. */
enum output_format { FORMAT_TABLE, FORMAT_WIDE, FORMAT_NAME, FORMAT_JSON, FORMAT_YAML };

/* Arguments that were said to be of a form, wherever they stand among the others. */
struct param_forms {
    struct option_list strings, jsons;
};

/* What a context can set, too, in the order of CONTEXT_KEYS. */
enum setting {
    SETTING_SERVER,
    SETTING_TOKEN_FILE,
    SETTING_TOKEN,
    SETTING_CACERT,
    SETTING_CERT,
    SETTING_KEY,
    SETTING_SERVER_NAME,
    SETTING_INSECURE,
    SETTING_TIMEOUT,
    SETTING_OUTPUT,
    SETTINGS
};

/* Filled from flags, then from the environment and a context, then with defaults. */
struct globals {
    const char *server;     /* URL; never NULL after globals_finish() */
    const char *token_file; /* NULL: none */
    char *token;            /* owned; NULL: none */
    const char *cacert;
    const char *cert;
    const char *key;
    const char *server_name;
    bool insecure;
    uint64_t timeout_ns;       /* 0: not given */
    const char *context;       /* --context, later the name of the context in use; NULL: none */
    const char *command;       /* that runs, "task get"; NULL: none does */
    const char *output;        /* as it was written; NULL: not given */
    enum output_format format; /* what that means */
    bool json;                 /* the format is json or yaml */
    bool quiet;
    bool verbose;
    bool no_color;
    bool utc;
    bool no_headers;
    struct param_forms forms;              /* of a command that takes parameters */
    const struct command *const *commands; /* the table of all commands; NULL behind the last */
    bool help;
    bool version;
    uint64_t watch_ns; /* --watch, of commands that `repeats`; 0: once */
    /* Where each setting is from: "--server", "ERGON_URL", "context"; NULL: the default. */
    const char *from[SETTINGS];
    json_t *contexts; /* owned; the file of contexts, where it was read */
    json_t *paths;    /* owned; file names that were made of those in a context */
};

extern const struct option_spec GLOBAL_OPTIONS[];
extern const struct option_spec PARAM_OPTIONS[];  /* fill a struct param_forms */
extern const struct option_spec REPEAT_OPTIONS[]; /* of commands that `repeats`; in repeat.c */

/* Says what flags mean: the format of the output, which is chosen then (output.h), and where the
 * settings are from.  False, and a message was printed: there is no such format. */
bool globals_flags(struct globals *g);

/* Then reads the environment, the context and the token file.  False, and a message was printed:
 * the file of contexts is wrong or has no such context, a variable is wrong, the token file cannot
 * be read or holds no token, or there is no memory.  globals_fini() follows either way. */
bool globals_finish(struct globals *g);

/* The same without reading the token file. */
bool globals_find(struct globals *g);
void globals_fini(struct globals *g);

/* Shows an answer, which the caller frees, to people; or, with --json, when it has been printed,
 * only says what status it means. */
typedef enum status show_fn(const struct globals *g, json_t *answer);

struct session;

struct command {
    const char *name;      /* "task submit": one of a group has the group's name in front */
    const char *arguments; /* "METHOD [ARG...]" */
    const char *summary;   /* one line, no full stop */
    const char *text;      /* what a user must know; wrapped when it is shown (wrap.h) */
    const char *examples;
    /* Of a group: its commands, NULL behind the last.  A group with `run` is a command itself. */
    const struct command *const *parts;
    const struct option_spec *options; /* its own; NULL: none */
    const struct option_spec *shared;  /* those of several, which fill the same struct */
    size_t options_size;               /* of the struct that they fill */
    const void *defaults;              /* what it holds before; NULL: zeros */
    int arguments_min;
    int arguments_max; /* -1: any number */

    /* What it does, one of the four: by itself; on a session that is open; or by one request, or
     * one for each argument, whose answers go to `show`. */
    enum status (*run)(const struct globals *g, const void *options, int argc, char **argv);
    enum status (*talk)(struct session *s, const void *options, int argc, char **argv);
    struct ergon_request *(*ask)(void);
    struct ergon_request *(*ask_each)(const char *argument);
    show_fn *show;

    /* Of all but `run`: how long it takes at most where --timeout is not given (0: no limit), and
     * whether a connection that breaks is made again. */
    uint32_t timeout_ms;
    bool durable;
    bool repeats; /* with --watch it is run again and again: repeat.h */

    /* Of `run`: it makes no connection, and so reads no context. */
    bool offline;

    bool parameters; /* its arguments are parameters, so that --string and --json-arg are known */
};

extern const struct command CALL, TASK, QUEUE, CRON, WORKER, ACTOR, BATCH, SEM, EVENT, EVENTS,
    CONNECTION, AUDIT, STORE, CLUSTER, CONTEXT, PING, INFO, TOP, DOCTOR, METHODS, WHOAMI, TOKEN,
    BENCH, SIM, MODULE, COMPLETION, DEBUG;

/* The name of a command within its group: its last word. */
static inline const char *command_word(const struct command *c)
{
    const char *blank = strrchr(c->name, ' ');
    return blank != NULL ? blank + 1 : c->name;
}

/* That of `commands`, the parts of `group` (NULL: all), with this name or alias (synonyms.h); NULL:
 * none. */
const struct command *command_called(const struct command *const *commands,
                                     const struct command *group, const char *word);

/* An error to standard error: "ergon: TEXT"; for programs (-o json or yaml) a line of JSON,
 * {"error": {"code": "USAGE", "text": TEXT, "hint": null}}. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a code, and what to do about it: "ergon: TEXT; HINT".  NULL: no hint. */
void complain_as(const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of what a server refused, behind the name of the command (NULL: none). */
void complain_by(const char *command, const char *code, const char *hint, const char *text);

/* What is no error, as "there are more": the same, or {"notice": {"text": TEXT}}. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* NULL: it is not set, or empty. */
const char *environment(const char *name);

/* Bold and the like: only on a terminal, unless NO_COLOR, TERM=dumb or --no-color. */
bool colour_wanted(const struct globals *g, FILE *out);

#endif
