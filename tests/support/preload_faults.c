/* Makes a machine ill for a real program: a library for LD_PRELOAD, in which each fault is asked
 * for by a variable of the environment.  None set: nothing is changed.
 *
 *   FAULT_SYNC_MS=N     fsync and fdatasync take so many ms more: a slow disk
 *   FAULT_SYNC_HELD=F   they do not begin while the file F is there: a disk that hangs
 *   FAULT_FREE=F        statvfs says that so many bytes are left as the file F has, for any file
 *                       system: a disk that fills.  No such file: what is true
 *   FAULT_AHEAD_S=N     CLOCK_REALTIME and time are so many seconds ahead (with a minus: behind)
 *   FAULT_AHEAD_IN=F    further ahead by the milliseconds in the first 8 bytes of the file F, which
 *                       may change at any time: a clock that leaps
 *   FAULT_KERNEL=TEXT   uname calls the kernel's release that
 *   FAULT_CLOCK=WORD    adjtimex says that the clock is kept right ("right"), or by nobody ("wild")
 *
 * It looks at the environment at each call, and goes to the kernel itself, so that it needs nothing
 * that a sanitizer has not set up yet.  Any thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define FACE __attribute__((visibility("default")))

static void rest_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void before_sync(void)
{
    const char *slow = getenv("FAULT_SYNC_MS"), *held = getenv("FAULT_SYNC_HELD");
    if (slow != NULL)
        rest_ms(strtol(slow, NULL, 10));
    while (held != NULL && access(held, F_OK) == 0)
        rest_ms(1);
}

FACE int fsync(int fd)
{
    before_sync();
    return (int)syscall(SYS_fsync, fd);
}

FACE int fdatasync(int fd)
{
    before_sync();
    return (int)syscall(SYS_fdatasync, fd);
}

/* False: the file is not there. */
static int number_in(const char *path, unsigned long *n)
{
    FILE *in = path != NULL ? fopen(path, "re") : NULL;
    int good = in != NULL && fscanf(in, "%lu", n) == 1;
    if (in != NULL)
        fclose(in);
    return good;
}

FACE int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    union {
        void *found;
        int (*call)(const char *, struct statvfs *);
    } next = {.found = dlsym(RTLD_NEXT, "statvfs")};
    unsigned long left;
    int error = next.call(path, out);
    if (error == 0 && number_in(getenv("FAULT_FREE"), &left))
        out->f_bavail = left / out->f_frsize;
    return error;
}

/* The milliseconds in the file of FAULT_AHEAD_IN.  Two threads may map it both at first. */
static long leapt_ms(void)
{
    static _Atomic(const _Atomic int64_t *) found;
    const _Atomic int64_t *at = atomic_load(&found);
    const char *path = at == NULL ? getenv("FAULT_AHEAD_IN") : NULL;
    int in = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (in >= 0) {
        void *map = mmap(NULL, sizeof *at, PROT_READ, MAP_SHARED, in, 0);
        close(in);
        at = map != MAP_FAILED ? map : NULL;
        atomic_store(&found, at);
    }
    return at != NULL ? (long)atomic_load(at) : 0;
}

FACE int clock_gettime(clockid_t clock, struct timespec *out)
{
    int error = (int)syscall(SYS_clock_gettime, clock, out);
    if (error != 0 || clock != CLOCK_REALTIME)
        return error;
    const char *ahead = getenv("FAULT_AHEAD_S");
    long ns = out->tv_nsec, ms = leapt_ms();
    if (ahead != NULL)
        out->tv_sec += strtol(ahead, NULL, 10);
    if (ms != 0) {
        ns += ms % 1000 * 1000000 + 1000000000;
        out->tv_sec += ms / 1000 - 1 + ns / 1000000000;
        out->tv_nsec = ns % 1000000000;
    }
    return 0;
}

/* What OpenSSL asks when a certificate has ended. */
FACE time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

FACE int uname(struct utsname *out)
{
    const char *kernel = getenv("FAULT_KERNEL");
    int error = (int)syscall(SYS_uname, out);
    if (error == 0 && kernel != NULL)
        snprintf(out->release, sizeof out->release, "%s", kernel);
    return error;
}

FACE int adjtimex(struct timex *clock)
{
    const char *word = getenv("FAULT_CLOCK");
    int state = (int)syscall(SYS_adjtimex, clock);
    if (word == NULL)
        return state;
    int wild = strcmp(word, "wild") == 0;
    clock->status = wild ? clock->status | STA_UNSYNC : clock->status & ~STA_UNSYNC;
    return wild ? TIME_ERROR : TIME_OK;
}
