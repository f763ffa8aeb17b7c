/* Commands of one request, or of one for each argument: sent on a connection of their own, and
 * shown. */
#ifndef ERGON_CLI_ASK_H
#define ERGON_CLI_ASK_H

#include "client/cli/session.h"

#include <jansson.h>

/* STATUS_OK and *answer, a new reference; otherwise a message was printed and *answer is NULL. */
enum status ask_json(struct session *s, struct ergon_request *request, json_t **answer);

/* Connects, sends `request`, and prints the answer: with --json as it is, and `show` may judge it;
 * otherwise `show` prints it. */
enum status ask_once(const struct globals *g, uint32_t timeout_ms, struct ergon_request *request,
                     show_fn *show);

/* The same of a command that has `ask` or `ask_each`. */
enum status ask_command(const struct command *c, const struct globals *g, int argc, char **argv);

/* A show_fn of task.explain and queue.explain: the sentence, and what it is made of. */
enum status show_explanation(const struct globals *g, json_t *answer);

#endif
