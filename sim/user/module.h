/* Loads the module under test, and the stand-ins for the services that it uses.
 *
 * The module is loaded once.  Each start of the server resets the module's variables to their
 * values after loading, as in a new process.  A stand-in represents another machine: its variables
 * outlive the server.  Their calls of the C library are redirected; see calls.h. */
#ifndef ERGON_SIM_USER_MODULE_H
#define ERGON_SIM_USER_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* Load a stand-in, or the module, which comes last.  False: *error says why. */
bool sim_stand_in_open(const char *path, char *error, size_t size);
bool sim_module_open(const char *path, char *error, size_t size);
const char *sim_module_path(void);

void sim_module_renew(void); /* resets its variables; only while the server is down */

/* Returns the complaint of the module's ergon_sim_check(); NULL: there is none, or no such
 * function. */
const char *sim_module_check(void);

#endif
