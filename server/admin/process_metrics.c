#include "server/admin/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static long resident_bytes(void)
{
    FILE *in = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (!in || fscanf(in, "%*d %ld", &pages) != 1)
        pages = 0;
    if (in)
        fclose(in);
    return pages * sysconf(_SC_PAGESIZE);
}

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the folder itself */
}

char *process_metrics_text(void)
{
    char *text = NULL;
    size_t size = 0;
    struct rusage used = {0};
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    getrusage(RUSAGE_SELF, &used);
    fprintf(out,
            "# TYPE ergon_build info\nergon_build_info{version=\"%s\"} 1\n"
            "# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\n"
            "process_cpu_seconds_total %.6f\n"
            "# TYPE process_resident_memory_bytes gauge\n"
            "# UNIT process_resident_memory_bytes bytes\n"
            "process_resident_memory_bytes %ld\n"
            "# TYPE process_open_fds gauge\nprocess_open_fds %u\n# EOF\n",
            ERGON_VERSION, seconds(used.ru_utime) + seconds(used.ru_stime), resident_bytes(),
            open_files());
    return fclose(out) == 0 ? text : (free(text), NULL);
}
