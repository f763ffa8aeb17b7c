/* Functions that a module calls in place of the C library's: module.c points the module's calls at
 * them.  Stand-ins, and libraries that only the module brings, are treated alike.
 *
 * The simulation provides time, sleep, chance, locks, conditions and semaphores.  A call that opens
 * a socket, starts a thread or a process, ends the process or waits for a descriptor ends the run,
 * with a line that names the call. */
#ifndef ERGON_SIM_USER_CALLS_H
#define ERGON_SIM_USER_CALLS_H

typedef void sim_call(void); /* each function has another type: that of its name */

/* Returns NULL if the module may call the function of the C library. */
sim_call *sim_call_named(const char *name);

#endif
