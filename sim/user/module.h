/* The module under test, and what stands in for the services that it uses.
 *
 * The module is loaded once; each start of the server finds its memory as it was then, as a new
 * process does.  A stand-in is another machine: its memory outlives the server. */
#ifndef ERGON_SIM_USER_MODULE_H
#define ERGON_SIM_USER_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* Before the module.  False: *error says why. */
bool sim_stand_in_open(const char *path, char *error, size_t size);
bool sim_module_open(const char *path, char *error, size_t size);
const char *sim_module_path(void);

void sim_module_renew(void); /* its memory is as it was loaded; the server does not run */

/* Is that code of the module, of a stand-in, or of a library that came with them? */
bool sim_is_guest(const void *code);
/* A function of this name in a stand-in; NULL: none has one. */
void *sim_stand_in(const char *name);
/* What ergon_sim_check() of the module says is wrong; NULL: nothing, or it has none. */
const char *sim_module_check(void);

#endif
