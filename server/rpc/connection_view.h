/* A connection as connection.list shows it, and the conditions that say which are meant.
 *
 * Thread: that of the connection's loop. */
#ifndef ERGON_RPC_CONNECTION_VIEW_H
#define ERGON_RPC_CONNECTION_VIEW_H

#include <ergon/ao.h>

#include "base/span.h"
#include "proto/pack.h"

struct connection;

enum { CALLS_SHOWN = 8 /* of one connection: those that have gone on longest */ };

/* All that are given must hold; empty and 0: not given. */
struct connection_filter {
    uint64_t id;
    struct span principal; /* empty text: unauthenticated peers, if `nobody` */
    struct span address;   /* with its port, or without */
    struct span listener;  /* its URL */
    uint64_t idle;         /* ns, at least */
    bool nobody;           /* those that have no principal */
};

bool connection_fits(const struct connection_filter *f, struct connection *c);
bool connection_filter_is_empty(const struct connection_filter *f);

/* Packs it as a map.  Returns how many calls it had to look at. */
uint32_t connection_pack(struct pack *p, struct connection *c);

#endif
