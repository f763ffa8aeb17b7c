/* The system's clocks, in nanoseconds.  Any thread; cannot fail.  Logic does not read them: time is
 * passed in to it.  The server reads none but here (lint/system). */
#ifndef ERGON_BASE_CLOCK_H
#define ERGON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t); /* cannot fail: the clock exists and the pointer is good */
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_monotonic(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

/* Cheaper, and behind by a tick of the kernel (1 to 10 ms). */
static inline uint64_t clock_coarse(void)
{
    return clock_read(CLOCK_MONOTONIC_COARSE);
}

/* That tick, ns. */
static inline uint64_t clock_coarse_tick(void)
{
    struct timespec t;
    clock_getres(CLOCK_MONOTONIC_COARSE, &t); /* cannot fail, as clock_read() */
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* `duration` after `at`; UINT64_MAX, which stands for never, where that is beyond all times. */
static inline uint64_t clock_after(uint64_t at, uint64_t duration)
{
    return duration < UINT64_MAX - at ? at + duration : UINT64_MAX;
}

/* Processor time of the calling thread.  A system call: half a microsecond. */
static inline uint64_t clock_thread(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* Of a clock that may be gone, as that of a thread is when it has ended: 0. */
static inline uint64_t clock_read_if_there(clockid_t id)
{
    struct timespec t = {0};
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Since the machine started, also while it was suspended. */
static inline uint64_t clock_boottime(void)
{
    return clock_read(CLOCK_BOOTTIME);
}

/* Since 1970.  May be set back. */
static inline uint64_t clock_wall(void)
{
    return clock_read(CLOCK_REALTIME);
}

/* So long was the machine suspended since it started.  Between the two looks the thread may be put
 * aside, by which it is less: the most of a few looks is right. */
static inline uint64_t clock_suspended(void)
{
    int64_t most = 0;
    for (int looks = 0; looks < 3; looks++) {
        int64_t boot = (int64_t)clock_boottime();
        int64_t length = boot - (int64_t)clock_monotonic();
        most = length > most ? length : most;
    }
    return (uint64_t)most;
}

/* A time as the system's calls want it. */
static inline struct timespec clock_spec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

#endif
