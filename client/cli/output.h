/* What `ergon` says: results and answers to standard output, complaints to standard error.  One
 * thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_OUTPUT_H
#define ERGON_CLI_OUTPUT_H

#include "base/span.h"
#include "client/cli/cli.h"

#include <jansson.h>

/* Prints a text of the server, with what could drive the terminal as blanks. */
void print_text(const char *text);

/* Prints one line of JSON; frees `value`.  STATUS_REMOTE, with a message: `value` is NULL, or
 * standard output is closed. */
enum status print_json(json_t *value);

/* What a handler returned: a string or bytes as they are; everything else, and all with --json, as
 * JSON.  Errors as print_json(). */
enum status print_result(const struct globals *g, struct span result);

#endif
