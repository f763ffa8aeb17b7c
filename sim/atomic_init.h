/* Included before the server's sources that are compiled for atomics.c.  It makes atomic_init() a
 * plain write, as clang has it.  In gcc it is an atomic store, which would be a point of preemption
 * in the runs of gcc alone. */
#ifndef ERGON_SIM_ATOMIC_INIT_H
#define ERGON_SIM_ATOMIC_INIT_H

#include <stdatomic.h>

#ifndef __clang__
#undef atomic_init
#define atomic_init(at, v)                                                                         \
    ({                                                                                             \
        __typeof__((void)0, *(at)) value_ = (v);                                                   \
        __builtin_memcpy((void *)(at), &value_, sizeof value_);                                    \
        (void)0;                                                                                   \
    })
#endif

#endif
