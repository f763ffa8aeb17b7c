#include "sim/disk.h"

#include <stdlib.h>

#include "server/store/lock.h"
#include "server/store/store.h"
#include "sim/chance.h"
#include "sim/record.h"
#include "sim/schedule.h"
#include "sim/fault_disk.h"
#include "sim/fault_vfs.h"

struct sqlite_store;

static uint64_t latency; /* ns, before a commit and behind it, at most */

void sim_disk_open(void)
{
    uint64_t tear = sim_chance(SIM_DISK);
    sim_disk_open_as(tear, UINT64_C(1) << sim_below(SIM_SHAPE, 6));
}

void sim_disk_open_as(uint64_t tear, uint64_t delay)
{
    fault_open(tear);
    latency = SIM_MS(delay);
    sim_record_disk(delay, tear);
}

void sim_disk_cut_at(uint64_t n)
{
    sim_record_cut(n);
    fault_cut_at(n);
}

bool sim_disk_is_cut(void)
{
    return disk.cut;
}

void sim_disk_spare(void)
{
    if (!disk.cut)
        fault_heal();
}

/* The index of the log is memory that the node shared with nobody. */
static void forget_index(struct disk_file *f)
{
    for (int n = 0; n < SHM_REGIONS; n++) {
        free(f->shm[n]);
        f->shm[n] = NULL;
    }
}

void sim_disk_died(bool power)
{
    for (int n = 0; n < FILES_MAX; n++)
        forget_index(&disk.files[n]);
    if (power)
        fault_power_on();
    else
        fault_heal();
}

/* --- The store --- */

struct store *__real_store_open(const struct store_options *options, char *error, size_t size);
struct store *__wrap_store_open(const struct store_options *options, char *error, size_t size);
void __real_store_commit(struct sqlite_store *s, uint32_t count);
void __wrap_store_commit(struct sqlite_store *s, uint32_t count);
void __real_checkpoint_run(struct sqlite_store *s);
void __wrap_checkpoint_run(struct sqlite_store *s);
int __wrap_lock_take(struct lock *lock, const char *path, int file, char *error, size_t size);
void __wrap_lock_drop(struct lock *lock);

struct store *__wrap_store_open(const struct store_options *options, char *error, size_t size)
{
    struct store_options o = *options;
    o.vfs = FAULT_VFS;
    return __real_store_open(&o, error, size);
}

void __wrap_store_commit(struct sqlite_store *s, uint32_t count)
{
    sim_sleep_for(sim_below(SIM_DISK, latency));
    __real_store_commit(s, count);
    sim_sleep_for(sim_below(SIM_DISK, latency));
}

void __wrap_checkpoint_run(struct sqlite_store *s)
{
    sim_sleep_for(sim_below(SIM_DISK, latency));
    __real_checkpoint_run(s);
}

/* There is no other server, and no folder. */
int __wrap_lock_take(struct lock *lock, const char *path, int file, char *error, size_t size)
{
    (void)path;
    (void)file;
    (void)error;
    (void)size;
    *lock = (struct lock){-1, -1};
    return 0;
}

void __wrap_lock_drop(struct lock *lock)
{
    (void)lock;
}
