#include <stdlib.h>
#include <string.h>

#include "server/runtime/object/trace.h"
#include "tests/support/cmocka_env.h"

static char last[1024];

static void keep(void *arg, const char *line)
{
    strcpy(last, line);
}

static struct trace trace = {.line = keep, .began = AO_MS(1000)};

TEST(columns)
{
    trace_write(&trace, AO_MS(1004), "conn", 1, "OPEN -> DRAINING (%s)", "peer eof");
    assert_string_equal(last, "[   4] conn 1     OPEN -> DRAINING (peer eof)");
    trace_write(&trace, AO_MS(1004), "manager", 0, "task 7");
    assert_string_equal(last, "[   4] manager    task 7");
    trace_write(&trace, AO_S(101), "executor", 1234, "runs");
    assert_string_equal(last, "[100000] executor 1234 runs");
}

TEST(none)
{
    last[0] = '\0';
    trace_write(NULL, 0, "conn", 1, "lost");
    assert_string_equal(last, "");
}

TEST(long_line_is_cut)
{
    trace_write(&trace, AO_S(1), "conn", 1, "%0900d", 1);
    assert_int_equal(strlen(last), 511);
}
