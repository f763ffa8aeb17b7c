/* What cannot be, and what must not be done.
 *
 * assert() states an invariant: what the code itself guarantees.  It is on in every build that
 * tests run, and compiled out of a release (NDEBUG), with the fields that serve it alone.
 *
 * require() stands at the entrance of a public function (include/ergon/) and holds a caller to its
 * contract, in a release too: it says on stderr what was done wrong, and aborts.  Neither is for
 * input, nor for memory that is out: those are answered.  Any thread. */
#ifndef ERGON_BASE_CHECK_H
#define ERGON_BASE_CHECK_H

#include <assert.h>

/* An expression without a value.  `text`, a constant, completes "ergon: FUNCTION(): ". */
#define require(condition, text)                                                                   \
    (__builtin_expect(!(condition), 0) ? check_misused(__func__, (text)) : (void)0)

_Noreturn void check_misused(const char *function, const char *text);

#endif
