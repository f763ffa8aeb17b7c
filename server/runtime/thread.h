/* Sets up the calling thread: its name, processor, priority and signal stack.  Any thread; nothing
 * fails. */
#ifndef ERGON_RUNTIME_THREAD_H
#define ERGON_RUNTIME_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include <ergon/activator.h>

/* Sets name, processor and priority of the calling thread, and its signal stack.  `name` is cut to
 * the kernel's limit; core -1: any processor; priority: the nice value, 0 leaves it.  A failure is
 * logged, and the thread continues without that setting. */
void thread_settle(const char *name, int core, int priority);

enum { THREAD_SIGNAL_STACK = 64 << 10 /* bytes: an unwinder runs on it */ };

/* Starts a thread that gets no signals except those of its own faults; other signals go to the
 * threads that wait for them.  0, or the error of pthread_create(). */
int thread_start_undisturbed(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* Gives the calling thread a separate stack for signal handlers with SA_ONSTACK, so that they can
 * report an overflow of the thread's stack.  A signal stack that the thread has already, for
 * example from a sanitizer, stays.  thread_settle() calls this function, too. */
void thread_own_signal_stack(void);

/* How often the calling thread was preempted since it started. */
uint64_t thread_preemptions(void);

/* The time and processor time of the calling thread, and its waits, since it started. */
struct thread_usage {
    ao_time clock;        /* ns; the same clock for all threads */
    ao_time on_processor; /* ns */
    uint64_t waits;       /* how often it gave up the processor itself */
};
void thread_usage(struct thread_usage *out);

#endif
