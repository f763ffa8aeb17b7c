/* The functions that compilers call for -fsanitize=thread, without the thread sanitizer: before
 * each atomic operation, and after each that writes, a thread may be preempted.  One thread runs at
 * a time, so plain accesses are sequentially consistent.  Plain accesses of the server are no
 * points.
 *
 * The names are those of gcc's sanitizer.def and of LLVM's tsan_interface_atomic.h. */
#include <stdint.h>

#include "sim/points.h"

/* --- Atomic operations, by width --- */

#define READ(n)                                                                                    \
    uint##n##_t __tsan_atomic##n##_load(const volatile uint##n##_t *at, int order);                \
    uint##n##_t __tsan_atomic##n##_load(const volatile uint##n##_t *at, int order)                 \
    {                                                                                              \
        (void)order;                                                                               \
        sim_point_atomic("load" #n);                                                               \
        return *at;                                                                                \
    }

/* `becomes` is what is written, of `was` and `v`.  The compilers differ in what adds nothing: clang
 * makes it `or`.  So all that fetch are one point. */
#define WRITE(n, name, point, becomes)                                                             \
    uint##n##_t __tsan_atomic##n##_##name(volatile uint##n##_t *at, uint##n##_t v, int order);     \
    uint##n##_t __tsan_atomic##n##_##name(volatile uint##n##_t *at, uint##n##_t v, int order)      \
    {                                                                                              \
        (void)order;                                                                               \
        sim_point_atomic(#point #n);                                                               \
        uint##n##_t was = *at;                                                                     \
        *at = (uint##n##_t)(becomes);                                                              \
        sim_point_atomic("after_" #point #n);                                                      \
        return was;                                                                                \
    }

/* clang has the one, which returns what was there; gcc the other two. */
#define COMPARE(n)                                                                                 \
    uint##n##_t __tsan_atomic##n##_compare_exchange_val(volatile uint##n##_t *at, uint##n##_t is,  \
                                                        uint##n##_t v, int order, int otherwise);  \
    uint##n##_t __tsan_atomic##n##_compare_exchange_val(volatile uint##n##_t *at, uint##n##_t is,  \
                                                        uint##n##_t v, int order, int otherwise)   \
    {                                                                                              \
        (void)order;                                                                               \
        (void)otherwise;                                                                           \
        sim_point_atomic("compare" #n);                                                            \
        uint##n##_t was = *at;                                                                     \
        if (was == is)                                                                             \
            *at = v;                                                                               \
        sim_point_atomic("after_compare" #n);                                                      \
        return was;                                                                                \
    }                                                                                              \
    COMPARE_TO(n, strong)                                                                          \
    COMPARE_TO(n, weak)

#define COMPARE_TO(n, kind)                                                                        \
    int __tsan_atomic##n##_compare_exchange_##kind(volatile uint##n##_t *at, uint##n##_t *is,      \
                                                   uint##n##_t v, int order, int otherwise);       \
    int __tsan_atomic##n##_compare_exchange_##kind(volatile uint##n##_t *at, uint##n##_t *is,      \
                                                   uint##n##_t v, int order, int otherwise)        \
    {                                                                                              \
        uint##n##_t expected = *is;                                                                \
        *is = __tsan_atomic##n##_compare_exchange_val(at, expected, v, order, otherwise);          \
        return *is == expected;                                                                    \
    }

#define WIDTH(n)                                                                                   \
    READ(n)                                                                                        \
    WRITE(n, store, store, v)                                                                      \
    WRITE(n, exchange, swap, v)                                                                    \
    WRITE(n, fetch_add, fetch, was + v)                                                            \
    WRITE(n, fetch_sub, fetch, was - v)                                                            \
    WRITE(n, fetch_and, fetch, was &v)                                                             \
    WRITE(n, fetch_or, fetch, was | v)                                                             \
    WRITE(n, fetch_xor, fetch, was ^ v)                                                            \
    COMPARE(n)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* --- What is no point --- */

/* Their parameters are left out, as none is read. */
#define NOTHING(name)                                                                              \
    void __tsan_##name(void);                                                                      \
    void __tsan_##name(void)                                                                       \
    {                                                                                              \
    }

#define ACCESS(n)                                                                                  \
    NOTHING(read##n)                                                                               \
    NOTHING(write##n)                                                                              \
    NOTHING(volatile_read##n)                                                                      \
    NOTHING(volatile_write##n)                                                                     \
    NOTHING(unaligned_read##n)                                                                     \
    NOTHING(unaligned_write##n)

NOTHING(init)
NOTHING(func_entry)
NOTHING(func_exit)
NOTHING(read_range)
NOTHING(write_range)
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
