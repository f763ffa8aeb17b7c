/* Listeners that other machines reach, and where nobody said who may do what, so that whoever comes
 * may do everything, to the tasks of all tenants too.  On loopback and on Unix sockets that is what
 * one wants to begin with; beyond, hardly anybody does, and so it is said.
 *
 * Thread: main. */
#ifndef ERGON_UNGUARDED_H
#define ERGON_UNGUARDED_H

#include "server/config/config.h"

void unguarded_warn(const struct config *c); /* in the log */
void unguarded_tell(const struct config *c); /* to stderr */
/* How many these are, and those without TLS that other machines reach. */
uint32_t unguarded_count(const struct config *c);

#endif
