/* ergond as a process of a module (server/processes/spawn.h): it loads the module, says which
 * methods that brings, and runs their tasks for the server that started it, until that has gone.
 *
 * Its limits: data, by RLIMIT_DATA; system calls, as with `sandbox: true`; a step, by `stuck`,
 * after which it ends by SIGABRT.  When a handler's fault ends it, it says on the board which one
 * that was. */
#ifndef ERGON_MODULE_MAIN_H
#define ERGON_MODULE_MAIN_H

#include <stdbool.h>

/* Is this process one? */
bool module_main_wanted(void);
/* In place of the server's main(); returns only if it cannot begin, with the exit status. */
int module_main(int argc, char **argv);

#endif
