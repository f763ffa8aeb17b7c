/* Sends spans to a collector, as OTLP/HTTP: POST, in protobuf's encoding.
 *
 * It has a thread of its own, with an event base and a client of HTTP; nothing of that runs on a
 * serving loop, and nobody waits for it.  A batch that the collector cannot take at the moment
 * (429, 502, 503, 504), or that does not reach it, is sent again, after Retry-After or a growing
 * pause; what it refuses outright, or does not take in EXPORTER_TRIES, is dropped.  Meanwhile spans
 * wait in the tracer, which bounds them.
 *
 * By HTTPS the collector's certificate is checked; that is the same thread's work.
 *
 * Thread: main. */
#ifndef ERGON_TRACING_EXPORTER_H
#define ERGON_TRACING_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>

struct exporter;
struct tracer;

enum { EXPORTER_TRIES = 8 };

struct exporter_options {
    const char *endpoint;     /* endpoint_parse(), which takes it; copied */
    const char *ca;           /* file of authorities, for HTTPS; NULL: the system's */
    const char *headers_file; /* collector_headers.h; NULL: none */
    const char *version;      /* of the server; constant */
    struct tracer *tracer;    /* borrowed until exporter_close() */
};

/* Starts the thread; before any span is added; blocks on the files.  NULL with a text: one of them
 * cannot be read or taken, no thread, no memory. */
struct exporter *exporter_open(const struct exporter_options *options, char *error, size_t size);

/* Requests have these headers from the next one on; NULL: none.  Blocks on the file.  False with a
 * text, and all stays as it was: it cannot be read or taken.  `e` NULL: nothing. */
bool exporter_set_headers(struct exporter *e, const char *headers_file, char *error, size_t size);

/* Once no span is added any more: sends what waits, for two seconds at most, and joins the thread.
 * Frees it; NULL is fine. */
void exporter_close(struct exporter *e);

#endif
