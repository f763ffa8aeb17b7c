/* Maps of options: names known beforehand, each with a reader of its value.
 * Pure, any thread; what is read points into the map. */
#ifndef ERGON_PROTO_OPTIONS_H
#define ERGON_PROTO_OPTIONS_H

#include "proto/reader.h"

struct option {
    const char *name;
    /* Takes the value.  False: it is of another kind, and the map is not read any further. */
    bool (*read)(struct reader *r, void *out);
    void *out;
    const char *expects; /* "a duration such as \"250ms\"" */
};

enum { OPTIONS_MAX = 32 };

/* What an option is, by its name: its number, below OPTIONS_MAX, and `out`; -1: there is none. */
typedef int option_find_fn(void *arg, struct span name, struct option *out);

/* Reads the map at the reader into the options' `out`; a nil stands for an empty map.  An unknown
 * name, a duplicate or a value of the wrong kind: false, and a text that names the option. */
bool options_take(struct reader *r, const struct option *options, uint32_t count, char *error,
                  size_t size);
/* The same, of a table of the caller's own kind. */
bool options_take_by(struct reader *r, option_find_fn *find, void *arg, char *error, size_t size);

#endif
