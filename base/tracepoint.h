/* Tracepoints: places on a task's way where bpftrace, SystemTap, perf or gdb may look in, of a
 * server that is already running.  They are USDT probes of the provider `ergon`; docs/debugging.md
 * tells people of them, dist/bpftrace has scripts.
 *
 * While nobody looks each is a nop, whose arguments stand where they are anyway.  Those whose
 * arguments have to be made ask first whether somebody looks (tracepoint_watched()).
 *
 *      call     (task, method, length, connection, time)      a request has become a call
 *      submit   (task, method, length, connection, time, id)  a submission has become a task
 *      queue    (task, method, length)                        it stands in a queue
 *      give     (task, method, length, executor, of, id)      the manager gives it to an executor
 *      start    (task, method, length, executor)              its handler begins
 *      end      (task, method, length, executor, error)       its handler is done with it
 *      answer   (task, method, length, error)                 it is answered; it has ended
 *
 *   task        uint64_t: the number of a call or an attempt, below 2^48, or the id of a submitted
 *               task, above; with `give` the one meets the other
 *   method      char *, with a NUL behind its `length` bytes (size_t)
 *   connection  uint64_t, as in the log; 0: none (a nested call, a cron)
 *   time        uint64_t: ns of the monotonic clock, of the round in which it came
 *   id          char *: a submitted task's id as users have it; "": of a call
 *   executor    uint32_t: its index in the configuration's order; UINT32_MAX: a worker
 *   of          uint64_t: the id of the submitted task that it is an attempt of; 0: a call
 *   error       int32_t: enum ergon_error; 0: it went well
 *
 * Thread: any; each tells of its own.  Built where <sys/sdt.h> was found (ERGON_HAS_SDT); elsewhere
 * there are none. */
#ifndef ERGON_BASE_TRACEPOINT_H
#define ERGON_BASE_TRACEPOINT_H

#define TRACEPOINTS(X) X(call) X(submit) X(queue) X(give) X(start) X(end) X(answer)

#ifdef ERGON_HAS_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* How many look at it; whoever begins to look, the kernel or a debugger, raises it in our memory.
 * It orders nothing, and is no atomic: one pass more or less that is told does not matter. */
#define X(name) extern unsigned short ergon_##name##_semaphore;
TRACEPOINTS(X)
#undef X

#define tracepoint_watched(name) __builtin_expect(ergon_##name##_semaphore != 0, 0)

/* `inline`: for the compiler it is as small as the nop that it is, not as long as the text of the
 * note that goes with it (a task of `echo` cost 25 instructions more when that counted, since
 * functions were not inlined any more). */
#define TRACEPOINT_OF(name, n, clobber, ...)                                                       \
    __asm__ __volatile__ __inline__(STAP_PROBE_ASM(ergon, name, STAP_PROBE_ASM_TEMPLATE(n))        \
                                    :                                                              \
                                    : STAP_PROBE_ASM_OPERANDS(n, __VA_ARGS__)                      \
                                    : clobber)

#define TRACEPOINT3(name, ...) TRACEPOINT_OF(name, 3, , __VA_ARGS__)
#define TRACEPOINT4(name, ...) TRACEPOINT_OF(name, 4, , __VA_ARGS__)
#define TRACEPOINT5(name, ...) TRACEPOINT_OF(name, 5, , __VA_ARGS__)
/* Those with a text that was made for them: it stands in memory by then. */
#define TRACEPOINT6(name, ...) TRACEPOINT_OF(name, 6, "memory", __VA_ARGS__)

#else

#define tracepoint_watched(name)            0

/* The arguments are looked at by the compiler, and not made. */
#define TRACEPOINT3(name, a, b, c)          ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define TRACEPOINT4(name, a, b, c, d)       (TRACEPOINT3(name, a, b, c), (void)sizeof(d))
#define TRACEPOINT5(name, a, b, c, d, e)    (TRACEPOINT4(name, a, b, c, d), (void)sizeof(e))
#define TRACEPOINT6(name, a, b, c, d, e, f) (TRACEPOINT5(name, a, b, c, d, e), (void)sizeof(f))

#endif

#endif
