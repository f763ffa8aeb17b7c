/* System calls that the server never needs, and who breaks into it might want, are denied (EPERM):
 * running programs, looking into other processes, mounts, namespaces, modules of the kernel, keys,
 * clocks.  It is a list of what is denied: nobody can foresee what modules, the name service and
 * time zones call.  It cannot be lifted again. */
#ifndef ERGON_SANDBOX_H
#define ERGON_SANDBOX_H

#include <stddef.h>

#include "server/config/config.h"

/* Are all of them names of system calls?  Any thread.  0, or -1 and a text. */
int sandbox_check(const struct config_texts *allowed, char *error, size_t size);

/* For all threads that there are, and those to come.  `allowed`: names of system calls that are not
 * denied, and that need not be on the list.  Main thread.  0, or -1 and a text: a name that is no
 * system call; no memory; a system that does not filter calls. */
int sandbox_enter(const struct config_texts *allowed, char *error, size_t size);

#endif
