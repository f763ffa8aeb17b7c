/* The disk behind fault_vfs.h: the files, which parts of them are synced, which calls fail, and
 * what a power cut leaves.  Only the sources of that virtual file system include this header.
 *
 * Call everything here with `disk.lock` held. */
#ifndef ERGON_TESTS_FAULT_DISK_H
#define ERGON_TESTS_FAULT_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILES_MAX = 8, FILE_NAME_SIZE = 128, SHM_REGIONS = 8, SECTOR = 512 };

struct bytes {
    uint8_t *at;
    size_t size, room;
};

/* A write, or a truncation (data NULL), that was not synced. */
struct pending {
    struct pending *next;
    size_t offset, len;
    uint8_t *data;
};

struct disk_file {
    char name[FILE_NAME_SIZE]; /* empty: a temporary file */
    bool there;                /* a name leads to it */
    bool there_synced;         /* a name will lead to it after a power cut */
    struct bytes now, synced;
    struct pending *first, *last;
    void *shm[SHM_REGIONS];
    bool used;
};

/* The one disk. */
struct disk {
    pthread_mutex_t lock;
    struct disk_file files[FILES_MAX];
    uint64_t random;
    uint64_t calls, fail_at, fail_times, sync_at, cut_at;
    uint64_t limit;
    bool failed, cut, read_only;
    int number; /* errno */
};
extern struct disk disk;

uint64_t disk_chance(void);

/* Returns whether the call fails.  Call at the start of every call that can fail. */
bool disk_fails(void);
bool disk_sync_fails(void);
bool disk_no_room(const struct disk_file *f, size_t end); /* for a file that ends there */

struct disk_file *disk_find(const char *name); /* NULL: no such file */
struct disk_file *disk_make(const char *name); /* discards a deleted file of this name */
void disk_release(struct disk_file *f);

void bytes_resize(struct bytes *b, size_t size); /* new bytes are zero */
void bytes_put(struct bytes *b, size_t offset, const void *data, size_t len);

void disk_remember(struct disk_file *f, size_t offset, const void *data,
                   size_t len); /* as unsynced */
void disk_forget_pending(struct disk_file *f);
void disk_settle(struct disk_file *f, const struct pending *p); /* makes it synced */
/* Decides what survives of the unsynced writes: all of them, none, or of each write the whole, a
 * part, or nothing. */
void disk_settle_by_chance(struct disk_file *f, bool garble);
void disk_survive(struct disk_file *f); /* a power cut; releases it if its name did not survive */

#endif
