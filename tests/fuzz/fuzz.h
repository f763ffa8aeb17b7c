/* What the fuzzers share: what a harness has, what libFuzzer and the replay call, and a check that
 * holds in every build.
 *
 * A harness is one file with fuzz_input(): it gives the bytes to the code that it is about, and
 * checks what must hold whatever they are.  Between two inputs nothing is left: a block of memory
 * that was there before and is not any more, or the other way round, fails in fuzz_entry.c.
 * One thread. */
#ifndef ERGON_TESTS_FUZZ_FUZZ_H
#define ERGON_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void fuzz_input(const uint8_t *data, size_t size); /* the harness's; `data` is borrowed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* fuzz_entry.c; 0 */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
