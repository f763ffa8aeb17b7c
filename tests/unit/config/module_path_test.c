#include "server/config/module_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static char path[PATH_MAX], program[PATH_MAX];

/* Of a program that is bin/ergond of the test's folder. */
static const char *found(const char *given)
{
    size_t folder = strlen(scratch.directory);

    snprintf(program, sizeof program, "%s/bin/ergond", scratch.directory);
    module_path_of(program, given, path);
    return strncmp(path, scratch.directory, folder) == 0 ? path + folder : path;
}

SCRATCH_TEST(a_path_is_a_path)
{
    scratch_write("bin/modules/demo.so", "");
    assert_string_equal(found("demo.so"), "demo.so");
    assert_string_equal(found("./demo"), "./demo");
    assert_string_equal(found("/usr/lib/demo"), "/usr/lib/demo");
}

SCRATCH_TEST(a_bare_name_is_beside_the_program)
{
    scratch_write("bin/modules/demo.so", "");
    assert_string_equal(found("demo"), "/bin/modules/demo.so");
}

SCRATCH_TEST(or_where_modules_are_installed_which_is_said_of_what_is_nowhere)
{
    scratch_write("bin/modules/other.so", "");
    snprintf(program, sizeof program, "%s", found("demo"));
    assert_non_null(strstr(program, "/bin/../lib"));
    assert_non_null(strstr(program, "/ergon/modules/demo.so"));
    assert_int_equal(access(path, F_OK), -1);
    scratch_write(strstr(program, "/bin/") + 1, "");
    found("demo");
    assert_int_equal(access(path, F_OK), 0);
}

SCRATCH_TEST(a_program_that_nobody_knows_has_no_modules)
{
    module_path_of("", "demo", path);
    assert_string_equal(path, "demo");
}

SCRATCH_TEST(a_place_that_is_too_long_is_cut)
{
    char far[PATH_MAX];

    memset(far, 'x', sizeof far);
    far[0] = far[sizeof far - 2] = '/';
    far[sizeof far - 1] = '\0';
    module_path_of(far, "demo", path);
    assert_int_equal(strlen(path), PATH_MAX - 1);
}
