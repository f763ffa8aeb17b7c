#include "server/probe.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE UINT64_C(100000000) /* ns */
#define SECOND   UINT64_C(1000000000)

static struct probe answer;
static sem_t answered;
/* The question that is open: a number, or 0.  Whoever takes it back, handler or asker, with one
 * exchange, has the answer's memory.  Acquire and release: what the one before wrote is done. */
static _Atomic uint32_t open_question;
/* The question that was answered last.  Release in the handler, acquire in wait_for_answer(): the
 * answer is whole.  (The semaphore wakes; that it orders, too, not every checker knows.) */
static _Atomic uint32_t answered_question;

static int probe_signal(void)
{
    return SIGRTMIN + 5;
}

static bool take_back(uint32_t question)
{
    return atomic_compare_exchange_strong_explicit(&open_question, &question, 0,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* A question that is too old finds another open, or none. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uint32_t question = (uint32_t)info->si_value.sival_int;

    (void)number;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && question != 0 &&
        take_back(question)) {
        answer.in_task = task_running_here(&answer.task);
        backtrace_take(&answer.backtrace, context);
        atomic_store_explicit(&answered_question, question, memory_order_release);
        sem_post(&answered);
    }
    errno = saved;
}

int probe_install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    sigfillset(&action.sa_mask);
    backtrace_prepare();
    sem_init(&answered, 0, 0); /* cannot fail: the value is small */
    return sigaction(probe_signal(), &action, NULL);
}

static bool wait_for_answer(uint32_t question)
{
    uint64_t at = clock_monotonic() + PATIENCE;
    struct timespec until = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};
    int waited;

    do
        waited = sem_clockwait(&answered, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    return waited == 0 &&
           atomic_load_explicit(&answered_question, memory_order_acquire) == question;
}

bool probe_thread(pthread_t thread, struct probe *out)
{
    static uint32_t last;
    static bool
        abandoned; /* a handler was under way, and did not end: the memory is its for ever */
    uint32_t question = last = last % INT32_MAX + 1;
    union sigval value = {.sival_int = (int)question};

    if (abandoned)
        return false;
    atomic_store_explicit(&open_question, question, memory_order_release);
    if (pthread_sigqueue(thread, probe_signal(), value) != 0) {
        take_back(question);
        return false;
    }
    if (!wait_for_answer(question)) {
        if (take_back(question))
            return false;
        abandoned = !wait_for_answer(question);
    }
    if (!abandoned)
        *out = answer;
    return !abandoned;
}
