/* MessagePack values packed by msgpack-c into memory that grows.  A failure is remembered, so that
 * only the end asks for it.  One thread at a time; what is packed is copied. */
#ifndef ERGON_PROTO_PACK_H
#define ERGON_PROTO_PACK_H

#include <msgpack.h>

#include "base/span.h"

struct pack {
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    bool failed; /* out of memory on the way */
};

void pack_init(struct pack *p);
void pack_fini(struct pack *p); /* of one that was begun, or zeroed */

/* What was packed; valid until the next call.  Empty when it failed. */
struct span pack_bytes(const struct pack *p);

void pack_nil(struct pack *p);
void pack_raw(struct pack *p, struct span value); /* one whole value */
void pack_array(struct pack *p, size_t count);
void pack_map(struct pack *p, size_t pairs);
void pack_str(struct pack *p, const char *text); /* NULL is nil */
void pack_span(struct pack *p, struct span text);
void pack_uint(struct pack *p, uint64_t v);
void pack_bool(struct pack *p, bool v);

/* A pair of a map. */
void pack_key_str(struct pack *p, const char *key, const char *text);
void pack_key_uint(struct pack *p, const char *key, uint64_t v);
void pack_key_int(struct pack *p, const char *key, int64_t v);
void pack_key_bool(struct pack *p, const char *key, bool v);
void pack_key_span(struct pack *p, const char *key, struct span text);
void pack_key_raw(struct pack *p, const char *key, struct span value);

#endif
