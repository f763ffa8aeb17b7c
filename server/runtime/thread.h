/* What a thread is given when it starts: its name, processor and priority, and a stack for signals.
 * Any thread, each for itself; nothing fails. */
#ifndef ERGON_RUNTIME_THREAD_H
#define ERGON_RUNTIME_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include <ergon/activator.h>

/* The calling thread's.  `name` is cut to what the kernel takes; core -1: any processor; priority:
 * the nice value, 0 leaves it.  What cannot be had is logged, and the thread goes on without. */
void thread_settle(const char *name, int core, int priority);

enum { THREAD_SIGNAL_STACK = 64 << 10 /* bytes: an unwinder runs on it */ };

/* Starts a thread that no signal reaches but those of its own faults: the others are for the
 * threads that wait for them.  0, or the error of pthread_create(). */
int thread_start_undisturbed(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* Signal handlers that ask for it (SA_ONSTACK) run on a stack of their own, in which an overflow of
 * the thread's can be told.  A stack that the thread has already, as a sanitizer gives it one,
 * stays. thread_settle() does it too. */
void thread_own_signal_stack(void);

/* How often the calling thread was made to leave the processor, since it started. */
uint64_t thread_preemptions(void);

/* What the calling thread has used since it started. */
struct thread_usage {
    ao_time clock;        /* the time, ns; of all threads alike */
    ao_time on_processor; /* ns */
    uint64_t waits;       /* how often it left the processor of its own will */
};
void thread_usage(struct thread_usage *out);

#endif
