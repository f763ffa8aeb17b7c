/* Headers that an operator adds to each request to the collector, as a token: a file has them, a
 * line each, "Name: value".  Empty lines and lines that begin with '#' are skipped.
 *
 * Thread: any; a list does not change once it is made. */
#ifndef ERGON_TRACING_COLLECTOR_HEADERS_H
#define ERGON_TRACING_COLLECTOR_HEADERS_H

#include "base/span.h"

enum { COLLECTOR_HEADERS_MAX = 32, COLLECTOR_HEADERS_BYTES = 16 * 1024 };

struct collector_headers {
    size_t count;
    char *names[COLLECTOR_HEADERS_MAX]; /* in `text` */
    char *values[COLLECTOR_HEADERS_MAX];
    size_t len;
    char text[];
};

/* Reads a file's contents.  NULL with a text that begins with the number of the line and never
 * quotes it, since it may have a secret: no "Name: value"; a name that is not valid, comes twice,
 * or is the server's own (Host, Content-Type, what frames a request); a control character in a
 * value; more than COLLECTOR_HEADERS_MAX; no memory. */
struct collector_headers *collector_headers_parse(struct span text, char *error, size_t size);

/* Blocks on the file.  NULL with a text, which names it: it cannot be read, is larger than
 * COLLECTOR_HEADERS_BYTES, or as above. */
struct collector_headers *collector_headers_load(const char *path, char *error, size_t size);

/* What stood there is wiped out; NULL is fine. */
void collector_headers_free(struct collector_headers *h);

#endif
