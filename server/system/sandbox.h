/* A sandbox that denies (EPERM) system calls which the server never needs and an intruder might
 * want: running programs, reading other processes, mounts, namespaces, kernel modules, keys,
 * clocks.  It lists what is denied, and not what is allowed, since modules, the name service and
 * time zones may call anything else.  It cannot be left again. */
#ifndef ERGON_SANDBOX_H
#define ERGON_SANDBOX_H

#include <stddef.h>

#include "server/config/config.h"

/* Checks that all of them are names of system calls.  Any thread.  0, or -1 and a text. */
int sandbox_check(const struct config_texts *allowed, char *error, size_t size);

/* Enters the sandbox with all present and future threads.  The system calls in `allowed` are not
 * denied; they need not be on the list.  Main thread.  0, or -1 and a text: a name is no system
 * call, there is no memory, or the system does not filter calls. */
int sandbox_enter(const struct config_texts *allowed, char *error, size_t size);

#endif
