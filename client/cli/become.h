/* Another program of ours in place of this process. */
#ifndef ERGON_CLI_BECOME_H
#define ERGON_CLI_BECOME_H

#include "client/cli/status.h"

#include <limits.h>
#include <stdbool.h>

/* The file of the program beside this one's own file.  False: there is none, or nobody may run it.
 */
bool program_beside(const char *program, char path[static PATH_MAX]);

/* `argv[0]` is the program: the one beside this one's own file, else the one on the path.  Returns
 * only if there is none: then it has said so, with what the program is for, and what to do. */
enum status become(char *const *argv, const char *why, const char *advice);

#endif
