/* What a test orders of the disk. */
#include <errno.h>

#include "sim/fault_disk.h"
#include "sim/fault_vfs.h"

uint64_t fault_calls(void)
{
    pthread_mutex_lock(&disk.lock);
    uint64_t calls = disk.calls;
    pthread_mutex_unlock(&disk.lock);
    return calls;
}

void fault_fail_at(uint64_t n, uint64_t times)
{
    pthread_mutex_lock(&disk.lock);
    disk.fail_at = disk.calls + n;
    disk.fail_times = times;
    disk.failed = false;
    pthread_mutex_unlock(&disk.lock);
}

void fault_errno(int number)
{
    pthread_mutex_lock(&disk.lock);
    disk.number = number;
    pthread_mutex_unlock(&disk.lock);
}

void fault_syncs(uint64_t n)
{
    pthread_mutex_lock(&disk.lock);
    disk.sync_at = n;
    disk.failed = false;
    pthread_mutex_unlock(&disk.lock);
}

bool fault_failed(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = disk.failed;
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

void fault_heal(void)
{
    pthread_mutex_lock(&disk.lock);
    disk.fail_at = disk.fail_times = disk.sync_at = disk.cut_at = disk.limit = 0;
    disk.failed = disk.cut = disk.read_only = false;
    disk.number = EIO;
    pthread_mutex_unlock(&disk.lock);
}

void fault_limit(uint64_t bytes)
{
    pthread_mutex_lock(&disk.lock);
    disk.limit = bytes;
    pthread_mutex_unlock(&disk.lock);
}

void fault_read_only(bool on)
{
    pthread_mutex_lock(&disk.lock);
    disk.read_only = on;
    pthread_mutex_unlock(&disk.lock);
}

void fault_damage(const char *name, uint64_t offset, uint64_t count)
{
    pthread_mutex_lock(&disk.lock);
    struct disk_file *f = disk_find(name);
    for (uint64_t n = offset; f && n < offset + count && n < f->now.size; n++)
        f->now.at[n] = (uint8_t)disk_chance();
    pthread_mutex_unlock(&disk.lock);
}

void fault_cut_at(uint64_t n)
{
    pthread_mutex_lock(&disk.lock);
    disk.cut_at = disk.calls + n;
    pthread_mutex_unlock(&disk.lock);
}

bool fault_is_cut(void)
{
    pthread_mutex_lock(&disk.lock);
    bool cut = disk.cut;
    pthread_mutex_unlock(&disk.lock);
    return cut;
}

void fault_power_on(void)
{
    pthread_mutex_lock(&disk.lock);
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used)
            disk_survive(&disk.files[n]);
    pthread_mutex_unlock(&disk.lock);
    fault_heal();
}
