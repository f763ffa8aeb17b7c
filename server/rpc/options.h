/* The option map that a method of the server's own may take as its last parameter. */
#ifndef ERGON_RPC_OPTIONS_H
#define ERGON_RPC_OPTIONS_H

#include "server/rpc/method.h"

struct option {
    const char *name;
    bool (*read)(struct reader *r, void *out); /* takes the value, or returns false and leaves it */
    void *out;
    const char *expects; /* "a duration such as \"250ms\"" */
};

enum { OPTIONS_MAX = 32 };

/* Reads the map at the reader into the options' `out`; a nil stands for an empty map.  An unknown
 * name, a duplicate or a value of the wrong kind is answered BAD_PARAMS, naming the option, and
 * false returned. */
bool options_read(struct rpc_request *rq, struct reader *r, const struct option *options,
                  uint32_t count);

#endif
