/* Memory that is wanted soon is brought into the processor's caches while other work is done.  What
 * many connections keep in flight does not fit there, and each first look at it would wait for some
 * 100 ns.  A hint: the address may be anything, and no result depends on it. */
#ifndef ERGON_BASE_PREFETCH_H
#define ERGON_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum { PREFETCH_LINE = 64 /* bytes */ };

static inline void prefetch(const void *at, size_t bytes)
{
#pragma GCC unroll 32 /* an instruction a line, where `bytes` is a constant */
    for (size_t n = 0; n < bytes; n += PREFETCH_LINE)
        __builtin_prefetch((const void *)((uintptr_t)at + n), 1);
}

#endif
