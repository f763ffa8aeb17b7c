#include "server/store/disk_look.h"

#include <sys/statvfs.h>

#include "server/store/backup_mark.h"
#include "server/store/store_parts.h"

void disk_look(struct store *s)
{
    struct statvfs disk;
    bool has_file = !s->in_memory && s->path;
    bool known = has_file && statvfs(s->path, &disk) == 0;
    counter_set(&s->counters.room, known ? (uint64_t)disk.f_bavail * disk.f_frsize + 1 : 0);
    counter_set(&s->counters.backup, has_file ? backup_mark_read(s->path) : 0);
}
