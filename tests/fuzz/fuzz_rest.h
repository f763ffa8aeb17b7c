/* An input that is read from its front, a decision after another.  At its end everything is 0, or
 * empty: so each input says all that is asked of it.
 *
 * One thread; one input at a time. */
#ifndef ERGON_TESTS_FUZZ_REST_H
#define ERGON_TESTS_FUZZ_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

void fuzz_begin(const uint8_t *data, size_t size); /* borrowed while it is read */
struct span fuzz_rest(void);                       /* what was not taken yet */
bool fuzz_more(void);

uint8_t fuzz_byte(void);
struct span fuzz_bytes(size_t most); /* as many, or all that are left */
uint64_t fuzz_number(void);          /* of any length, so that small ones are as likely as large */

#endif
