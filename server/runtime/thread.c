#include "server/runtime/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
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

/* Resident once a signal handler has used it. */
static _Thread_local char signal_stack[THREAD_SIGNAL_STACK];

void thread_own_signal_stack(void)
{
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    stack_t before;

    sigaltstack(NULL, &before);       /* cannot fail: neither this nor what follows */
    if (before.ss_flags & SS_DISABLE) /* else a sanitizer gave it one, and takes that back */
        sigaltstack(&stack, NULL);
}

/* A fault whose signal is blocked ends the process without its handler. */
static void all_but_faults(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(set, faults[i]);
}

int thread_start_undisturbed(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t set, before;

    all_but_faults(&set);
    pthread_sigmask(SIG_SETMASK, &set, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void thread_settle(const char *name, int core, int priority)
{
    char short_name[KERNEL_NAME];

    snprintf(short_name, sizeof short_name, "%.15s", name);
    thread_own_signal_stack();
    pthread_setname_np(pthread_self(), short_name);
    if (core >= 0)
        bind_to(name, core);
    if (priority && setpriority(PRIO_PROCESS, (id_t)gettid(), priority) != 0)
        log_warn("cannot set the priority of the thread", LOG_STR("thread", name),
                 LOG_INT("priority", priority), LOG_INT("errno", errno));
}

void thread_usage(struct thread_usage *out)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage); /* cannot fail either */
    *out = (struct thread_usage){.clock = clock_monotonic(),
                                 .on_processor = clock_thread(),
                                 .waits = (uint64_t)usage.ru_nvcsw};
}

uint64_t thread_preemptions(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage); /* cannot fail: the target is known, the pointer good */
    return (uint64_t)usage.ru_nivcsw;
}
