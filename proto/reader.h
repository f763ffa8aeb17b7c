/* Reads a scanned MessagePack value piece by piece, in place.  For parameters and option maps.
 *
 * Every function takes the next value when it has the asked shape and returns true; otherwise it
 * returns false and leaves the cursor where it was.  Spans point into the bytes.  Pure; any
 * thread, one reader one thread. */
#ifndef ERGON_PROTO_READER_H
#define ERGON_PROTO_READER_H

#include "base/span.h"

struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static inline struct reader reader_of(struct span s)
{
    return (struct reader){.at = s.at, .end = s.len > 0 ? s.at + s.len : s.at};
}

static inline bool reader_at_end(const struct reader *r)
{
    return r->at == r->end;
}

/* What is left of the bytes. */
static inline struct span reader_rest(const struct reader *r)
{
    return span_of(r->at, (size_t)(r->end - r->at));
}

bool read_nil(struct reader *r);
bool read_bool(struct reader *r, bool *out);
/* Integers of any encoding that fit, and floats with an integral value (JavaScript and Lua send 5.0
 * for 5). */
bool read_int(struct reader *r, int64_t *out);
bool read_uint(struct reader *r, uint64_t *out);
bool read_number(struct reader *r, double *out);    /* any integer or float */
bool read_text(struct reader *r, struct span *out); /* str or bin alike */
bool read_array(struct reader *r, uint32_t *count); /* the elements follow */
bool read_map(struct reader *r, uint32_t *pairs);   /* key, value, key, value ... follow */
bool read_any(struct reader *r, struct span *raw);  /* the next value, whole, as raw bytes */

/* A number of milliseconds that is not negative, or "250ms"; a number of bytes, or "64k". */
bool read_duration(struct reader *r, uint64_t *ns);
/* Unix milliseconds, or RFC 3339; as Unix ns. */
bool read_moment(struct reader *r, uint64_t *unix_ns);
bool read_size(struct reader *r, uint64_t *bytes);

/* Opens parameters: an array gives its elements, nil none, any other value itself as the only one.
 */
void read_params(struct span params, struct reader *r, uint32_t *count);

#endif
