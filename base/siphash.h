/* SipHash-1-3: a hash of names that come from strangers, who cannot make them collide without the
 * seed.  After Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with one round a
 * word and three at the end, as the tables of Rust, Ruby and Python use it.  Pure; any
 * thread. */
#ifndef ERGON_BASE_SIPHASH_H
#define ERGON_BASE_SIPHASH_H

#include "base/span.h"

uint64_t siphash(const uint64_t seed[2], struct span bytes);

#endif
