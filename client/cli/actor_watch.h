/* ergon actor watch: the versions of one actor, as they come. */
#ifndef ERGON_CLI_ACTOR_WATCH_H
#define ERGON_CLI_ACTOR_WATCH_H

#include "client/cli/session.h"

extern const struct command ACTOR_WATCH;

#endif
