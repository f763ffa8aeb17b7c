/* Tests that break a rule, to see the check fire. */
#ifndef ERGON_TESTS_SUPPORT_DEATH_H
#define ERGON_TESTS_SUPPORT_DEATH_H

/* Runs `act(arg)` in a child process, and expects that it aborts with `text` in what it writes to
 * stderr. */
void expect_misuse(void (*act)(void *arg), void *arg, const char *text);

/* Likewise, of a failed assert() that has `text` in its condition.  Where assertions are compiled
 * out, the test that calls this is skipped: nothing behind it runs. */
void expect_broken_assert(void (*act)(void *arg), void *arg, const char *text);

/* Skips the test where assertions are compiled out: for one that has something under way by the
 * time it expects the first of them to fire. */
void need_asserts(void);

#endif
