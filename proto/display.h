/* Packed values for people: as a line of text, and searched for a text.  Both do bounded work,
 * whatever the value: a large one is neither copied nor walked through in one go.
 *
 * Clients sent the values, and may be hostile: the text is printable, and escapes control
 * characters and those that steer a terminal or the direction of text.
 *
 * The bytes were checked by the scanner.  Pure; any thread. */
#ifndef ERGON_PROTO_DISPLAY_H
#define ERGON_PROTO_DISPLAY_H

#include "base/span.h"

enum {
    DISPLAY_MAX = 4096,       /* bytes of a text */
    DISPLAY_STRING_MAX = 512, /* bytes of a string that are shown */
    DISPLAY_BYTES_MAX = 32,   /* of bytes, as hexadecimal digits */
    DISPLAY_DEPTH_MAX = 64,   /* levels of arrays and maps */
    SEARCH_TEXT_MAX = 256     /* bytes of a text that is searched for */
};

/* The value as JSON on one line.  Bytes, and strings that are no UTF-8, are h'8950' (2 bytes); what
 * JSON does not know is nan, inf, ext(5, h'00' (1 bytes)).  A long string or long bytes end with
 * "…" and say their length.  What does not fit is cut at a character, and "…" is put there.
 * Adds to `*work` the ns that it took, about.  Returns the length; no NUL. */
size_t display_value(struct span value, char buf[static DISPLAY_MAX], uint32_t *work);

/* --- Search --- */

/* What is searched for: 1 to SEARCH_TEXT_MAX bytes, which are borrowed. */
struct search {
    struct span text;
    bool is_float, is_int; /* it is the text of such a number */
    bool negative;
    uint64_t magnitude; /* of an integer */
    double real;        /* of a float */
};

/* Where the search of one value goes on; begins zeroed. */
struct search_place {
    size_t at, body; /* the next byte; where the string ends in which that is, or `at` or less */
};

enum search_outcome { SEARCH_NO, SEARCH_YES, SEARCH_MORE };

void search_init(struct search *s, struct span text);

/* Does some string, bytes or key of a map hold the text, at any depth, or is it the decimal text of
 * a number?  Upper and lower case differ.  Looks for about `*work` ns, and takes from it what it
 * used; SEARCH_MORE: it goes on at `place`. */
enum search_outcome search_value(const struct search *s, struct span value,
                                 struct search_place *place, int64_t *work);

#endif
