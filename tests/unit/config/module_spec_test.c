/* The text of a module in the configuration. */
#include <string.h>

#include "server/config/module_spec.h"
#include "tests/support/cmocka_env.h"

static char error[400];

static struct module_spec good(const char *text)
{
    struct module_spec spec;

    if (!module_spec_read(text, &spec, error, sizeof error))
        fail_msg("%s", error);
    return spec;
}

static void bad(const char *text, const char *says)
{
    struct module_spec spec;

    assert_false(module_spec_read(text, &spec, error, sizeof error));
    if (!strstr(error, says))
        fail_msg("%s: %s", text, error);
}

TEST(a_path_alone)
{
    struct module_spec spec = good("a/b.so");

    assert_string_equal(spec.path, "a/b.so");
    assert_false(spec.is_process);
}

TEST(defaults_of_processes)
{
    struct module_spec spec = good("demo,process");

    assert_string_equal(spec.path, "demo");
    assert_true(spec.is_process);
    assert_int_equal(spec.processes, 1);
    assert_int_equal(spec.slots, 256);
    assert_int_equal(spec.memory, UINT64_C(1) << 30);
    assert_int_equal(spec.stuck, UINT64_C(10000000000));
}

TEST(all_options)
{
    struct module_spec spec = good("x.so;process;processes=4,slots=16,memory=off,stuck=1s");

    assert_string_equal(spec.path, "x.so");
    assert_int_equal(spec.processes, 4);
    assert_int_equal(spec.slots, 16);
    assert_int_equal(spec.memory, 0);
    assert_int_equal(spec.stuck, UINT64_C(1000000000));
    assert_int_equal(good("x.so,process,memory=64m,stuck=off").memory, 64 << 20);
    assert_int_equal(good("x.so,process,memory=64m,stuck=off").stuck, 0);
}

TEST(what_is_refused)
{
    bad("", "begins with its path");
    bad(",process", "begins with its path");
    bad("x.so,", "the first option of a module is process");
    bad("x.so,slots=4", "the first option of a module is process");
    bad("x.so,process=1", "the first option of a module is process");
    bad("x.so,process,", "an option of a module is");
    bad("x.so,process,slot=4", "an option of a module is");
    bad("x.so,process,processes=0", "from 1 to 64");
    bad("x.so,process,processes=65", "from 1 to 64");
    bad("x.so,process,processes", "from 1 to 64");
    bad("x.so,process,slots=513", "from 1 to 512");
    bad("x.so,process,slots=99999999999999999999", "from 1 to 512");
    bad("x.so,process,slots=4x", "from 1 to 512");
    bad("x.so,process,memory=31m", "at least 32m");
    bad("x.so,process,memory=64", "at least 32m");
    bad("x.so,process,stuck=999ms", "from 1s to 1d");
    bad("x.so,process,stuck=25h", "from 1s to 1d");
    bad("x.so,process,stuck", "from 1s to 1d");
}
