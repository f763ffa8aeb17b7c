/* The main function of test programs: the order of tests, names that choose, no test at all, and
 * memory that a test keeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

static int number, prepared;

static int prepare(void **state)
{
    *state = &number;
    prepared++;
    return 0;
}

static int prepare_all(void **state)
{
    prepared = 100;
    return 0;
}

static int expect_all(void **state)
{
    return prepared > 100 ? 0 : -1;
}

TEST_GROUP(prepare_all, expect_all)

#define PREPARED_TEST(name) TEST_WITH(prepare, NULL, name)

PREPARED_TEST(in_order_the_first)
{
    assert_ptr_equal(*state, &number);
    assert_int_equal(number++, 0);
    assert_int_equal(prepared, 101);
}

PREPARED_TEST(in_order_the_second)
{
    assert_int_equal(number++, 1);
    assert_int_equal(prepared, 102);
}

/* This program once more, with names; what it writes is in `said`.  Returns its status. */
static int run_again(const char *names, char *said, size_t size)
{
    char self[256] = "", command[512];
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(command, sizeof command, "'%s' %s 2>&1", self, names);
    FILE *program = popen(command, "r");
    assert_non_null(program);
    said[fread(said, 1, size - 1, program)] = '\0';
    return pclose(program);
}

TEST(names_choose)
{
    char said[4096];
    assert_int_equal(run_again("'in_order_*' nobody", said, sizeof said), 0);
    assert_non_null(strstr(said, "Running 2 test(s)"));
    const char *first = strstr(said, "in_order_the_first"), *next = strstr(said, "the_second");
    assert_true(first && first < next);
}

TEST(a_failure_is_the_programs)
{
    char said[4096];
    assert_int_not_equal(run_again("in_order_the_second", said, sizeof said), 0);
    assert_non_null(strstr(said, "Running 1 test(s)"));
}

static void *kept;

TEST(keeps_memory_when_asked)
{
    if (getenv("KEEP_MEMORY"))
        kept = malloc(1);
}

TEST(memory_that_a_test_keeps_is_a_failure)
{
    char said[4096];
    assert_int_equal(run_again("keeps_memory_when_asked", said, sizeof said), 0);
    setenv("KEEP_MEMORY", "yes", 1);
    int status = run_again("keeps_memory_when_asked", said, sizeof said);
    unsetenv("KEEP_MEMORY");
    assert_int_not_equal(status, 0);
    assert_non_null(strstr(said, "keeps_memory_when_asked: 1 blocks left"));
    assert_null(kept);
}

TEST(a_program_that_runs_nothing_fails)
{
    char said[4096];
    assert_int_not_equal(run_again("nobody", said, sizeof said), 0);
    assert_non_null(strstr(said, "no tests to run"));
}
