#include "sim/fiber.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/check.h"

enum { STACK_SIZE = 512 << 10, GUARD_SIZE = 4096 };

static struct thread_locals locals_outside;
static struct sim_stack *entered;

/* The first function of a stack. */
static void begin(void)
{
    struct sim_stack *s = entered;
    s->run(s->arg);
    s->ended = true;
    sim_stack_leave(s);
}

#ifdef SIM_STACK_BY_HAND

static void *outside;

/* Puts what a function must leave as it was onto the stack, goes over to the other one, and takes
 * from there.  swapcontext() would ask the kernel for the mask of signals each time, which takes
 * half of a run. */
void sim_stack_switch(void **from, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".globl sim_stack_switch\n"
        ".hidden sim_stack_switch\n"
        ".type sim_stack_switch, @function\n"
        "sim_stack_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size sim_stack_switch, .-sim_stack_switch\n");

/* As if begin() had been called, and had called sim_stack_switch(). */
static void make_context(struct sim_stack *s)
{
    void **top = (void **)((char *)s->memory + STACK_SIZE) - 2;
    *top = (void *)(uintptr_t)begin;
    s->context = top - 6;
}

static void enter(struct sim_stack *s)
{
    sim_stack_switch(&outside, s->context);
}

void sim_stack_leave(struct sim_stack *s)
{
    sim_stack_switch(&s->context, outside);
}

#else

static ucontext_t outside;

static void make_context(struct sim_stack *s)
{
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->memory;
    s->context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&s->context, begin, 0);
}

static void enter(struct sim_stack *s)
{
    swapcontext(&outside, &s->context);
}

void sim_stack_leave(struct sim_stack *s)
{
    swapcontext(&s->context, &outside);
}

#endif

void sim_stack_open(struct sim_stack *s, void (*run)(void *arg), void *arg)
{
    *s = (struct sim_stack){.run = run, .arg = arg};
    s->locals.identity = s;
    s->memory = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(s->memory != MAP_FAILED, "no memory for a stack");
    mprotect(s->memory, GUARD_SIZE, PROT_NONE);
    make_context(s);
}

void sim_stack_close(struct sim_stack *s)
{
    munmap(s->memory, STACK_SIZE);
    s->memory = NULL;
}

void sim_stack_enter(struct sim_stack *s)
{
    locals_outside = thread_locals;
    thread_locals = s->locals;
    errno = s->error;
    entered = s;
    enter(s);
    s->error = errno;
    s->locals = thread_locals;
    thread_locals = locals_outside;
}
