/* The threads of a topology: each runs one activator.
 *
 * All functions: main thread. */
#ifndef ERGON_THREADS_H
#define ERGON_THREADS_H

#include <pthread.h>
#include <semaphore.h>

#include <ergon/activator.h>

struct waker;

struct activator_thread {
    pthread_t id; /* valid while it runs */
    struct activator *activator;
    sem_t ended; /* posted as the thread's last act */
};

struct threads {
    struct activator_thread *at;
    uint32_t count;   /* of activators that were added */
    uint32_t running; /* at[0 .. running - 1] have a thread */
};

/* A step that has run longer than the step limit and has not returned.  The texts are borrowed from
 * the activator and the object's class. */
struct stuck {
    const char *activator; /* its name; NULL: all is well there */
    const char *object;    /* name of the object's class */
    const char *method;    /* that a task runs; NULL of other objects */
    ao_time since;         /* when the step began */
};

int threads_init(struct threads *t, uint32_t most); /* 0, or -1 without memory */
void threads_fini(struct threads *t);               /* none runs */

/* Before the start; at most `most` in all.  `a` is borrowed until it was stopped. */
void threads_add(struct threads *t, struct activator *a);

/* Before the start: `watcher` is notified whenever an activator comes back from blocking. */
void threads_watch(struct threads *t, struct waker *watcher);

/* Starts a thread for each activator, in the order in which they were added.  0, or -1 and the
 * errno of pthread_create(): then those before it run, until threads_stop(). */
int threads_start(struct threads *t);

/* Ends all runs and joins the threads.  Names in the log those that have not come back at `until`
 * (of clock_monotonic()), and returns how many they are. */
uint32_t threads_stop(struct threads *t, ao_time until);

bool threads_asleep(const struct threads *t); /* does every activator block? */
struct stuck threads_stuck(const struct threads *t, uint32_t index); /* below `running` */

#endif
