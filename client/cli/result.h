/* What a handler returned, on standard output. */
#ifndef ERGON_CLI_RESULT_H
#define ERGON_CLI_RESULT_H

#include "client/cli/session.h"

#include <jansson.h>

/* A string or bytes as they are; everything else, and all with --json, as JSON. */
enum status result_print(const struct globals *g, struct span result);

/* Calls with parameters that are JSON, and gives the result as JSON.  `params` is a reference of
 * the caller that this takes; NULL: out of memory.  STATUS_OK and *result, a new reference;
 * otherwise a message was printed and *result is NULL. */
enum status ask_json(struct session *s, const char *method, json_t *params, json_t **result);

/* Prints one line of JSON; frees `value`. */
enum status print_json(json_t *value);

#endif
