/* ergon actor remind, ergon actor forget: messages that an actor gets at a time. */
#ifndef ERGON_CLI_ACTOR_REMIND_H
#define ERGON_CLI_ACTOR_REMIND_H

#include "client/cli/session.h"

extern const struct command ACTOR_REMIND, ACTOR_FORGET;

#endif
