/* The main function of every test program without one of its own. */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"

static struct test_entry *first;
static CMFixtureFunction group_set_up, group_tear_down;

/* What runs now, with its own fixture and what was allocated before it. */
static const struct test_entry **next, *running;
static int64_t live_before;

/* Of programs that link ergon_test_support; the others count nothing. */
__attribute__((weak)) int64_t heap_live(void);

void test_register(struct test_entry *entry)
{
    struct test_entry **at = &first;
    while (*at && (*at)->line < entry->line)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

void test_register_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group_set_up = set_up;
    group_tear_down = tear_down;
}

/* Whether one of the `count` patterns is the name's; no pattern means all. */
static bool is_chosen(const char *name, char *const *patterns, int count)
{
    bool chosen = count == 0;
    for (int i = 0; i < count && !chosen; i++)
        chosen = fnmatch(patterns[i], name, 0) == 0;
    return chosen;
}

static int64_t live(void)
{
    return heap_live ? heap_live() : 0;
}

static int set_up(void **state)
{
    running = *next++;
    const struct CMUnitTest *test = &running->test;
    live_before = live();
    return test->setup_func ? test->setup_func(state) : 0;
}

/* What a test allocated is given back when it has been torn down: so a leak fails in every build,
 * and not under the address sanitizer alone. */
static int tear_down(void **state)
{
    const struct CMUnitTest *test = &running->test;
    int result = test->teardown_func ? test->teardown_func(state) : 0;
    int64_t left = live() - live_before;
    if (left == 0)
        return result;
    print_error("%s: %lld blocks left\n", test->name, (long long)left);
    return -1;
}

int main(int argc, char **argv)
{
    enum { MOST = 200 };
    static struct CMUnitTest tests[MOST];
    static const struct test_entry *entries[MOST];
    size_t count = 0;
    for (const struct test_entry *e = first; e; e = e->next) {
        if (!is_chosen(e->test.name, argv + 1, argc - 1))
            continue;
        if (count == MOST) {
            fprintf(stderr, "%s: more than %d tests\n", argv[0], MOST);
            return EXIT_FAILURE;
        }
        entries[count] = e;
        tests[count] = e->test;
        tests[count].setup_func = set_up;
        tests[count++].teardown_func = tear_down;
    }
    if (count == 0) {
        fprintf(stderr, "%s: no tests to run\n", argv[0]);
        return EXIT_FAILURE;
    }
    next = entries;
    return _cmocka_run_group_tests("tests", tests, count, group_set_up, group_tear_down);
}
