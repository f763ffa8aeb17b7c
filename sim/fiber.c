#include "sim/fiber.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/check.h"

enum { STACK_SIZE = 512 << 10, GUARD_SIZE = 4096 };

static ucontext_t outside;
static struct thread_locals locals_outside;

/* makecontext() hands over integers. */
static void begin(unsigned high, unsigned low)
{
    struct sim_stack *s = (struct sim_stack *)((uintptr_t)high << 16 << 16 | (uintptr_t)low);
    s->run(s->arg);
    s->ended = true;
    sim_stack_leave(s);
}

void sim_stack_open(struct sim_stack *s, void (*run)(void *arg), void *arg)
{
    *s = (struct sim_stack){.run = run, .arg = arg};
    s->locals.identity = s;
    s->memory = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(s->memory != MAP_FAILED, "no memory for a stack");
    mprotect(s->memory, GUARD_SIZE, PROT_NONE);
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->memory;
    s->context.uc_stack.ss_size = STACK_SIZE;
    uintptr_t at = (uintptr_t)s;
    makecontext(&s->context, (void (*)(void))(uintptr_t)begin, 2, (unsigned)(at >> 16 >> 16),
                (unsigned)at);
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
    swapcontext(&outside, &s->context);
    s->error = errno;
    s->locals = thread_locals;
    thread_locals = locals_outside;
}

void sim_stack_leave(struct sim_stack *s)
{
    swapcontext(&s->context, &outside);
}
