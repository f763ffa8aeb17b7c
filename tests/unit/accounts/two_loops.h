/* What the tests of this folder stand on: the accounts of a server of two loops, on the virtual
 * clock. One at a time. */
#ifndef ERGON_TESTS_UNIT_ACCOUNTS_TWO_LOOPS_H
#define ERGON_TESTS_UNIT_ACCOUNTS_TWO_LOOPS_H

#include "server/accounts/tally.h"
#include "tests/support/accounts_stage.h"
#include "tests/support/virtual.h"

static struct virtual v;
static struct activator *loops[2];
static struct accounts *all;
static struct tally_book books[2];

static inline void open_loops(struct account_limits limits)
{
    virtual_init(&v);
    all = accounts_limited(limits);
    for (int i = 0; i < 2; i++) {
        loops[i] = virtual_open(&v, i == 0 ? "one" : "two");
        tally_book_init(&books[i], all, loops[i]);
    }
}

static inline int close_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        tally_book_fini(&books[i]);
    accounts_free(all);
    virtual_fini(&v);
    return 0;
}

#endif
