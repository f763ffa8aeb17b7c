/* A fiber is a thread of the simulated world.  It has a stack of its own, and runs on the only
 * thread of the process.
 *
 * Each fiber has its own errno and its own copy of the server's thread-local variables. */
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
    void *memory; /* its lowest page is protected, so an overflow of the stack is a fault */
    struct thread_locals locals;
    int error;  /* errno */
    void *fake; /* the address sanitizer's */
    void (*run)(void *arg);
    void *arg;
    bool ended;
};

void sim_stack_open(struct sim_stack *s, void (*run)(void *arg), void *arg);
void sim_stack_close(struct sim_stack *s); /* not on `s`; it need not have ended */

/* Runs `s` until it calls sim_stack_leave() or returns.  Not on a fiber. */
void sim_stack_enter(struct sim_stack *s);
void sim_stack_leave(struct sim_stack *s); /* on `s` */

#endif
