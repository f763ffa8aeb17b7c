/* Calls at home: accepted, refused, found, told exactly once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/tasks_world.h"

static void a_brief_call_ends_within_home_call(void **state)
{
    struct tasks_world w;
    (void)state;
    tasks_world_init(&w, 1, 0);
    tasks_world_open(&w);
    assert_int_equal(tasks_world_call(&w, 0, "echo", params_none(), AO_NEVER), ERGON_OK);
    assert_int_equal(w.ended, 1);
    assert_null(w.list);
    tasks_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_brief_call_ends_within_home_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
