/* The threads of a topology: each runs one activator.
 *
 * All functions: main thread. */
#ifndef ERGON_RUNNERS_H
#define ERGON_RUNNERS_H

#include <pthread.h>
#include <semaphore.h>

#include <ergon/activator.h>

struct runner {
    pthread_t thread; /* valid while it runs */
    struct activator *activator;
    sem_t ended; /* posted as the thread's last act */
};

struct runners {
    struct runner *at;
    uint32_t running; /* at[0 .. running - 1] */
};

/* A step that has run longer than the step limit and has not returned. */
struct stuck {
    const char *activator; /* its name; NULL: all is well there */
    const char *object;    /* name of the object's class */
    const char *method;    /* that a task runs; NULL of other objects */
    ao_time since;         /* when the step began */
};

int runners_init(struct runners *r, uint32_t most); /* 0, or -1 without memory */
void runners_fini(struct runners *r);               /* none runs */

/* `a` is borrowed until it was stopped.  0, or -1 and errno. */
int runners_start(struct runners *r, struct activator *a);

/* Ends all runs and joins the threads.  Names in the log those that have not come back at `until`
 * (of ao_clock_monotonic), and returns how many they are. */
uint32_t runners_stop(struct runners *r, ao_time until);

bool runners_asleep(const struct runners *r);                        /* every activator blocks */
struct stuck runners_stuck(const struct runners *r, uint32_t index); /* below `running` */

#endif
