#include "server/runtime/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

enum { KERNEL_NAME = 16 }; /* bytes of a thread's name, the zero included */

static void bind_to(const char *name, int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (error)
        log_warn("cannot bind the thread to its core", LOG_STR("thread", name),
                 LOG_INT("core", core), LOG_INT("errno", error));
}

void thread_settle(const char *name, int core, int priority)
{
    char short_name[KERNEL_NAME];

    snprintf(short_name, sizeof short_name, "%.15s", name);
    pthread_setname_np(pthread_self(), short_name);
    if (core >= 0)
        bind_to(name, core);
    if (priority && setpriority(PRIO_PROCESS, (id_t)gettid(), priority) != 0)
        log_warn("cannot set the priority of the thread", LOG_STR("thread", name),
                 LOG_INT("priority", priority), LOG_INT("errno", errno));
}

uint64_t thread_preemptions(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage); /* cannot fail: the target is known, the pointer good */
    return (uint64_t)usage.ru_nivcsw;
}
