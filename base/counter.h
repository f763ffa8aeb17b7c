/* Numbers for people: one thread writes, any thread reads.  Relaxed on both sides: they order
 * nothing, and each number is right by itself. */
#ifndef ERGON_BASE_COUNTER_H
#define ERGON_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

static inline uint64_t counter_read(const counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void counter_set(counter *c, uint64_t v)
{
    atomic_store_explicit(c, v, memory_order_relaxed);
}

static inline void counter_add(counter *c, uint64_t n) /* the writer */
{
    counter_set(c, counter_read(c) + n);
}

/* A moving average over about eight samples; the first is taken whole.  Several writers may lose a
 * sample to each other. */
static inline void counter_average(counter *c, uint64_t sample)
{
    uint64_t was = counter_read(c);
    counter_set(c, was ? was - was / 8 + sample / 8 : sample);
}

#endif
