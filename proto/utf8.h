/* Text of others: is it UTF-8, and what to make of it if not.  Pure. */
#ifndef ERGON_PROTO_UTF8_H
#define ERGON_PROTO_UTF8_H

#include "proto/span.h"

bool utf8_valid(struct span text);

/* The first `max` bytes at most, without a torn character at the end. */
struct span utf8_cut(struct span text, size_t max);

/* Copies text, each byte that belongs to no character replaced by U+FFFD (3 bytes), and cut at the
 * end of a character where it does not fit into `room` bytes.  Returns the length; ends with no
 * NUL.  `to` and the text do not overlap. */
size_t utf8_clean(void *to, size_t room, struct span text);

#endif
