/* Structs filled from maps of the server, by tables.  Pure. */
#ifndef ERGON_CLIENT_SHOWN_H
#define ERGON_CLIENT_SHOWN_H

#include <ergon/client_tasks.h>

#include "proto/reader.h"

enum shown_kind {
    SHOWN_TEXT,   /* char[size]: cut, and terminated; nil is "" */
    SHOWN_NUMBER, /* uint64_t; nil is 0 */
    SHOWN_BOOL,
    SHOWN_RAW /* struct ergon_raw: points into the value; nil is empty */
};

struct shown_field {
    const char *key; /* NULL ends a table */
    enum shown_kind kind;
    size_t offset, size; /* in the struct, and of its field */
};

/* Fills those fields that the map has; other keys, and values of another kind, are passed over.
 * False: it is no map. */
bool shown_fill(struct ergon_raw value, const struct shown_field *fields, void *to);

extern const struct shown_field SHOWN_EVENT[]; /* of struct ergon_event */

#endif
