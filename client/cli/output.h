/* What `ergon` says: results and answers to standard output, complaints to standard error.  One
 * thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_OUTPUT_H
#define ERGON_CLI_OUTPUT_H

#include "base/span.h"
#include "client/cli/cli.h"

#include <jansson.h>

/* How all that follows is printed; FORMAT_TABLE before. */
void output_choose(enum output_format format);

/* Have tables the names of their columns?  They have before. */
void output_headers(bool wanted);
bool output_has_headers(void);

/* Are names alone wanted, one a line? */
bool output_is_names(void);

/* Are all columns and members of a list or a table wanted, and none cut? */
bool output_is_wide(void);

/* Prints a text of the server within a line, with a blank for what could steer the terminal. */
void print_text(const char *text);

/* The same as a copy, which the caller frees; NULL: out of memory. */
char *plain_text(const char *text);

/* printf() to standard output of what may hold a text of the server: what could steer the terminal
 * is escaped. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints one line of JSON, or with -o yaml a document of YAML; frees `value`.  STATUS_REMOTE, with
 * a message: `value` is NULL, or standard output is closed. */
enum status print_json(json_t *value);

/* What a handler returned: a string or bytes as they are, but escaped on a terminal, unless `raw`;
 * everything else, and all with --json or -o yaml, as that.  Errors as print_json(). */
enum status print_result(const struct globals *g, struct span result, bool raw);

#endif
