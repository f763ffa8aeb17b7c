/* JSON at the edges: between jansson's values and raw MessagePack.
 *
 *   MessagePack                      JSON
 *   nil, bool, integer, float, str   null, true/false, integer, real, string
 *   array, map                       array, object (a key that is no string becomes its JSON text)
 *   bin, and str that is not UTF-8   {"$bytes": "base64"}
 *   ext                              {"$ext": [type, "base64"]}
 *   integers above 2^63-1            string of digits
 *   NaN and the infinities           "nan", "inf", "-inf"
 *
 * The way back knows {"$bytes": ...} alone; everything else is plain.  How the member that stands
 * for bytes is called, the caller says: "$bytes" on the command line, "$bin" on the admin listener.
 * Pure; any thread. */
#ifndef ERGON_PROTO_JSON_VALUE_H
#define ERGON_PROTO_JSON_VALUE_H

#include <jansson.h>
#include <msgpack.h>

#include "base/span.h"

/* A new reference, or NULL: out of memory.  `value` is one whole value that a scanner has passed.
 */
json_t *json_value_read(struct span value, const char *bytes);

/* Appends the value.  False: it is nested too deeply, its base64 is bad, or there is no memory; a
 * part of it may have been appended. */
bool json_value_pack(msgpack_packer *to, const json_t *from, const char *bytes);

#endif
