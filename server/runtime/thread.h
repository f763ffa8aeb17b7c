/* What a thread is given when it starts: its name, processor and priority.  Any thread, each for
 * itself; nothing fails. */
#ifndef ERGON_RUNTIME_THREAD_H
#define ERGON_RUNTIME_THREAD_H

#include <stdint.h>

/* The calling thread's.  `name` is cut to what the kernel takes; core -1: any processor; priority:
 * the nice value, 0 leaves it.  What cannot be had is logged, and the thread goes on without. */
void thread_settle(const char *name, int core, int priority);

/* How often the calling thread was made to leave the processor, since it started. */
uint64_t thread_preemptions(void);

#endif
