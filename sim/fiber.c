#include "sim/fiber.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/check.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(fake, bottom, size)                                         \
    ((void)(fake), (void)(bottom), (void)(size))
#define __sanitizer_finish_switch_fiber(fake, bottom, size)                                        \
    ((void)(fake), (void)(bottom), (void)(size))
#define __asan_unpoison_memory_region(at, size) ((void)(at))
#endif

enum { STACK_SIZE = 1 << 20, GUARD_SIZE = 4096, SPARE_MAX = 64 };

static struct thread_locals locals_outside;
static struct sim_stack *entered;
static const void *bottom_outside; /* of the stack outside, and its size, as the sanitizer tells */
static size_t size_outside;

/* The first function of a stack. */
static void begin(void)
{
    struct sim_stack *s = entered;
    __sanitizer_finish_switch_fiber(NULL, &bottom_outside, &size_outside);
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

static void leave(struct sim_stack *s)
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

static void leave(struct sim_stack *s)
{
    swapcontext(&s->context, &outside);
}

#endif

static void *spare[SPARE_MAX]; /* memory of stacks that were closed */
static uint32_t spare_count;

static void *take_memory(void)
{
    if (spare_count > 0)
        return spare[--spare_count];
    void *memory = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "no memory for a stack");
    mprotect(memory, GUARD_SIZE, PROT_NONE);
    return memory;
}

void sim_stack_open(struct sim_stack *s, void (*run)(void *arg), void *arg)
{
    *s = (struct sim_stack){.run = run, .arg = arg};
    s->locals.identity = s;
    s->memory = take_memory();
    make_context(s);
}

void sim_stack_close(struct sim_stack *s)
{
    __asan_unpoison_memory_region(s->memory, STACK_SIZE); /* what was under way there */
    if (spare_count < SPARE_MAX)
        spare[spare_count++] = s->memory;
    else
        munmap(s->memory, STACK_SIZE);
    s->memory = NULL;
}

void sim_stack_enter(struct sim_stack *s)
{
    void *fake;
    locals_outside = thread_locals;
    thread_locals = s->locals;
    errno = s->error;
    entered = s;
    __sanitizer_start_switch_fiber(&fake, s->memory, STACK_SIZE);
    enter(s);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    s->error = errno;
    s->locals = thread_locals;
    thread_locals = locals_outside;
}

void sim_stack_leave(struct sim_stack *s)
{
    __sanitizer_start_switch_fiber(s->ended ? NULL : &s->fake, bottom_outside, size_outside);
    leave(s);
    __sanitizer_finish_switch_fiber(s->fake, &bottom_outside, &size_outside);
}
