/* Text made smaller on its way out.
 *
 * Thread: any, one at a time for each buffer. */
#ifndef ERGON_ADMIN_GZIP_H
#define ERGON_ADMIN_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;

/* Adds it to `out` in the format of gzip.  False without memory: then `out` is of no use. */
bool gzip_add(struct evbuffer *out, const void *bytes, size_t length);

#endif
