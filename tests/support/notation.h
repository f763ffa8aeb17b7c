/* MessagePack as text that a test can hold: nil, true, 5, -3, 1.5, 'text', [1, 2], {'key':
 * 'value'}; only shown: <4 bytes> for bin, <ext>. */
#ifndef ERGON_TESTS_NOTATION_H
#define ERGON_TESTS_NOTATION_H

#include "base/span.h"

/* Text to bytes, the shortest encoding.  The text must be good, and the bytes fit. */
size_t notation_pack(const char *text, uint8_t *buf, size_t size);

/* The value at the start of `bytes` as text, cut to fit; returns buf. */
const char *notation_show(struct span bytes, char *buf, size_t size);

#endif
