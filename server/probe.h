/* Asks another thread where it is: its stack, and the task that it runs.
 *
 * The thread is sent a signal, whose handler writes the answer into memory that was there before,
 * and says so: nothing in it locks or allocates, so it does not matter what the thread was doing.
 * Names are made of the answer later, by who asked.  A system call that the thread waits in is
 * restarted, or ends with EINTR where the kernel does not restart it (sleeps, polls), as with any
 * signal; so it is only for threads that should not wait there.
 *
 * Thread: main. */
#ifndef ERGON_PROBE_H
#define ERGON_PROBE_H

#include <pthread.h>

#include "server/backtrace.h"
#include "server/tasks/running.h"

struct probe {
    struct backtrace backtrace;
    bool in_task;
    struct running_task task; /* valid with in_task */
};

/* Before the threads start.  0, or -1 and the errno of sigaction(). */
int probe_install(void);

/* False: the thread does not answer within a tenth of a second, since it blocks signals or hangs in
 * the kernel. */
bool probe_thread(pthread_t thread, struct probe *out);

#endif
