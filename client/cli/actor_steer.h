/* ergon actor start, stop, wake, drop: of actors by their names, or of all that options mean. */
#ifndef ERGON_CLI_ACTOR_STEER_H
#define ERGON_CLI_ACTOR_STEER_H

#include "client/cli/cli.h"

extern const struct command ACTOR_START, ACTOR_STOP, ACTOR_WAKE, ACTOR_DROP;

#endif
