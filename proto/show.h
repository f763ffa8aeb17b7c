/* A MessagePack value as a text for people: as JSON, but cut where it does not fit, and bytes that
 * are no text are counted instead of shown.  Pure, any thread. */
#ifndef ERGON_PROTO_SHOW_H
#define ERGON_PROTO_SHOW_H

#include "proto/reader.h"

/* The next `count` values at the reader, with blanks between them; `size` at least 8.  A text that
 * was cut ends with "...".  Returns the length; ends with a NUL. */
size_t show_values(struct reader *r, uint32_t count, char *buf, size_t size);

#endif
