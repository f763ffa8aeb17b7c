/* The main function of every test program without one of its own. */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"

static struct test_entry *first;
static CMFixtureFunction group_set_up, group_tear_down;

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

int main(int argc, char **argv)
{
    enum { MOST = 200 };
    static struct CMUnitTest tests[MOST];
    size_t count = 0;
    for (const struct test_entry *e = first; e; e = e->next) {
        if (!is_chosen(e->test.name, argv + 1, argc - 1))
            continue;
        if (count == MOST) {
            fprintf(stderr, "%s: more than %d tests\n", argv[0], MOST);
            return EXIT_FAILURE;
        }
        tests[count++] = e->test;
    }
    if (count == 0) {
        fprintf(stderr, "%s: no tests to run\n", argv[0]);
        return EXIT_FAILURE;
    }
    return _cmocka_run_group_tests("tests", tests, count, group_set_up, group_tear_down);
}
