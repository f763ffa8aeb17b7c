/* Command-line options from tables: the same table parses, prints help, and completes.
 *
 * Options and arguments may be mixed; `--` ends the options; `-` and negative numbers are
 * arguments; `--name value`, `--name=value`, `-n value` and `-nvalue` are understood.
 *
 * One thread, as cli.h says of the whole folder.  Texts that options get point into argv. */
#ifndef ERGON_CLI_OPTIONS_H
#define ERGON_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,     /* bool, set to true */
    OPTION_TEXT,     /* const char *, points into argv */
    OPTION_DURATION, /* uint64_t, nanoseconds; "5s" */
    OPTION_PERIOD,   /* the same, and 2 s where it has no value: --name, --name=5s */
    OPTION_SIZE,     /* uint64_t, bytes; "64k", and a bare number means bytes */
    OPTION_NUMBER,   /* uint64_t, decimal, at least 1 */
    OPTION_LIST,     /* struct option_list; the option may stand several times */
    OPTION_ARGUMENT  /* the same, and the value stays where it is as an argument */
};

enum { OPTION_LIST_MAX = 64 };

struct option_list {
    const char *at[OPTION_LIST_MAX]; /* point into argv */
    size_t count;
};

struct option_spec {
    char letter;          /* 0: none */
    const char *name;     /* without dashes; NULL ends a table */
    const char *argument; /* "URL"; NULL for a flag */
    const char *help;     /* one line */
    enum option_kind kind;
    size_t offset; /* of the variable in the struct that the table describes */
};

/* A table and the struct that it fills. */
struct option_set {
    const struct option_spec *specs;
    void *base;
};

/* Parses argv[0 .. *argc): what is no option is moved to its front, and *argc becomes their number.
 * With `stop_at_first` the first argument and all behind it are left alone.  The first set that
 * knows an option takes it.  False, and a message in `why`: no set knows an option, a value is
 * missing or is none of its kind, or a flag has one; what was parsed before it stays. */
bool options_parse(const struct option_set *sets, size_t set_count, int *argc, char **argv,
                   bool stop_at_first, char *why, size_t why_size);

/* Prints a line for each option; NULL has none. */
void options_help(FILE *out, const struct option_spec *specs);

#endif
