/* ergon token revoke. */
#ifndef ERGON_CLI_TOKEN_H
#define ERGON_CLI_TOKEN_H

#include "client/cli/cli.h"

/* Takes the lines of a principal, or of a token, out of the token file; the file is replaced as a
 * whole, so the server sees the one or the other.  The one argument: a name, "sha256:HASH", or "-":
 * the token stands on standard input.  `file` may be NULL, which is refused.  STATUS_REMOTE: no
 * line was theirs. */
enum status token_revoke(const char *file, int argc, char **argv);

#endif
