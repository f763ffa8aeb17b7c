/* What the error of a response says: of "CODE: text", of a pair [number, "CODE: text"] or
 * ["CODE", "text"], or of a map whose `code` and `message` are what a pair has.  Whoever is
 * answered by a peer reads it here: libergon of servers, and a server of those that it asks.
 *
 * Pure; any thread.  Nothing of what is read is trusted: any bytes may be handed in. */
#ifndef ERGON_PROTO_ERROR_VALUE_H
#define ERGON_PROTO_ERROR_VALUE_H

#include "base/span.h"
#include "proto/encoder.h"

enum { ERROR_TEXT_MAX = 511 }; /* bytes */

/* `code` and `text` end with a NUL, are UTF-8, have a blank for each character that steers a
 * terminal or breaks a line, and are cut between characters. */
struct error_value {
    char code[ERROR_NAME_MAX + 1]; /* as error_code_valid() says; "" if there is none */
    char text[ERROR_TEXT_MAX + 1];
    /* Of a map: its text `traceback`, as it is, within the value; empty: none. */
    struct span traceback;
};

/* Is this the name of an error: 1 to ERROR_NAME_MAX capital letters, digits and underscores, of
 * which the first is no digit? */
bool error_code_valid(struct span code);

/* Reads `error`, raw MessagePack, which is not nil.  A value of another shape (a number, say) has
 * no code and a text that says so.  A text, alone, beside a number or in a map without such a code,
 * names its code before its first colon, if that is valid as one.  What stands as a code in a pair
 * or a map and is not valid becomes part of the text: "code: text".  It cannot fail. */
void error_value_read(struct span error, struct error_value *out);

#endif
