/* Which file a module of the configuration is: one of the user's, or one that comes with the
 * server.
 *
 * Thread: any. */
#ifndef ERGON_CONFIG_MODULE_PATH_H
#define ERGON_CONFIG_MODULE_PATH_H

#include <limits.h>

/* The path of `given`, which is a path already when there is a slash or a dot in it.  Else it is a
 * bare name, such as `demo`, of a module in the folder where the server's own lie: beside the
 * running program in a build tree, below the libraries of an installation, wherever that was moved
 * to.  What is in neither gets its path in the installation, so that a message can name it.  Cut at
 * PATH_MAX.  Cannot fail: a system that does not say where the program is (no /proc) gets `given`
 * back. */
void module_path_find(const char *given, char path[PATH_MAX]);

/* The same for a program of this path. */
void module_path_of(const char *program, const char *given, char path[PATH_MAX]);

#endif
