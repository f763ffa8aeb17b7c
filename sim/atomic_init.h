/* Read before the server's sources that are compiled for atomics.c: atomic_init() writes plainly,
 * as clang has it.  That of gcc is an atomic store, and so would be a point in its runs alone. */
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
