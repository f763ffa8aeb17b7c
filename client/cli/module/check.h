/* ergon module check.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_CHECK_H
#define ERGON_CLI_MODULE_CHECK_H

#include "client/cli/cli.h"

extern const struct command MODULE_CHECK;

#endif
