/* One server a file: a lock on PATH.lock, which holds the process id of who has it.  SQLite's own
 * locks stay as they are, so that people can look into the file while the server runs. */
#ifndef ERGON_STORE_LOCK_H
#define ERGON_STORE_LOCK_H

#include <stddef.h>

/* The descriptor that holds the lock; or -1 and a text: who has it, or why there is none. */
int lock_take(const char *path, char *error, size_t size);
void lock_drop(int fd); /* of -1 a no-op; the lock file stays, empty */

#endif
