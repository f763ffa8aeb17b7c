/* Structs filled from maps of the server, by tables.  Pure; any thread.  Texts are copied, raw
 * members point into the value. */
#ifndef ERGON_CLIENT_DECODE_H
#define ERGON_CLIENT_DECODE_H

#include <ergon/client_tasks.h>

#include "proto/reader.h"

enum decode_kind {
    DECODE_TEXT,   /* char[size]: cut, and terminated; nil is "" */
    DECODE_NUMBER, /* uint64_t; nil is 0 */
    DECODE_BOOL,
    DECODE_RAW /* struct ergon_raw: points into the value; nil is empty */
};

struct decode_field {
    const char *key; /* NULL ends a table */
    enum decode_kind kind;
    size_t offset, size; /* in the struct, and of its field */
};

/* Fills those fields that the map has; other keys, and values of another kind, are passed over.
 * False: it is no map. */
bool decode_map(struct ergon_raw value, const struct decode_field *fields, void *to);

extern const struct decode_field DECODE_EVENT[]; /* of struct ergon_event */

#endif
