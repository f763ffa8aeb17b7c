/* MessagePack values packed by msgpack-c into memory that grows.  A failure is remembered, so that
 * only the end asks for it.  One thread at a time; what is packed is copied, but for large blobs.
 */
#ifndef ERGON_PROTO_PACK_H
#define ERGON_PROTO_PACK_H

#include <msgpack.h>

#include "base/blob.h"
#include "base/span.h"

enum { PACK_SHARED_MIN = 1024 /* bytes; smaller values are copied, which takes less memory */ };

/* A value that stands in no buffer: it comes behind the first `before` bytes of that. */
struct pack_share {
    size_t before;
    struct blob *blob; /* a reference */
};

struct pack {
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    struct pack_share *shares; /* malloc'ed; NULL: none */
    uint32_t share_count, share_room;
    uint64_t shared; /* bytes of all shares */
    bool failed;     /* out of memory on the way */
};

void pack_init(struct pack *p);
void pack_fini(struct pack *p); /* of one that was begun, or zeroed */

/* What was packed, if it has no shares; valid until the next call.  Empty when it failed. */
struct span pack_bytes(const struct pack *p);
/* All of its bytes, with those of its shares. */
uint64_t pack_size(const struct pack *p);
/* A part between two shares, which are the parts 0 to share_count. */
struct span pack_part(const struct pack *p, uint32_t part);

void pack_nil(struct pack *p);
void pack_raw(struct pack *p, struct span value); /* one whole value */
/* The same, of a blob, which is shared if it is large. */
void pack_blob(struct pack *p, struct blob *value);
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
