/* Sends spans to a collector, as OTLP/HTTP: POST, in protobuf's encoding.
 *
 * It has a thread of its own, with an event base and a client of HTTP; nothing of that runs on a
 * serving loop, and nobody waits for it.  A batch that the collector cannot take at the moment
 * (429, 502, 503, 504), or that does not reach it, is sent again, after Retry-After or a growing
 * pause; what it refuses outright, or does not take in EXPORTER_TRIES, is dropped.  Meanwhile spans
 * wait in the tracer, which bounds them.
 *
 * Thread: main. */
#ifndef ERGON_TRACING_EXPORTER_H
#define ERGON_TRACING_EXPORTER_H

#include <stddef.h>

struct exporter;
struct tracer;

enum { EXPORTER_TRIES = 8 };

struct exporter_options {
    const char *endpoint;  /* endpoint_parse(), which takes it; copied */
    const char *version;   /* of the server; constant */
    struct tracer *tracer; /* borrowed until exporter_close() */
};

/* Starts the thread; before any span is added.  NULL with a text: no thread, no memory. */
struct exporter *exporter_open(const struct exporter_options *options, char *error, size_t size);

/* Once no span is added any more: sends what waits, for two seconds at most, and joins the thread.
 * Frees it; NULL is fine. */
void exporter_close(struct exporter *e);

#endif
