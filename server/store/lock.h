/* One server a file: a lock on PATH.lock, which holds the id of the process that has it, and one on
 * the file itself, since a lock file can be deleted and a file have two names.  Both are of other
 * kinds than SQLite's own, so people can look into the file while the server runs.
 *
 * Thread: the one that opens and closes the store.  The descriptors are the lock's. */
#ifndef ERGON_STORE_LOCK_H
#define ERGON_STORE_LOCK_H

#include <stddef.h>

struct lock {
    int beside; /* descriptor of PATH.lock; -1: not taken */
    int file;   /* of the file; -1: not taken */
};

enum { LOCK_IN_USE = 1 };

/* `file` is a descriptor of the file, or -1 if there is none to lock; it is the lock's from now on.
 * Before SQLite opens the file: to close any of its descriptors drops all locks that SQLite has of
 * it.  0; LOCK_IN_USE and a text: another server has the file, and which; or -1 and a text:
 * PATH.lock cannot be made or locked.  lock_drop() must follow in each case. */
int lock_take(struct lock *lock, const char *path, int file, char *error, size_t size);

/* After SQLite has closed the file.  The lock file stays, empty. */
void lock_drop(struct lock *lock);

#endif
