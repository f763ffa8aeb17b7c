/* Numbers by chance that a seed fixes: a test that fails, fails again. */
#ifndef ERGON_TESTS_SUPPORT_RANDOM_H
#define ERGON_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* The next one of the seed's sequence, below `below`, which is 2^31 at most.  Knuth's MMIX
 * generator. */
static inline uint32_t chance(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

#endif
