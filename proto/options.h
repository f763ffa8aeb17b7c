/* Maps of options: names known beforehand, each with a reader of its value.  Pure. */
#ifndef ERGON_PROTO_OPTIONS_H
#define ERGON_PROTO_OPTIONS_H

#include "proto/reader.h"

struct option {
    const char *name;
    bool (*read)(struct reader *r, void *out); /* takes the value, or returns false and leaves it */
    void *out;
    const char *expects; /* "a duration such as \"250ms\"" */
};

enum { OPTIONS_MAX = 32 };

/* Reads the map at the reader into the options' `out`; a nil stands for an empty map.  An unknown
 * name, a duplicate or a value of the wrong kind: false, and a text that names the option. */
bool options_take(struct reader *r, const struct option *options, uint32_t count, char *error,
                  size_t size);

#endif
