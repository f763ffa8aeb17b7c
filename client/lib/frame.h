/* Whole messages of the client's side.  Pure, but for the caller's buffer; any thread. */
#ifndef ERGON_CLIENT_FRAME_H
#define ERGON_CLIENT_FRAME_H

#include "client/lib/buffer.h"
#include "proto/encoder.h"

/* Append one message; false: out of memory, nothing appended.  `params` is one raw value, empty for
 * none. */
bool frame_request(struct buffer *b, uint32_t id, struct span method, struct span params);
bool frame_notification(struct buffer *b, struct span method, struct span params);

/* A response: with `result`, one raw value, or with an error as a text, of which at most some 4,000
 * bytes are taken.  Likewise. */
bool frame_response(struct buffer *b, struct span msgid, struct span result);
bool frame_error(struct buffer *b, struct span msgid, const struct error_answer *error);

/* The same as a map {code, message, traceback}: of the text at most some 4,000 bytes are taken, of
 * the traceback the last `most`, cut between characters. */
bool frame_failure(struct buffer *b, struct span msgid, const struct error_answer *error,
                   struct span traceback, size_t most);

/* Is this one whole value, and nothing behind it? */
bool frame_whole(struct span value);

/* What goes first on a connection, a whole message: the notification that its client never
 * half-closes, so that to the server FIN is the end.  A server that does not know that ignores it.
 * Constant. */
struct span frame_hello(void);

/* A request of server.auth with this token. */
bool frame_auth(struct buffer *b, uint32_t id, const char *token);

#endif
