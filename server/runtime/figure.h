/* Figures: one thread writes, any thread reads.  Relaxed on both sides: they order nothing, and
 * each number is right by itself. */
#ifndef ERGON_RUNTIME_FIGURE_H
#define ERGON_RUNTIME_FIGURE_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t figure;

static inline uint64_t figure_read(const figure *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

static inline void figure_set(figure *f, uint64_t v)
{
    atomic_store_explicit(f, v, memory_order_relaxed);
}

static inline void figure_add(figure *f, uint64_t n) /* the writer */
{
    figure_set(f, figure_read(f) + n);
}

/* A moving average over about eight samples; the first is taken whole.  Several writers may lose a
 * sample to each other. */
static inline void figure_average(figure *f, uint64_t sample)
{
    uint64_t was = figure_read(f);
    figure_set(f, was ? was - was / 8 + sample / 8 : sample);
}

#endif
