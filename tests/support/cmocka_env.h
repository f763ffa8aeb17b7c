/* cmocka with the headers that it wants before it, and tests that register themselves:
 *
 *     TEST(a_promise_in_words)
 *     {
 *         assert_true(...);
 *     }
 *
 * A program of ergon_test() runs the tests of its file in the order in which they stand.  Names on
 * its command line choose among them, and `*` and `?` in a name stand for what they do in a shell.
 * It fails when there is nothing to run. */
#ifndef ERGON_TESTS_SUPPORT_CMOCKA_ENV_H
#define ERGON_TESTS_SUPPORT_CMOCKA_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct test_entry {
    struct CMUnitTest test;
    int line; /* of its file: a compiler may call constructors in another order */
    struct test_entry *next;
};

void test_register(struct test_entry *entry);
void test_register_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A test that shares its state with a set-up and a tear-down (NULL: none); at first it is `first`.
 */
#define TEST_FROM(first, set_up, tear_down, name)                                                  \
    static void test_##name(void **state);                                                         \
    static struct test_entry entry_of_##name = {                                                   \
        {#name, test_##name, set_up, tear_down, first}, __LINE__, NULL};                           \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_register(&entry_of_##name);                                                           \
    }                                                                                              \
    static void test_##name(void **state)

/* A test of a fixture: `parameter` ("struct world *w") is what its body has the state as. */
#define TEST_OF(parameter, first, set_up, tear_down, name)                                         \
    static void body_of_##name(parameter);                                                         \
    TEST_FROM(first, set_up, tear_down, name)                                                      \
    {                                                                                              \
        body_of_##name(*state);                                                                    \
    }                                                                                              \
    static void body_of_##name(parameter)

#define TEST_WITH(set_up, tear_down, name) TEST_FROM(NULL, set_up, tear_down, name)
#define TEST(name)                         TEST_WITH(NULL, NULL, name)

/* Once in a file at most: what comes before its first test, and after its last. */
#define TEST_GROUP(set_up, tear_down)                                                              \
    __attribute__((constructor)) static void register_group(void)                                  \
    {                                                                                              \
        test_register_group(set_up, tear_down);                                                    \
    }

#endif
