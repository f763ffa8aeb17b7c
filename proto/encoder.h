/* Writes MessagePack by hand where the hot way needs it: response heads, small values.  Elsewhere
 * msgpack-c packs.
 *
 * Each function writes at `p`, where the caller has reserved room for the worst case, and returns
 * the first byte behind what it wrote.  Shortest encodings.  Pure; any thread. */
#ifndef ERGON_PROTO_ENCODER_H
#define ERGON_PROTO_ENCODER_H

#include "base/span.h"
#include "proto/errors.h"

enum {
    ENC_HEAD_MAX = 5,                /* str, bin, array, map header */
    ENC_INT_MAX = 9,                 /* any integer or float */
    ENC_RESPONSE_MAX = 1 + 1 + 9 + 1 /* all of a good response but its result */
};

uint8_t *enc_nil(uint8_t *p);
uint8_t *enc_bool(uint8_t *p, bool v);
uint8_t *enc_uint(uint8_t *p, uint64_t v);
uint8_t *enc_int(uint8_t *p, int64_t v);
uint8_t *enc_double(uint8_t *p, double v);
uint8_t *enc_float(uint8_t *p, float v);
uint8_t *enc_array(uint8_t *p, uint32_t count);
uint8_t *enc_map(uint8_t *p, uint32_t pairs);
uint8_t *enc_str_head(uint8_t *p, uint32_t len);
uint8_t *enc_bin_head(uint8_t *p, uint32_t len);
uint8_t *enc_str(uint8_t *p, struct span text); /* head and bytes */
uint8_t *enc_bin(uint8_t *p, struct span bytes);

/* [1, msgid, nil, ...: the raw result must follow.  At most ENC_RESPONSE_MAX bytes. */
uint8_t *enc_response_head(uint8_t *p, struct span msgid);

enum { ERROR_NAME_MAX = 32 }; /* bytes */

/* What an error response says. */
struct error_answer {
    enum ergon_error code;
    /* A handler's own code, "NO_SPACE", cut at ERROR_NAME_MAX; empty: error_name(code). */
    struct span name;
    /* For people; empty: error_meaning(code).  What of it is no UTF-8 goes out as U+FFFD. */
    struct span text;
};

/* A whole error response [1, msgid, error, nil] in one of the three shapes.  The text is cut so
 * that the response takes at most `room` bytes (room >= 128).  Returns its end.  Holds no str8, so
 * that peers of 2013 can read it too. */
uint8_t *enc_error_response(uint8_t *p, size_t room, struct span msgid, enum error_shape shape,
                            const struct error_answer *error);

/* Header of a str that peers of 2013 know: fixstr, str16 or str32. */
uint8_t *enc_raw_head(uint8_t *p, uint32_t len);

/* Length of raw value `v`, or of some whole elements of one, after rewriting for peers of 2013 that
 * know neither str8 nor bin nor ext (hello {raw:true}): str8 -> str16, bin -> raw str; ext -> nil.
 * And the rewriting itself; returns the end. */
size_t enc_raw_length(struct span v);
uint8_t *enc_raw(uint8_t *p, struct span v);

#endif
