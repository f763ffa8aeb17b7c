/* The trace: one line per state change or hand-over, off by default.  It is the debugging log, the
 * oracle of the golden tests, and a tour for new contributors.
 *
 *     [   4] conn 1     OPEN -> DRAINING (peer eof, 1 in flight)
 *
 * The left number is milliseconds since the trace began; then come the object and what happened.
 *
 * Thread: the one that runs the traced activator.  If several activators share a trace, its owner
 * makes `line` safe for their threads.  Strings are borrowed for the call. */
#ifndef ERGON_RUNTIME_TRACE_H
#define ERGON_RUNTIME_TRACE_H

#include <ergon/ao.h>

struct trace {
    /* `line` is one whole line without newline, valid during the call. */
    void (*line)(void *arg, const char *line);
    void *arg;
    ao_time began;
};

/* `trace` may be NULL: a no-op.  Use the macro, which evaluates nothing when it is. */
void trace_write(struct trace *trace, ao_time now, const char *name, unsigned long id,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

#define TRACE(activator, name, id, ...)                                                            \
    do {                                                                                           \
        if (__builtin_expect(activator_trace(activator) != NULL, 0))                               \
            trace_write(activator_trace(activator), activator_now(activator), (name),              \
                        (unsigned long)(id), __VA_ARGS__);                                         \
    } while (0)

#endif
