/* The blocking executor: a thread of its own, one task at a time, for handlers that may block or
 * burn processor time.
 *
 * A handler that calls another method waits on its own stack.  Meanwhile its executor's door is
 * closed, and what stood in its lane goes back to the manager; but the last executor whose door
 * would close leaves it open for nested calls and runs those on the same stack, so that what
 * everybody waits for can run. */
#ifndef ERGON_TASKS_EXECUTOR_BLOCKING_H
#define ERGON_TASKS_EXECUTOR_BLOCKING_H

#include <ergon/poller.h>
#include <pthread.h>
#include <semaphore.h>

#include "server/runtime/threads/waker.h"
#include "server/tasks/executors/executor.h"

enum { BLOCKING_FRAMES_MAX = 64 /* nested calls on one stack, its own and those of others */ };

struct blocking_frame;

struct blocking {
    struct executor base;
    struct poller *poller; /* where its thread sleeps */
    struct waker waker;
    struct mpsc returns;           /* nested calls that came home */
    struct blocking_frame *frames; /* innermost */
    uint32_t frame_count;
    pthread_t thread;
    bool started;
    /* Release in blocking_stop(), acquire in the thread's loop. */
    _Atomic bool stop;
    sem_t ended; /* posted as the thread's last act */
};

int blocking_init(struct blocking *b, struct tasks *tasks, uint32_t index,
                  const struct executor_plan *plan);
void blocking_fini(struct blocking *b);

int blocking_start(struct blocking *b); /* 0, or -1 and errno */
void blocking_stop(struct blocking *b); /* any thread; it ends after its current task */
bool blocking_join(struct blocking *b, ao_time limit); /* false: it did not end within `limit` ns */

/* One task, if there is one, on the calling thread, which is the executor's.  False: there was
 * none. */
bool blocking_round(struct blocking *b);

/* Any thread. */
void blocking_return(struct blocking *b, struct task *t); /* a nested call comes home */
void blocking_notify(struct blocking *b); /* look whether what you wait for is still wanted */
static inline struct executor *blocking_executor(struct blocking *b)
{
    return &b->base;
}

/* A nested call of the handler that runs on this executor; waits for its end.  The spans of `out`
 * are valid until the next one of `parent`. */
void blocking_call(struct blocking *b, struct task *parent, const char *method, struct span params,
                   struct ergon_outcome *out);

#endif
