/* A disk in memory under SQLite, which fails as disks do: the N-th call, a device that is full or
 * read-only, a power cut that loses and tears what was not synced.
 *
 * There is one such disk at a time.  While it is open, it is SQLite's virtual file system of the
 * name FAULT_VFS.  Any thread may use the files.  Call the functions below while no thread does,
 * unless they set a single word.  All chance follows from the seed and the order of calls. */
#ifndef ERGON_TESTS_FAULT_VFS_H
#define ERGON_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FAULT_VFS "ergon-fault"

/* Tests try one in so many moments of a disk: in all by ./run prove cuts (ERGON_STRIDE=1).  Under a
 * sanitizer a test takes twice as long and more, and the code that it looks for does not depend on
 * the moment. */
static inline uint32_t fault_stride(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const char *otherwise = "10";
#else
    const char *otherwise = "3";
#endif
    const char *wanted = getenv("ERGON_STRIDE");
    long stride = strtol(wanted ? wanted : otherwise, NULL, 10);
    return stride > 0 ? (uint32_t)stride : 1;
}

void fault_open(uint64_t seed);
void fault_close(void); /* forgets the files, which must be closed */

/* Returns the number of calls so far that could fail. */
uint64_t fault_calls(void);

/* The n-th call from now on fails (1 is the next), as do the `times` - 1 calls after it.  A failing
 * write does half of its work first.  A failing sync writes a part; the rest looks written, so the
 * next sync does not write it either. */
enum { FAULT_FOR_EVER = 1 << 30 };
void fault_fail_at(uint64_t n, uint64_t times);
void fault_syncs(uint64_t n); /* the n-th sync from now on fails, once */
void fault_errno(int number); /* errno of each failure from now on; at first EIO */
bool fault_failed(void);      /* since fault_fail_at() or fault_syncs() */
void fault_heal(void);        /* no call fails any more */

void fault_limit(uint64_t bytes); /* the size of the disk; 0: no limit */
void fault_read_only(bool on);    /* writes fail, or no longer do */
void fault_damage(const char *name, uint64_t offset,
                  uint64_t count); /* overwrites bytes by chance */

/* Cuts the power at the n-th call: it and all later calls fail. */
void fault_cut_at(uint64_t n);
bool fault_is_cut(void);

/* Cuts the power unless that was done, and switches it on again.  The files are closed, and hold
 * what survived. */
void fault_power_on(void);

#endif
