#include "sim/fault_disk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct disk disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* xorshift64*. */
uint64_t disk_chance(void)
{
    disk.random ^= disk.random >> 12;
    disk.random ^= disk.random << 25;
    disk.random ^= disk.random >> 27;
    return disk.random * 2685821657736338717u;
}

static bool one_in(uint64_t n)
{
    return (disk_chance() >> 33) % n == 0;
}

/* --- What was synced, and what was not --- */

void bytes_resize(struct bytes *b, size_t size)
{
    if (size > b->room) {
        b->room = size * 2;
        b->at = realloc(b->at, b->room);
        assert(b->at);
    }
    if (size > b->size)
        memset(b->at + b->size, 0, size - b->size);
    b->size = size;
}

void bytes_put(struct bytes *b, size_t offset, const void *data, size_t len)
{
    if (offset + len > b->size)
        bytes_resize(b, offset + len);
    if (len > 0)
        memcpy(b->at + offset, data, len);
}

void disk_forget_pending(struct disk_file *f)
{
    while (f->first) {
        struct pending *p = f->first;
        f->first = p->next;
        free(p->data);
        free(p);
    }
    f->last = NULL;
}

void disk_remember(struct disk_file *f, size_t offset, const void *data, size_t len)
{
    struct pending *p = calloc(1, sizeof *p);
    assert(p);
    *p = (struct pending){.offset = offset, .len = len};
    if (data) {
        p->data = malloc(len ? len : 1);
        assert(p->data);
        memcpy(p->data, data, len);
    }
    if (f->last)
        f->last->next = p;
    else
        f->first = p;
    f->last = p;
}

/* A sector of a write is there, is not, or, where the power failed in its middle, is anything. */
static void put_torn(struct bytes *b, const struct pending *p, bool garble)
{
    for (size_t at = 0; at < p->len;) {
        size_t len = SECTOR - (p->offset + at) % SECTOR;
        if (len > p->len - at)
            len = p->len - at;
        if (garble && one_in(16))
            for (size_t n = 0; n < len; n++)
                p->data[at + n] = (uint8_t)disk_chance();
        if (!one_in(2))
            bytes_put(b, p->offset + at, p->data + at, len);
        at += len;
    }
}

void disk_settle(struct disk_file *f, const struct pending *p)
{
    if (p->data)
        bytes_put(&f->synced, p->offset, p->data, p->len);
    else
        bytes_resize(&f->synced, p->len);
}

/* What was not synced: all of it survives, none, or of each the whole, a part, or nothing. */
void disk_settle_by_chance(struct disk_file *f, bool garble)
{
    bool all = one_in(4), none = one_in(4);
    for (struct pending *p = f->first; p && (all || !none); p = p->next)
        if (all || one_in(3))
            disk_settle(f, p);
        else if (p->data && one_in(2))
            put_torn(&f->synced, p, garble);
    disk_forget_pending(f);
}

/* --- What fails --- */

/* Under the lock, at the start of every call that can fail. */
bool disk_fails(void)
{
    if (disk.cut)
        return true;
    disk.calls++;
    if (disk.cut_at && disk.calls >= disk.cut_at)
        return disk.cut = true;
    if (!disk.fail_at || disk.calls < disk.fail_at || disk.calls >= disk.fail_at + disk.fail_times)
        return false;
    return disk.failed = true;
}

/* --- Files --- */

struct disk_file *disk_find(const char *name)
{
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used && disk.files[n].there && strcmp(disk.files[n].name, name) == 0)
            return &disk.files[n];
    return NULL;
}

void disk_release(struct disk_file *f)
{
    disk_forget_pending(f);
    free(f->now.at);
    free(f->synced.at);
    for (int n = 0; n < SHM_REGIONS; n++)
        free(f->shm[n]);
    *f = (struct disk_file){0};
}

/* One that was deleted under that name is gone for good. */
struct disk_file *disk_make(const char *name)
{
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used && !disk.files[n].there && strcmp(disk.files[n].name, name) == 0)
            disk_release(&disk.files[n]);
    struct disk_file *f = disk.files;
    while (f->used)
        f++;
    assert(f < disk.files + FILES_MAX);
    *f = (struct disk_file){.used = true, .there = true};
    strncpy(f->name, name, sizeof f->name - 1);
    return f;
}

static uint64_t used(void)
{
    uint64_t sum = 0;
    for (int n = 0; n < FILES_MAX; n++)
        sum += disk.files[n].now.size;
    return sum;
}

bool disk_no_room(const struct disk_file *f, size_t end)
{
    return disk.limit && end > f->now.size && used() + (end - f->now.size) > disk.limit;
}

bool disk_sync_fails(void)
{
    if (disk.sync_at && --disk.sync_at == 0)
        return disk.failed = true;
    return false;
}

/* A name that was made, or unmade, and not synced is there or not. */
void disk_survive(struct disk_file *f)
{
    disk_settle_by_chance(f, true);
    bool there = f->there == f->there_synced ? f->there : one_in(2);
    if (!there || f->name[0] == '\0') {
        disk_release(f);
        return;
    }
    f->there = f->there_synced = true;
    bytes_resize(&f->now, 0);
    bytes_put(&f->now, 0, f->synced.at, f->synced.size);
}
