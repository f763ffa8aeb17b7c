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

#include <ergon/client_tasks.h>

/* Filled from flags, then from the environment, then with defaults. */
struct globals {
    const char *server;     /* URL; never NULL after globals_finish() */
    const char *token_file; /* NULL: none */
    char *token;            /* owned; NULL: none */
    const char *cacert;
    const char *cert;
    const char *key;
    const char *server_name;
    bool insecure;
    uint64_t timeout_ns; /* 0: not given */
    bool json;
    bool quiet;
    bool verbose;
    bool no_color;
    bool help;
    bool version;
};

extern const struct option_spec GLOBAL_OPTIONS[];

/* Reads the environment and the token file.  False, and a message was printed: the token file
 * cannot be read or holds no token, or there is no memory.  globals_fini() follows either way. */
bool globals_finish(struct globals *g);
void globals_fini(struct globals *g);

/* Shows an answer, which the caller frees, to people; or, with --json, when it has been printed,
 * only says what status it means. */
typedef enum status show_fn(const struct globals *g, json_t *answer);

struct session;

struct command {
    const char *name;      /* "task submit": one of a group has the group's name in front */
    const char *arguments; /* "METHOD [ARG...]" */
    const char *summary;   /* one line, no full stop */
    const char *text;      /* what a user must know; lines of at most 79 characters */
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
};

extern const struct command CALL, TASK, QUEUE, CRON, WORKER, SEM, EVENT, CONNECTION, AUDIT, STORE,
    PING, INFO, METHODS, TOKEN, BENCH, COMPLETION;

/* The name of a command within its group: its last word. */
const char *command_word(const struct command *c);

/* All of them, NULL behind the last; in main.c. */
extern const struct command *const COMMANDS[];

/* "ergon: ..." to standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* NULL: it is not set, or empty. */
const char *environment(const char *name);

/* Bold and the like: only on a terminal, unless NO_COLOR, TERM=dumb or --no-color. */
bool colour_wanted(const struct globals *g, FILE *out);

#endif
