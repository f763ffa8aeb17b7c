#include "server/tracing/tracer.h"

#include <stdlib.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/siphash.h"
#include "server/runtime/thread_locals.h"

struct tracer {
    struct mpsc waiting;
    uint32_t sample;
    void (*first)(void *arg);
    void *first_arg;
    /* What is not given back yet.  Orders nothing (relaxed): bounds, which a few may miss. */
    _Atomic uint64_t spans_held, bytes_held;
    /* Figures (relaxed). */
    _Atomic uint64_t spans, exported, dropped;
    _Atomic bool failing; /* likewise */
};
_Static_assert(offsetof(struct tracer_span, item) == 0, "a span is an item of the list");

struct tracer *tracer_new(uint32_t sample)
{
    struct tracer *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->sample = sample;
    mpsc_init(&t->waiting);
    return t;
}

void tracer_free(struct tracer *t)
{
    if (!t)
        return;
    for (struct tracer_span *span = tracer_take(t), *next; span; span = next) {
        next = tracer_next(span);
        free(span);
    }
    free(t);
}

/* --- Numbers left to chance --- */

/* SplitMix64, after Steele, Lea and Flood (2014): each thread's own, from a seed of the system's.
 */
static uint64_t chance(void)
{
    uint64_t *state = &thread_locals.trace_chance;
    if (*state == 0 && !chance_bytes(state, sizeof *state))
        *state = tracer_now() ^ (uint64_t)(uintptr_t)state;
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t chance_not_zero(void)
{
    uint64_t v;
    while ((v = chance()) == 0)
        continue;
    return v;
}

bool tracer_begins(struct tracer *t, struct trace_context *out)
{
    if (!t || t->sample == 0 || chance() % TRACER_PARTS >= t->sample)
        return false;
    uint64_t trace[2] = {chance(), chance_not_zero()};
    *out = (struct trace_context){.flags = TRACE_SAMPLED};
    memcpy(out->trace, trace, sizeof trace);
    return true;
}

void tracer_span_id(uint8_t id[static SPAN_ID_LEN])
{
    uint64_t v = chance_not_zero();
    memcpy(id, &v, sizeof v);
}

void tracer_derive_id(const struct trace_context *context, uint64_t a, uint64_t b,
                      uint8_t id[static SPAN_ID_LEN])
{
    const uint64_t of[2] = {a, b};
    uint64_t seed[2];
    memcpy(seed, context->trace, sizeof seed);
    uint64_t v = siphash(seed, span_of(of, sizeof of));
    v = v > 0 ? v : 1;
    memcpy(id, &v, sizeof v);
}

uint64_t tracer_now(void)
{
    return clock_wall();
}

/* --- The list --- */

static void count(_Atomic uint64_t *figure, uint64_t n)
{
    atomic_fetch_add_explicit(figure, n, memory_order_relaxed);
}

static uint64_t read(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

static bool has_room(const struct tracer *t, size_t bytes)
{
    return read(&t->spans_held) < TRACER_SPANS && read(&t->bytes_held) + bytes <= TRACER_BYTES;
}

void tracer_add(struct tracer *t, const struct otlp_span *span)
{
    if (!t)
        return;
    size_t len = otlp_span_size(span);
    struct tracer_span *copy = has_room(t, len) ? malloc(sizeof *copy + len) : NULL;
    count(&t->spans, 1);
    if (!copy) {
        count(&t->dropped, 1);
        return;
    }
    copy->len = (uint32_t)len;
    otlp_span_write(span, copy->bytes);
    count(&t->spans_held, 1);
    count(&t->bytes_held, len);
    if (mpsc_push(&t->waiting, &copy->item) && t->first)
        t->first(t->first_arg);
}

void tracer_figures(const struct tracer *t, struct tracer_figures *out)
{
    *out = (struct tracer_figures){0};
    if (t)
        *out = (struct tracer_figures){.spans = read(&t->spans),
                                       .exported = read(&t->exported),
                                       .dropped = read(&t->dropped),
                                       .waiting = read(&t->spans_held),
                                       .failing =
                                           atomic_load_explicit(&t->failing, memory_order_relaxed)};
}

void tracer_set_failing(struct tracer *t, bool failing)
{
    atomic_store_explicit(&t->failing, failing, memory_order_relaxed);
}

void tracer_on_first(struct tracer *t, void (*first)(void *arg), void *arg)
{
    t->first = first;
    t->first_arg = arg;
}

struct tracer_span *tracer_take(struct tracer *t)
{
    return (struct tracer_span *)mpsc_take(&t->waiting);
}

void tracer_done(struct tracer *t, struct tracer_span *span, bool exported)
{
    count(exported ? &t->exported : &t->dropped, 1);
    atomic_fetch_sub_explicit(&t->spans_held, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&t->bytes_held, span->len, memory_order_relaxed);
    free(span);
}
