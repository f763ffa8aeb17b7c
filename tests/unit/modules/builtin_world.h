/* The built-in handlers in a task system on the virtual clock: one loop, one blocking executor.
 *
 * They see the host's table through a copy, in which a test may put functions of its own. */
#ifndef ERGON_TESTS_BUILTIN_WORLD_H
#define ERGON_TESTS_BUILTIN_WORLD_H

#include "tests/support/tasks_world.h"

enum { BUILTIN_RESULT_MAX = 1 << 20 }; /* bytes */

struct builtin_world {
    struct registry *unused;
    struct ergon_host host;   /* what the handlers are given; as the real one at first */
    call_ended_fn *told;      /* the world's own */
    enum ergon_error error;   /* of the last end */
    char code[40], text[400]; /* of the last failure */
    size_t result_len;        /* of the last result */
    uint8_t *result;          /* BUILTIN_RESULT_MAX bytes; raw MessagePack */
};

extern struct builtin_world builtin;

int builtin_open(void **state); /* set-up and tear-down of a test */
int builtin_close(void **state);
#define BUILTIN_TEST(name) TEST_WITH(builtin_open, builtin_close, name)

/* One call, run to its end; what came stands in `builtin`.  0, or -1 when it failed or was not
 * taken. */
int builtin_call(const char *method, struct span params);

/* The same, with each allocation on the way failing once: a failure is told as MEMORY, and nothing
 * is lost. */
void builtin_call_without_memory(const char *method, struct span params);

/* The result is a str or bin of these bytes. */
void builtin_expect_bytes(struct span expected);
int64_t builtin_int(void); /* which the result is */
void builtin_expect_failure(const char *code, const char *text);

#endif
