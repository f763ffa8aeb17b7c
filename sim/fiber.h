/* A thread of the simulated world: a stack of its own, on the one thread that there is.
 *
 * What a thread keeps for itself (errno, the server's thread-locals) goes with it. */
#ifndef ERGON_SIM_FIBER_H
#define ERGON_SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#include "server/runtime/thread_locals.h"

#ifdef __x86_64__
#define SIM_STACK_BY_HAND
#endif

#ifdef SIM_STACK_BY_HAND
typedef void *sim_context; /* the top of the stack */
#else
typedef ucontext_t sim_context;
#endif

struct sim_stack {
    sim_context context;
    void *memory; /* its lowest page cannot be touched: a stack that is too small is a fault */
    struct thread_locals locals;
    int error;  /* errno */
    void *fake; /* the address sanitizer's */
    void (*run)(void *arg);
    void *arg;
    bool ended;
};

void sim_stack_open(struct sim_stack *s, void (*run)(void *arg), void *arg);
void sim_stack_close(struct sim_stack *s); /* whether it has ended or not; not its own */

/* Runs `s` until it calls sim_stack_leave() or returns.  Not on a fiber. */
void sim_stack_enter(struct sim_stack *s);
void sim_stack_leave(struct sim_stack *s); /* on `s` */

#endif
