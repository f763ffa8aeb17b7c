/* Spans on their way: what tasks and jobs have done in sampled traces, until the exporter sends it.
 *
 * A span is encoded where it ends, and put into a list that is bounded in number and bytes; beyond
 * that it is dropped, and counted.  Nothing here waits, and nothing is allocated for what is not
 * sampled.
 *
 * Thread: any, but where a function says otherwise. */
#ifndef ERGON_TRACING_TRACER_H
#define ERGON_TRACING_TRACER_H

#include "server/runtime/threads/mpsc.h"
#include "server/tracing/otlp.h"

struct tracer;

enum {
    TRACER_PARTS = 1000000, /* the unit of a sampling rate */
    TRACER_SPANS = 8192,    /* that wait */
    TRACER_BYTES = 8 << 20  /* that these take */
};

/* `sample`: how many of TRACER_PARTS of what belongs to no trace begins one.  NULL without memory.
 */
struct tracer *tracer_new(uint32_t sample);
/* Nobody else uses it any more; what waits goes with it.  NULL is fine. */
void tracer_free(struct tracer *t);

/* Is a span of this trace to be exported?  `t` NULL: none is. */
static inline bool tracer_wants(const struct tracer *t, const struct trace_context *context)
{
    return t && trace_context_is(context) && trace_context_sampled(context);
}

/* Does what belongs to no trace begin one?  Then it is at `out`: a new trace, sampled, without a
 * span.  `t` NULL: no. */
bool tracer_begins(struct tracer *t, struct trace_context *out);

/* A new id, not all zeroes. */
void tracer_span_id(uint8_t id[static SPAN_ID_LEN]);

/* The same id whenever it is asked for, over restarts too: of what these numbers name in a trace.
 * Pure. */
void tracer_derive_id(const struct trace_context *context, uint64_t a, uint64_t b,
                      uint8_t id[static SPAN_ID_LEN]);

uint64_t tracer_now(void); /* Unix ns */

/* Copies the span, or drops it.  `t` NULL: nothing. */
void tracer_add(struct tracer *t, const struct otlp_span *span);

struct tracer_figures {
    uint64_t spans;    /* that ended */
    uint64_t exported; /* that a collector took */
    uint64_t dropped;  /* that found no room or memory, or no collector in time */
    uint64_t waiting;
    bool failing; /* the last request to the collector did */
};
void tracer_figures(const struct tracer *t, struct tracer_figures *out);

/* --- The exporter's, on its thread --- */

struct tracer_span {
    struct mpsc_item item; /* first */
    uint32_t len;
    uint8_t bytes[]; /* otlp_span_write() */
};

/* Called on whichever thread adds the first span to an empty list; blocks on nothing.  Before any
 * is added. */
void tracer_on_first(struct tracer *t, void (*first)(void *arg), void *arg);
/* All spans that wait, oldest first.  The caller owns them, and gives each back by tracer_done().
 */
struct tracer_span *tracer_take(struct tracer *t);
static inline struct tracer_span *tracer_next(const struct tracer_span *span)
{
    return (struct tracer_span *)span->item.next;
}
/* How the last request to it ended; the figures say it. */
void tracer_set_failing(struct tracer *t, bool failing);
/* It was taken by a collector, or is given up. */
void tracer_done(struct tracer *t, struct tracer_span *span, bool exported);

#endif
