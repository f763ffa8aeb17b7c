/* What each thread of the server keeps for itself, in one place.  A program that runs several of
 * the server's threads on one of the system's saves and restores this as it switches between them;
 * so lint/system allows no other thread-local. */
#ifndef ERGON_RUNTIME_THREAD_LOCALS_H
#define ERGON_RUNTIME_THREAD_LOCALS_H

#include <stdbool.h>
#include <stdint.h>

struct activator;
struct task;

/* A thread begins with all of it zero. */
struct thread_locals {
    struct activator *activator;      /* that it runs; NULL: none (thread_locals.c) */
    const struct task *blocking_task; /* whose handler it runs; NULL: none (blocking.c) */
    uint64_t held_task;               /* whose memory is counted; 0: none (held_memory.c) */
    uint64_t trace_chance;            /* state of its generator; 0: not seeded (tracer.c) */
    const void *identity;             /* see thread_identity() */
    bool writes_last_record;          /* it is in the handler of a fatal signal (crash.c) */
};

extern _Thread_local struct thread_locals thread_locals;

/* An address that no other living thread has: that of its thread-locals, unless the program that
 * switches between threads has set another. */
static inline const void *thread_identity(void)
{
    return thread_locals.identity ? thread_locals.identity : &thread_locals;
}

#endif
