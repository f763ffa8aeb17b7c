/* --watch: a list again and again, until an interrupt.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_REPEAT_H
#define ERGON_CLI_REPEAT_H

#include "client/cli/session.h"

/* Has `round` print the list every --watch of the session's globals.  On a terminal each takes the
 * place of the one before, which stays while there is no answer; elsewhere a line with the time
 * stands before each, but of JSON and YAML.  A round that found no server, or a busy one, has said
 * so, and the next one is tried.  Returns for another error, or when nobody reads any more;
 * an interrupt ends the program. */
enum status repeat(struct session *s, const char *title,
                   enum status (*round)(struct session *s, void *arg), void *arg);

#endif
