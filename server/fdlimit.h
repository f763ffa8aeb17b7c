/* The limit of open files, which is what bounds the number of connections.  Any thread. */
#ifndef ERGON_FDLIMIT_H
#define ERGON_FDLIMIT_H

#include <stdint.h>

/* Raises the process's soft limit to the hard one; returns the limit in force, 0 if it is unknown.
 */
uint64_t fdlimit_raise(void);

/* How many connections fit below `limit` open files, after what the server needs for itself. */
uint32_t fdlimit_connections(uint64_t limit);

#endif
