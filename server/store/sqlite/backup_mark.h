/* FILE-backup, an empty file beside a store's file: the time that it was last changed is when the
 * last backup began.  `ergon store backup` sets it; people who copy the file by other means set it
 * by touch(1), for the server to know.
 *
 * Any thread.  Both wait for the disk. */
#ifndef ERGON_STORE_BACKUP_MARK_H
#define ERGON_STORE_BACKUP_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* Unix ms; 0: there is no mark, or nobody may look for it. */
uint64_t backup_mark_read(const char *store);

/* A backup began at `at`, Unix ns, and is there.  The mark gets the owner of the store's file,
 * where the caller may give it away.  False, with errno: it cannot be made. */
bool backup_mark_set(const char *store, uint64_t at);

#endif
