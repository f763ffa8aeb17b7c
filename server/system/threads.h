/* Threads that run one activator each: started, checked, joined.
 *
 * All functions: main thread. */
#ifndef ERGON_THREADS_H
#define ERGON_THREADS_H

#include <pthread.h>
#include <semaphore.h>

#include <ergon/activator.h>

struct waker;

struct activator_thread {
    pthread_t id; /* valid while the thread runs */
    struct activator *activator;
    sem_t ended; /* posted as the thread's last act */
};

struct threads {
    struct activator_thread *at;
    uint32_t count;   /* activators that were added */
    uint32_t running; /* at[0 .. running - 1] have a thread */
};

/* A step that has run for longer than the step limit and has not returned.  The texts are borrowed
 * from the activator and the object's class. */
struct stuck {
    const char *activator; /* its name; NULL: no step is stuck */
    const char *object;    /* name of the object's class */
    const char *method;    /* the method, if the object is a task; else NULL */
    ao_time since;         /* when the step began */
};

int threads_init(struct threads *t, uint32_t most); /* 0, or -1 without memory */
void threads_fini(struct threads *t);               /* when no thread runs */

/* Call it before the start, for at most `most` activators.  `a` is borrowed until its thread has
 * ended. */
void threads_add(struct threads *t, struct activator *a);

/* Call it before the start.  `watcher` is notified whenever an activator returns from blocking. */
void threads_watch(struct threads *t, struct waker *watcher);

/* Starts a thread for each activator, in the order in which they were added.  0, or -1 and the
 * errno of pthread_create(): then the threads started so far run until threads_stop(). */
int threads_start(struct threads *t);

/* Stops all activators and joins their threads.  Logs the threads that have not ended at `until`
 * (of clock_monotonic()), and returns their number. */
uint32_t threads_stop(struct threads *t, ao_time until);

bool threads_asleep(const struct threads *t); /* does every activator block? */
struct stuck threads_stuck(const struct threads *t, uint32_t index); /* below `running` */

#endif
