/* What is in a task, and what became of its attempts, for people: parameters and tracebacks as the
 * server shows them, or why it does not (PROTOCOL.md, task.get).
 *
 * One thread, as cli.h says of the whole folder.  Values are borrowed; any member may be missing.
 */
#ifndef ERGON_CLI_CONTENTS_H
#define ERGON_CLI_CONTENTS_H

#include <jansson.h>
#include <stdbool.h>

/* Why contents are hidden, in words: `hidden` is "secret" or "denied". */
const char *contents_hidden(const char *hidden);

/* In place of params_text, params_size and params_hidden puts `params`, a text; in place of a
 * result that is hidden, why it is. */
void contents_tidy(json_t *task);

/* Takes `attempts` out of a task, and tracebacks out of its history, so that what is left fits into
 * lines.  A new reference, or NULL: it has none. */
json_t *contents_take_attempts(json_t *task);

/* Prints attempts as a table, and below it the last traceback, or all. */
void contents_print_attempts(json_t *attempts, bool all, bool colour);

#endif
