#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

static void say(void *arg)
{
    virtual_say(arg, "script", 0, "runs");
}

TEST(scripts_run_at_their_time)
{
    struct virtual v;
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    virtual_at(&v, AO_MS(20), a, say, &v);
    virtual_at(&v, AO_MS(10), NULL, say, &v);
    virtual_run(&v);
    trace_expect(&v, "[  10] script     runs\n"
                     "[  20] script     runs\n");
    virtual_fini(&v);
}

TEST(run_until_stops_the_clock)
{
    struct virtual v;
    virtual_init(&v);
    virtual_open(&v, "loop");
    virtual_at(&v, AO_MS(10), NULL, say, &v);
    virtual_run_until(&v, AO_MS(9));
    trace_expect(&v, "");
    assert_int_equal(v.now, AO_MS(9));
    virtual_run_until(&v, AO_MS(10));
    trace_expect(&v, "[  10] script     runs\n");
    virtual_fini(&v);
}
