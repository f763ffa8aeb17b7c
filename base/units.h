/* Durations and sizes as people write them.  Units are mandatory in text: "250ms", "5s", "50us",
 * "2m", "1h", "1d"; "64k", "16m", "1g" (powers of 1024; "b" for bytes; a trailing "ib"/"b" after
 * the letter is accepted: "64KiB").  The case of size letters does not matter.  Pure; any thread.
 */
#ifndef ERGON_BASE_UNITS_H
#define ERGON_BASE_UNITS_H

#include "base/span.h"

/* True and *ns set, or false.  "0" needs no unit.  Overflow is refused, and so are more than 20
 * digits. */
bool units_duration(struct span text, uint64_t *ns);
bool units_size(struct span text, uint64_t *bytes);

/* Of a text that is no duration: is it one that is too long?  What should it have been, to be put
 * behind "is not"? */
bool units_duration_too_long(struct span text);
const char *units_duration_expected(struct span text);

/* The shortest exact text, for printing effective values: 250000000 -> "250ms".  Returns `buf`,
 * of at least 32 bytes. */
const char *units_duration_text(uint64_t ns, char *buf, size_t size);
const char *units_size_text(uint64_t bytes, char *buf, size_t size);

#endif
