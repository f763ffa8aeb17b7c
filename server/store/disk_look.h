/* What the store knows of its file system: how much of it is left, and when the last backup was
 * made.  Thread: the writer's, as store_parts.h says; waits for the disk. */
#ifndef ERGON_STORE_DISK_LOOK_H
#define ERGON_STORE_DISK_LOOK_H

struct store;

/* Into the counters `room` and `backup`. */
void disk_look(struct store *s);

#endif
