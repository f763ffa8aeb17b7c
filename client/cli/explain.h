/* An explanation for people: the sentence, and what it is made of. */
#ifndef ERGON_CLI_EXPLAIN_H
#define ERGON_CLI_EXPLAIN_H

#include "client/cli/cli.h"

#include <jansson.h>

/* Prints an answer of task.explain or queue.explain, and frees it. */
enum status explain_print(const struct globals *g, json_t *answer);

#endif
