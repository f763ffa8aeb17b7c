/* All thread-local data of the server.  A program that runs several of the server's threads on one
 * thread of the system saves and restores it when it switches between them; so lint/system allows
 * no other thread-local. */
#ifndef ERGON_RUNTIME_THREAD_LOCALS_H
#define ERGON_RUNTIME_THREAD_LOCALS_H

#include <stdbool.h>
#include <stdint.h>

struct activator;
struct task;

/* All of it is zero when a thread begins. */
struct thread_locals {
    struct activator *activator;      /* the activator that it runs; NULL: none */
    const struct task *blocking_task; /* the task whose handler it runs; NULL: none (blocking.c) */
    uint64_t held_task;      /* the task whose memory is counted; 0: none (held_memory.c) */
    uint64_t trace_chance;   /* state of its random generator; 0: not seeded (tracer.c) */
    const void *identity;    /* see thread_identity() */
    bool writes_last_record; /* it runs the handler of a fatal signal (crash.c) */
};

extern _Thread_local struct thread_locals thread_locals;

/* An address that identifies the thread: that of its thread-locals, unless the program that
 * switches between threads has set another one. */
static inline const void *thread_identity(void)
{
    return thread_locals.identity ? thread_locals.identity : &thread_locals;
}

#endif
