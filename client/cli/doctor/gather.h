/* Asks a server, and this machine, for the facts that checks look at (check.h).
 *
 * One thread, as cli.h says of the whole folder.  Blocks. */
#ifndef ERGON_CLI_DOCTOR_GATHER_H
#define ERGON_CLI_DOCTOR_GATHER_H

#include "client/cli/session.h"

#include <jansson.h>

/* All facts, a new reference; between both looks it waits for `between_ns`.  Beside those of
 * check.h there is `not_asked`, an array of methods that the server has not, or does not let us
 * call.  With `local` also those of this machine, if it is the server's.  NULL: the connection has
 * ended. */
json_t *facts_gather(struct session *s, uint64_t between_ns, bool local);

#endif
