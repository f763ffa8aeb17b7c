/* The blocking executor: a thread of its own, one task at a time, for handlers that may block or
 * burn processor time.
 *
 * A handler that calls another method, or acquires permits of a semaphore, waits on its own stack.
 * Meanwhile its executor accepts none, and what stood in its lane goes back to the manager; but the
 * last executor that would stop accepting takes nested calls still and runs those on the same
 * stack, so that what everybody waits for can run.
 *
 * A spare takes tasks while it is wanted (spare.h), and rests otherwise: it accepts none, as if
 * it waited for a nested call, and gives back what it was given all the same.
 *
 * Thread: set-up, start and join are for the thread that sets up the whole; the rest says so. */
#ifndef ERGON_TASKS_EXECUTOR_BLOCKING_H
#define ERGON_TASKS_EXECUTOR_BLOCKING_H

#include <ergon/poller.h>
#include <pthread.h>
#include <semaphore.h>

#include "server/runtime/threads/waker.h"
#include "server/tasks/executors/executor.h"

enum { BLOCKING_FRAMES_MAX = 64 /* handlers that wait on one stack */ };

struct ao_sem_remote;
struct blocking_frame;

struct blocking {
    struct executor base;
    struct lane in, *out;  /* its own */
    struct poller *poller; /* where its thread sleeps */
    struct recorder *recorder;
    struct waker waker;
    struct blocking_frame *frames; /* innermost */
    uint32_t frame_count;
    /* It takes tasks; a spare does so while it is at work. Its own thread writes it. Orders nothing
     * (relaxed): blocking_want() asks again until it is as wanted. */
    _Atomic bool present;
    /* A spare is to take tasks.  Release in blocking_want(), acquire in the thread's loop. */
    _Atomic bool wanted;
    pthread_t thread;
    bool started;
    /* Release in blocking_stop(), acquire in the thread's loop. */
    _Atomic bool stop;
    sem_t ended; /* posted as the thread's last act */
};

/* Set-up.  0, or -1 without memory or, errno says so, descriptors: then nothing is left to take
 * apart. */
int blocking_init(struct blocking *b, struct tasks_shared *shared, uint32_t index);
void blocking_fini(struct blocking *b);

int blocking_start(struct blocking *b); /* 0, or -1 and errno of pthread_create() */
void blocking_stop(struct blocking *b); /* any thread; it ends after its current task */
bool blocking_join(struct blocking *b, ao_time limit); /* false: it did not end within `limit` ns */

/* The thread that starts and stops executors: a spare is to take tasks, or to rest; its thread is
 * started when it is needed. False: it is not so yet, ask again; without a thread the log says
 * why. */
bool blocking_want(struct blocking *b, bool wanted);

/* The executor's thread: a spare begins to take tasks, or rests, as it is wanted. */
void blocking_take_place(struct blocking *b);

/* The executor's thread: one task, if there is one.  False: there was none. */
bool blocking_round(struct blocking *b);

/* Any thread, for itself, in a signal handler too: the task whose handler runs, or NULL. */
const struct task *blocking_running_here(void);

/* Any thread: a spare that takes nothing now. */
bool blocking_at_rest(const struct executor *e);

/* The executor's thread: is the result of this task, which runs on it, unwanted by now? Then the
 * flags of the task that was flagged: itself, or one that waits for it below on the stack, without
 * a call between them that another thread runs; else 0. */
unsigned blocking_unwanted(const struct blocking *b, const struct task *t);

/* Any thread: its thread is to end. */
bool blocking_stopping(const struct blocking *b);

/* A nested call of the handler that runs `parent`, on its executor's thread; waits for its end.
 * `m` NULL: there is no such method.  The spans of `out` are valid until the next one of `parent`.
 * Errors that are not the callee's: NO_METHOD, NO_EXECUTOR, NO_WORKER, TOO_DEEP, BUSY (too many on
 * this stack), MEMORY, CANCELLED, DEADLINE, DRAINING. */
void blocking_call(struct task *parent, struct method *m, struct span params,
                   struct ergon_outcome *out);
/* The same, where the call has TASK_MESSAGE. */
void blocking_call_actor(struct task *parent, struct method *m, struct span params,
                         struct ergon_outcome *out);

/* Permits for the handler that runs `t`, on its executor's thread; waits for `limit` ns at most,
 * and no longer than somebody wants the task.  READY, DEADLINE (the limit, or the task's),
 * CANCELLED (the task, or the executor is to stop), CLOSED, REFUSED (no memory, or too many wait on
 * this stack).  A wait on whose stack a nested call of another handler is run arrives anew after
 * it. */
enum ao_wait_outcome blocking_acquire(struct task *t, struct ao_sem_remote *sem, uint32_t permits,
                                      ao_time limit);

/* The executor as the tasks know it. */
static inline struct blocking *blocking_of(struct executor *e)
{
    return ao_of(e, struct blocking, base);
}

#endif
