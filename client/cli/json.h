/* JSON on the command line: proto/json_value.h has what becomes of what; bytes are {"$bytes": ...}.
 * Pure; one thread. */
#ifndef ERGON_CLI_JSON_H
#define ERGON_CLI_JSON_H

#include <jansson.h>
#include <msgpack.h>

#include "base/span.h"

/* A new reference, or NULL: out of memory.  `value` is one whole value that a scanner has passed.
 */
json_t *json_from_value(struct span value);

/* Appends the value.  False: it is nested too deeply, its base64 is bad, or there is no memory; a
 * part of it may have been appended. */
bool json_to_value(msgpack_packer *to, const json_t *from);

/* A string member, or "" if there is none; the object's. */
const char *json_text(const json_t *object, const char *key);
/* A member that is a number, or 0 if there is none. */
double json_figure(const json_t *object, const char *key);
/* A new reference, or NULL without memory: the string, or null for "". */
json_t *json_text_or_null(const char *text);

#endif
