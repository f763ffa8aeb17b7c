/* Another program of ours in place of this process. */
#ifndef ERGON_CLI_BECOME_H
#define ERGON_CLI_BECOME_H

#include "client/cli/status.h"

/* `argv[0]` is the program: the one beside this one's own file, else the one on the path.  Returns
 * only if there is none: then it has said so, with what the program is for, and what to do. */
enum status become(char *const *argv, const char *why, const char *advice);

#endif
