/* Results of the server's own methods, packed by msgpack-c into memory that grows, and answered at
 * once. */
#ifndef ERGON_RPC_PACK_H
#define ERGON_RPC_PACK_H

#include <msgpack.h>

#include "server/rpc/method.h"

struct pack {
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    bool failed; /* out of memory on the way */
};

void pack_init(struct pack *p);
void pack_answer(
    struct pack *p,
    struct rpc_request *rq); /* answers the request, MEMORY if it failed; ends the pack */

void pack_array(struct pack *p, size_t count);
void pack_map(struct pack *p, size_t pairs);
void pack_str(struct pack *p, const char *text); /* NULL is nil */
void pack_span(struct pack *p, struct span text);
void pack_uint(struct pack *p, uint64_t v);
void pack_int(struct pack *p, int64_t v);
void pack_bool(struct pack *p, bool v);

/* A pair of a map. */
void pack_key_str(struct pack *p, const char *key, const char *text);
void pack_key_uint(struct pack *p, const char *key, uint64_t v);
void pack_key_int(struct pack *p, const char *key, int64_t v);
void pack_key_bool(struct pack *p, const char *key, bool v);

#endif
