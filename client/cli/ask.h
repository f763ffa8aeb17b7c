/* How commands run: by themselves, on a session, or by requests whose answers are shown.
 *
 * One thread, as cli.h says of the whole folder.  A request that is passed in is gone afterwards,
 * whatever is returned.  Each function that returns a status has printed what went wrong: the
 * status says what (status.h). */
#ifndef ERGON_CLI_ASK_H
#define ERGON_CLI_ASK_H

#include "client/cli/session.h"

#include <jansson.h>

/* STATUS_OK and *answer, a new reference; otherwise a message was printed and *answer is NULL. */
enum status ask_json(struct session *s, struct ergon_request *request, json_t **answer);

/* Sends `request`, and prints the answer: with --json as it is, and `show` may judge it; otherwise
 * `show` prints it. */
enum status ask_and_show(struct session *s, struct ergon_request *request, show_fn *show);

/* Runs a command, of whichever of the four kinds it is. */
enum status command_run(const struct command *c, const struct globals *g, const void *options,
                        int argc, char **argv);

/* A show_fn of task.explain and queue.explain: the sentence, and what it is made of. */
enum status show_explanation(const struct globals *g, json_t *answer);

#endif
