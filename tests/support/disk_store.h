/* The store itself under a jobs_world: SQLite on the disk of fault_vfs.h, on the virtual clock.
 *
 *     fault_open(seed);
 *     disk_store_use(path);
 *     struct store *s = disk_store_open(error, sizeof error);
 *
 * Its file is read, written, checkpointed and closed by server/store; only the two threads are
 * played (client.c, writer.c): a commit takes what was pushed by then, a `latency` after the first
 * push, and so a seed makes the same life each time.  When the power goes in the middle of a commit
 * nobody hears of it.  FILE-running is a real file at `path`, whose folder the test makes.
 *
 * One at a time. */
#ifndef ERGON_TESTS_DISK_STORE_H
#define ERGON_TESTS_DISK_STORE_H

#include "tests/support/world_store.h"

/* `path` is borrowed. */
void disk_store_use(const char *path);
/* NULL and a text: it is refused, or the power went. */
struct store *disk_store_open(char *error, size_t size);
void disk_store_latency(ao_time latency);

/* From now on the process dies at one of the first `calls` of the disk in each raise of numbers
 * (raise.c), by chance; 0: it does not. */
void disk_store_cut_raises(uint64_t calls);
uint32_t disk_store_raises_cut(void); /* so far: that it did while the raise was being committed */

/* How a life ends.  Where fault_is_cut(), that was the moment of its death, and what the process
 * seemed to do since did not happen. */
enum disk_end {
    DISK_STOP, /* in order: jobs_stop() was called */
    DISK_KILL, /* the system still has what was written; FILE-running is as it was */
    DISK_CUT   /* the machine starts anew: what was not synced is there, torn, or gone; FILE-running
                  is of another boot, and by chance old, torn, cut off, or gone */
};
/* After jobs_world_die(): the store is closed, and its files are what the next life finds.  A stop
 * during which the power goes is a DISK_CUT. */
void disk_store_end(struct store *s, enum disk_end how);

#endif
