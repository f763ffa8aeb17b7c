/* A disk in memory under SQLite, which fails as disks do: the N-th call, a device that is full or
 * read-only, a power cut that loses and tears what was not synced.
 *
 * One at a time.  It is SQLite's virtual file system of the name FAULT_VFS while it is open.  Any
 * thread may use the files; the orders below are given while nobody does, or are single words.
 * What chance decides follows from the seed and the order of calls. */
#ifndef ERGON_TESTS_FAULT_VFS_H
#define ERGON_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

#define FAULT_VFS "ergon-fault"

/* Of the moments of a disk a test under the thread sanitizer, which takes ten times as long, tries
 * one in so many: what it looks for does not depend on the moment. */
#ifdef __SANITIZE_THREAD__
enum { FAULT_STRIDE = 5 };
#else
enum { FAULT_STRIDE = 1 };
#endif

void fault_open(uint64_t seed);
void fault_close(void); /* forgets the files; nobody has one open */

/* Calls that can fail, so far. */
uint64_t fault_calls(void);

/* The n-th call from now on fails (1 is the next), and the `times` - 1 after it.  A write does half
 * of its work first.  A sync that fails has written a part, and what it has not written looks
 * written: the next sync does not write it either. */
enum { FAULT_FOR_EVER = 1 << 30 };
void fault_fail_at(uint64_t n, uint64_t times);
void fault_syncs(uint64_t n); /* the n-th sync from now on fails, once */
void fault_errno(int number); /* what the system says of each failure from now on; EIO */
bool fault_failed(void);      /* one has failed since */
void fault_heal(void);        /* nothing is to fail any more */

void fault_limit(uint64_t bytes); /* of the disk: beyond, it is full; 0: no limit */
void fault_read_only(bool on);    /* the file system cannot be written any more, or can again */
void fault_damage(const char *name, uint64_t offset, uint64_t count); /* overwritten by chance */

/* At the n-th call the power is cut: it and all later ones fail. */
void fault_cut_at(uint64_t n);
bool fault_is_cut(void);

/* Cuts the power, if that was not done, and switches it on again: the files are what survived.  All
 * of them are closed. */
void fault_power_on(void);

#endif
