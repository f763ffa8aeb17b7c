/* What the disk can do: records appended to a file, each batch written at once and synced.  Prints
 * records a second.
 *   sync_rate FOLDER BATCH SECONDS */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/peers/driver/processor.h"

enum { RECORD = 100, BATCH_MAX = 4096 };

static char records[RECORD * BATCH_MAX];

/* A file of its own, gone when the program ends.  -1 with errno. */
static int open_in(const char *folder)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/sync-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool append(int fd, size_t size)
{
    return write(fd, records, size) == (ssize_t)size && fdatasync(fd) == 0;
}

int main(int argc, char **argv)
{
    size_t batch = argc == 4 ? strtoul(argv[2], NULL, 10) : 0, count = 0;
    double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;

    if (batch == 0 || batch > BATCH_MAX || seconds <= 0)
        return fprintf(stderr, "usage: sync_rate FOLDER BATCH SECONDS; at most %d\n", BATCH_MAX), 2;
    memset(records, 'x', sizeof records);
    int fd = open_in(argv[1]);
    uint64_t begin = processor_clock_ns(), end = begin + (uint64_t)(seconds * 1e9), now = begin;
    for (; fd >= 0 && now < end; now = processor_clock_ns(), count += batch)
        if (!append(fd, RECORD * batch))
            return perror("sync_rate"), 1;
    if (fd < 0)
        return perror("sync_rate"), 1;
    printf("%.1f\n", (double)count / ((double)(now - begin) / 1e9));
    return 0;
}
