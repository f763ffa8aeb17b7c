#include "server/system/systemd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

/* ---- the service manager ---- */

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

/* The time lets the manager distinguish this reload from an earlier one. */
void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
               (unsigned long long)(clock_monotonic() / 1000));
}

void notify_stopping(const char *status)
{
    sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_period(void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 / 2 : 0;
}

/* ---- journald ---- */

/* Reads a decimal number that ends with `end`.  Returns what follows `end`, or NULL. */
static const char *read_number(const char *text, char end, unsigned long long *out)
{
    char *behind;

    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *out = strtoull(text, &behind, 10);
    return errno == 0 && *behind == end ? behind + 1 : NULL;
}

bool journald_reads(const char *stream, int fd)
{
    unsigned long long device, inode;
    struct stat st;

    if (!stream || !(stream = read_number(stream, ':', &device)) ||
        !read_number(stream, '\0', &inode))
        return false;
    return fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void journald_write(FILE *out, enum log_level level, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", log_journal_level(level), n, text);
        text += n + (text[n] == '\n');
    }
}
